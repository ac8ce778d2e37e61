"""How faithfully a recorded call can be sent again, and its answer in every state that a record can be in."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.unit.replay.recorded import Span, lines

from spanseal.genai import ollama_chat, openai_chat
from spanseal.genai import semconv as sc
from spanseal.genai.messages import Message, Usage
from spanseal.records.replay_record import split
from spanseal.replay.reader import RunReader
from spanseal.replay.render.tree import tree
from spanseal.replay.run import Call

BODY: dict[str, Any] = {
    "model": "tiny", "messages": [{"role": "user", "content": "Hi"}], "seed": 7, "logit_bias": {"5": -1},
}


def recorded(more: Mapping[str, Any] | None = None, wire: Any = openai_chat) -> Span:
    """A chat span with the replay record of this body."""
    body = BODY
    raw = json.dumps(body, separators=(",", ":")).encode()
    messages, tools = list(wire.input_messages(body)), list(wire.tool_definitions(body))
    made = split(raw, body, messages, tools)
    told = {
        sc.OPERATION_NAME: "chat", sc.LLM_FORMAT: wire.FORMAT, sc.LLM_REQUEST_PARAMS: made.params,
        sc.LLM_REQUEST_SHA256: made.sha256, sc.INPUT_MESSAGES: json.dumps(messages), **(more or {}),
    }
    return Span("d1" * 8, "chat tiny", 1, 11, "", told, kind=3)


def read(span: Span, tmp_path: Path) -> Call:
    (tmp_path / "spans.jsonl").write_bytes(lines([span]))
    (run,) = RunReader.open(tmp_path).runs()
    assert list(tree(run))
    (call,) = run.calls
    return call


@pytest.mark.parametrize("wire", [openai_chat, ollama_chat], ids=["openai", "ollama"])
def test_a_whole_record_is_exact(wire: Any, tmp_path: Path) -> None:
    call = read(recorded(wire=wire), tmp_path)
    assert (call.replayable, call.replay_reason) == ("exact", "")
    assert call.request is not None
    assert call.messages == call.request.messages == (Message("user", "Hi"),)
    assert wire.request_body(call.request, stream=False)["logit_bias"] == {"5": -1}


def test_changed_messages_are_no_longer_exact(tmp_path: Path) -> None:
    span = recorded()
    span.attributes[sc.INPUT_MESSAGES] = span.attributes[sc.INPUT_MESSAGES].replace("Hi", "[redacted]")
    call = read(span, tmp_path)
    assert call.replayable == "semantic"
    assert "masked or changed" in call.replay_reason
    assert call.messages == (Message("user", "[redacted]"),)


@pytest.mark.parametrize("params", ["", "{", "[]", '{"v":9}', '{"v":1,"body":{"messages":{"$":"messages"}}}'])
def test_a_broken_record_falls_back_on_the_messages(params: str, tmp_path: Path) -> None:
    call = read(recorded({sc.LLM_REQUEST_PARAMS: params}), tmp_path)
    assert call.replayable == "semantic"
    assert call.messages == (Message("user", "Hi"),)


def test_a_format_that_nobody_knows(tmp_path: Path) -> None:
    span = recorded({sc.LLM_FORMAT: "unheard.of", sc.LLM_RESPONSE_BODY: "{}"})
    call = read(span, tmp_path)
    assert call.messages == (Message("user", "Hi"),)
    assert call.response is None


def chunk(**choice: Any) -> str:
    return json.dumps({"id": "x", "model": "tiny-1", "choices": [{"index": 0, **choice}]})


CHUNKS = [chunk(delta={"role": "assistant", "content": "He"}), chunk(delta={"content": "llo"})]


def test_a_stream_is_put_together(tmp_path: Path) -> None:
    usage = json.dumps({"id": "x", "choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}})
    chunks = [*CHUNKS, chunk(delta={}, finish_reason="stop"), usage]
    told = {sc.LLM_RESPONSE_BODY: json.dumps(chunks), sc.LLM_STREAM_CHUNKS: 4, sc.LLM_STREAM_END: "complete"}
    call = read(recorded(told), tmp_path)
    assert call.response is not None
    assert (call.response.text, call.response.finish_reason) == ("Hello", "stop")
    assert call.response.usage == Usage(3, 2)
    assert call.response.latency_ms == 10.0


def test_a_stream_that_was_left_early_says_so_and_keeps_what_came(tmp_path: Path) -> None:
    told = {sc.LLM_RESPONSE_BODY: json.dumps(CHUNKS), sc.LLM_STREAM_CHUNKS: 2, sc.LLM_STREAM_END: "partial"}
    span = recorded(told)
    call = read(span, tmp_path)
    assert call.response is not None
    assert call.response.text == "Hello"
    (run,) = RunReader.open(tmp_path).runs()
    assert any("stream partial" in line.plain for line in tree(run))


@pytest.mark.parametrize("body", ["", "{", "null", "[]", '{"choices":[]}', '{"error":{"message":"no"}}'])
def test_an_answer_that_cannot_be_read(body: str, tmp_path: Path) -> None:
    call = read(recorded({sc.LLM_RESPONSE_BODY: body}), tmp_path)
    assert call.response is None
    assert call.replayable == "exact"


def test_without_content_a_call_keeps_its_numbers(tmp_path: Path) -> None:
    span = Span("d1" * 8, "chat tiny", 1, 2, "", {
        sc.OPERATION_NAME: "chat", sc.REQUEST_MODEL: "tiny", sc.USAGE_INPUT_TOKENS: 3, sc.CAPTURE_MODE: "off",
    })
    call = read(span, tmp_path)
    assert (call.model, call.usage.input_tokens, call.replayable, call.messages) == ("tiny", 3, "no", ())
    assert "capture was off" in call.replay_reason
