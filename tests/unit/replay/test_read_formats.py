"""Calls of every wire format as a reader shows them: what was asked, what came back, how exactly it is recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.unit.replay.recorded import Span, lines

from spanseal.genai import semconv as sc
from spanseal.genai.messages import Message, Reasoning, Text, ToolCall
from spanseal.genai.wire import wire_format
from spanseal.genai.wire_json import dumps, loads, render
from spanseal.records.replay_record import split
from spanseal.replay.reader import RunReader, replay_llm_calls
from spanseal.replay.render.step import step_view
from spanseal.replay.render.tree import tree
from spanseal.replay.run import Call, Run

RESPONSES: dict[str, Any] = {
    "model": "m",
    "instructions": "Be brief.",
    "input": [
        {"role": "user", "content": "1 + 2?"},
        {
            "type": "reasoning",
            "id": "rs",
            "summary": [{"type": "summary_text", "text": "easy"}],
            "encrypted_content": "E",
        },
        {
            "type": "function_call",
            "id": "fc",
            "call_id": "c1",
            "name": "add",
            "arguments": '{"a": 1}',
            "status": "completed",
        },
        {"type": "function_call_output", "call_id": "c1", "output": "3"},
    ],
    "tools": [{"type": "function", "name": "add", "parameters": {"type": "object"}, "strict": True}],
    "store": False,
}
GENERATE = {"model": "m", "prompt": "once", "system": "Tell.", "stream": False, "options": {"num_ctx": 9}}
OPENAI_EMBED = {"model": "m", "input": ["a", "b", "c", "d", "e"], "encoding_format": "float", "dimensions": 2}
OLLAMA_EMBED = {"model": "m", "prompt": "old way"}


def recorded(name: str, body: Mapping[str, Any], answer: Any = None, **more: Any) -> Span:
    """A model call's span as capture writes it."""
    wire = wire_format(name)
    raw = dumps(body)
    parsed = loads(raw)
    parts: dict[str, Any] = {
        sc.INPUT_MESSAGES: list(wire.input_messages(parsed)),
        sc.TOOL_DEFINITIONS: list(wire.tool_definitions(parsed)),
        sc.SYSTEM_INSTRUCTIONS: list(wire.system_instructions(parsed)),
    }
    messages, tools, system = parts.values()
    made = split(raw, parsed, messages, tools, system, wire.PLACES)
    assert made.params
    told: dict[str, Any] = {
        sc.OPERATION_NAME: wire.OPERATION,
        sc.PROVIDER_NAME: wire.PROVIDER,
        sc.LLM_FORMAT: name,
        sc.LLM_REQUEST_PARAMS: made.params,
        sc.LLM_REQUEST_SHA256: made.sha256,
        **wire.request_attributes(parsed),
        **{key: render(part) for key, part in parts.items() if part},
    }
    if answer is not None:
        told |= {sc.LLM_RESPONSE_BODY: json.dumps(answer), **wire.response_attributes(answer)}
    return Span("d1" * 8, f"{wire.OPERATION} m", 1, 11, "a1" * 8, {**told, **more}, kind=3)


def read(span: Span, folder: Path) -> tuple[Call, Run, str]:
    step = Span("a1" * 8, "step", 0, 20, "", {sc.STEP_NUMBER: 1})
    (folder / "spans.jsonl").write_bytes(lines([span, step]))
    (run,) = RunReader.open(folder).runs()
    (call,) = run.calls
    text = "\n".join([*(line.plain for line in tree(run)), *(line.plain for line in step_view(run.steps[0]))])
    return call, run, text


def test_responses(tmp_path: Path) -> None:
    answer: dict[str, Any] = {
        "id": "r",
        "model": "m-1",
        "status": "completed",
        "output": [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "three"}]},
        ],
        "usage": {"input_tokens": 3, "output_tokens": 1},
    }
    call, run, text = read(recorded("openai.responses", RESPONSES, answer), tmp_path)
    assert (call.replayable, call.replay_reason, call.wire, call.operation) == ("exact", "", "openai.responses", "chat")
    assert [message.role for message in call.messages] == ["system", "user", "assistant", "assistant", "tool"]
    assert call.messages[2].content == (Reasoning("easy"),)
    assert call.messages[3].tool_calls == (ToolCall("c1", "add", '{"a":1}'),)
    assert call.response is not None
    assert (call.response.text, call.finish_reasons, call.tools) == ("three", ("stop",), ("add",))
    assert "says three" in text
    (told,) = replay_llm_calls(run)
    assert (told.wire, told.grade, told.options["extra"]) == ("openai.responses", "exact", {"store": False})


