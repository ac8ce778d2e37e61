"""Ollama's text completions: values, attributes, streams that are cut anywhere."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from tests.unit.genai.json_values import hostile, st, texts

from spanseal.errors import MalformedResponseError, UsageError
from spanseal.genai import ollama_generate as wire
from spanseal.genai import semconv as sc
from spanseal.genai.messages import ChatRequest, Media, Message, Text, ToolSpec

BODY: dict[str, Any] = {
    "model": "m",
    "prompt": "look",
    "system": "Be brief.",
    "images": ["AAAA"],
    "suffix": "end",
    "raw": False,
    "context": [1, 2],
    "stream": False,
    "think": "low",
    "format": "json",
    "keep_alive": 5,
    "options": {"temperature": 0.5, "num_predict": 9, "seed": 7, "top_k": 3, "stop": ["x"], "num_ctx": 4096},
}


def test_attributes() -> None:
    assert wire.request_attributes(BODY) == {
        sc.REQUEST_MODEL: "m",
        sc.REQUEST_TEMPERATURE: 0.5,
        sc.REQUEST_MAX_TOKENS: 9,
        sc.REQUEST_SEED: 7,
        sc.REQUEST_TOP_K: 3,
        sc.REQUEST_STOP_SEQUENCES: ["x"],
        sc.REQUEST_REASONING_LEVEL: "low",
        sc.OUTPUT_TYPE: "json",
    }
    assert wire.request_attributes({"model": "m", "prompt": "x"})[sc.REQUEST_STREAM] is True
    assert wire.system_instructions(BODY) == [{"type": "text", "content": "Be brief."}]
    assert wire.input_messages(BODY) == [
        {
            "role": "user",
            "parts": [
                {"type": "text", "content": "look"},
                {"type": "blob", "modality": "image", "content": "AAAA"},
            ],
        }
    ]
    assert wire.input_messages({"model": "m"}) == []


def test_values_go_there_and_back() -> None:
    request = wire.parse_request(BODY)
    picture = Message("user", (Text("look"), Media("image", data="AAAA")))
    assert request.messages == (Message("system", "Be brief."), picture)
    assert (request.seed, request.max_tokens, request.response_format) == (7, 9, {"type": "json_object"})
    assert request.extra["options"] == {"top_k": 3, "num_ctx": 4096}
    assert wire.request_body(request, stream=False) == BODY
    assert wire.parse_request(wire.request_body(request, stream=True)) == request


@pytest.mark.parametrize(
    "request_",
    [
        ChatRequest("m", (Message("user", "a"), Message("assistant", "b"), Message("user", "c"))),
        ChatRequest("m", (Message("assistant", "b"),)),
        ChatRequest("m", (Message("user", "a"),), tools=(ToolSpec("f"),)),
        ChatRequest("m", (Message("user", (Media("image", uri="https://e.com/a"),)),)),
    ],
)
def test_what_a_completion_cannot_say(request_: ChatRequest) -> None:
    with pytest.raises(UsageError):
        wire.request_body(request_, stream=False)


def test_answer() -> None:
    body = {
        "model": "m",
        "response": "hi",
        "thinking": "hm",
        "done": True,
        "done_reason": "length",
        "context": [1],
        "prompt_eval_count": 3,
        "eval_count": 0,
        "image": "AAAA",
    }
    answer = wire.parse_response(body)
    assert (answer.text, answer.reasoning, answer.finish_reason, answer.prompt_tokens) == ("hi", "hm", "length", 3)
    assert wire.response_attributes(body) == {
        sc.RESPONSE_MODEL: "m",
        sc.RESPONSE_FINISH_REASONS: ["length"],
        sc.USAGE_INPUT_TOKENS: 3,
        sc.USAGE_OUTPUT_TOKENS: 0,
    }
    assert wire.output_messages(body) == [
        {
            "role": "assistant",
            "finish_reason": "length",
            "parts": [
                {"type": "reasoning", "content": "hm"},
                {"type": "text", "content": "hi"},
                {"type": "blob", "modality": "image", "content": "AAAA"},
            ],
        }
    ]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (None, "JSON object"),
        ({"error": "no such model"}, "no such model"),
        ({"message": {}}, "no response"),
    ],
)
def test_what_is_no_completion(body: Any, words: str) -> None:
    assert words in wire.fault_of(body)
    with pytest.raises(MalformedResponseError, match=words):
        wire.parse_response(body)


@given(pieces=st.lists(texts, max_size=6), thoughts=st.lists(texts, max_size=3), keep=st.integers(0, 10))
def test_streams(pieces: list[str], thoughts: list[str], keep: int) -> None:
    lines: list[dict[str, Any]] = [{"model": "m", "response": "", "thinking": text, "done": False} for text in thoughts]
    lines += [{"model": "m", "response": text, "done": False} for text in pieces]
    last = {"model": "m", "response": "", "done": True, "done_reason": "stop", "context": [1], "eval_count": 2}
    raw = "".join(json.dumps(line) + "\n" for line in [*lines, last]).encode()
    found, rest = wire.split_stream(raw)
    assert (len(found), rest) == (len(lines) + 1, "")
    stream, partial = wire.StreamAssembler(), wire.StreamAssembler()
    for text in found:
        stream.feed(json.loads(text))
    for line in lines[:keep]:
        partial.feed(line)
    assert stream.body()["response"] == "".join(pieces)
    assert stream.body().get("thinking", "") == "".join(thoughts)
    assert wire.cut_short(found, stream.body()) == ""
    assert "ended before" in wire.cut_short((), partial.body())
    assert "".join(pieces).startswith(partial.body().get("response", ""))


@given(
    hostile(["model", "prompt", "system", "images", "options", "stop", "response", "thinking", "done_reason", "error"])
)
def test_nothing_raises(body: dict[str, Any]) -> None:
    wire.parse_request(body)
    wire.request_attributes(body)
    wire.response_attributes(body)
    stream = wire.StreamAssembler()
    for _ in range(2):
        stream.feed(body)
    json.dumps([wire.input_messages(body), wire.output_messages(body), wire.system_instructions(body), stream.body()])
    with contextlib.suppress(MalformedResponseError):
        wire.parse_response(body)