def test_a_responses_stream_that_was_cut(tmp_path: Path) -> None:
    chunks: list[Any] = [
        {"type": "response.created", "response": {"id": "r", "model": "m-1", "status": "in_progress", "output": []}},
        {"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "thr"},
    ]
    more: dict[str, Any] = {
        sc.LLM_RESPONSE_BODY: json.dumps([json.dumps(chunk) for chunk in chunks]),
        sc.LLM_STREAM_CHUNKS: 2,
        sc.LLM_STREAM_END: "partial",
    }
    call, _, text = read(recorded("openai.responses", RESPONSES, **more), tmp_path)
    assert call.response is not None
    assert (call.response.text, call.response.model) == ("thr", "m-1")
    assert "stream partial" in text


def test_generate(tmp_path: Path) -> None:
    answer = {"model": "m", "response": "upon a time", "done": True, "done_reason": "stop", "eval_count": 4}
    call, _, text = read(recorded("ollama.generate", GENERATE, answer), tmp_path)
    assert (call.replayable, call.operation) == ("exact", "text_completion")
    assert call.messages == (Message("system", "Tell."), Message("user", "once"))
    assert call.response is not None
    assert call.response.message == Message("assistant", (Text("upon a time"),))
    assert "text_completion m" in text


@pytest.mark.parametrize(
    ("name", "body", "answer", "words"),
    [
        (
            "openai.embeddings",
            OPENAI_EMBED,
            {"data": [{"embedding": [0.5, 1]}], "model": "m"},
            ("5 inputs", "embeds a", "2 more"),
        ),
        ("ollama.embed", OLLAMA_EMBED, {"embedding": [0.5, 1]}, ("1 input", "embeds old way")),
        (
            "openai.embeddings",
            {"model": "m", "input": [1, 2]},
            {"data": [{"embedding": [0.5, 1]}]},
            ("1 input", "[1,2]"),
        ),
    ],
)
def test_embeddings(name: str, body: Any, answer: Any, words: tuple[str, ...], tmp_path: Path) -> None:
    call, run, text = read(recorded(name, body, answer), tmp_path)
    assert (call.replayable, call.operation, call.dimensions, call.messages) == ("exact", "embeddings", 2, ())
    assert call.response is not None
    assert (call.response.text, call.response.raw) == ("", answer)
    for word in (*words, "embeddings m", "2 dimensions", "vectors are recorded"):
        assert word in text
    assert "not here" not in text
    (told,) = replay_llm_calls(run)
    assert told.options["extra"] == {key: value for key, value in body.items() if key != "model"}


@pytest.mark.parametrize(("name", "body"), [("openai.responses", RESPONSES), ("ollama.generate", GENERATE)])
def test_without_the_record_the_conventions_give_what_they_hold(name: str, body: Any, tmp_path: Path) -> None:
    span = recorded(name, body)
    del span.attributes[sc.LLM_REQUEST_PARAMS], span.attributes[sc.LLM_FORMAT]
    call, _, _ = read(span, tmp_path)
    assert call.replayable == "semantic"
    assert call.messages[0].role == "system"
    assert call.request is not None
    wire_format(name).request_body(call.request, stream=False)


def test_redacted(tmp_path: Path) -> None:
    call, _, _ = read(recorded("openai.responses", RESPONSES, **{sc.LLM_REQUEST_REDACTED: True}), tmp_path)
    assert (call.replayable, call.replay_reason) == ("semantic", "content was redacted before it was recorded")


def test_embeddings_without_a_record(tmp_path: Path) -> None:
    span = Span(
        "d1" * 8, "embeddings m", 1, 11, "a1" * 8, {sc.OPERATION_NAME: "embeddings", sc.REQUEST_MODEL: "m"}, kind=3
    )
    call, run, text = read(span, tmp_path)
    assert (call.replayable, call.request) == ("no", None)
    assert "embeddings m" in text
    assert replay_llm_calls(run) == ()
