"""Ollama chat: values to bodies and back, answers, streams, attributes."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from tests.unit.genai.json_values import hostile, st, texts

from spanseal.errors import MalformedResponseError, UsageError
from spanseal.genai import ollama_chat
from spanseal.genai import semconv as sc
from spanseal.genai.messages import (
    ChatRequest,
    Media,
    Message,
    Other,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from spanseal.genai.wire_json import SYNTHETIC_ID, dumps

arguments: Any = st.dictionaries(texts, st.one_of(texts, st.integers(-(10**30), 10**30), st.none()), max_size=2)


def calling(call: ToolCall) -> Message:
    return Message("assistant", (Reasoning("r"), Text("t"), call))


def result(text: str) -> Message:
    return Message("tool", (ToolResult("c1", text, "add"),))


calls: Any = st.builds(
    ToolCall,
    texts.map("c{}".format),
    texts,
    arguments.map(dumps).map(bytes.decode),
)
talk: Any = st.lists(
    st.one_of(
        st.builds(Message, st.sampled_from(["system", "user", "assistant"]), texts),
        st.builds(calling, calls),
        st.builds(result, texts),
    ),
    max_size=4,
).map(tuple)
requests: Any = st.builds(
    ChatRequest,
    model=texts,
    messages=talk,
    temperature=st.none() | st.floats(0, 2),
    max_tokens=st.none() | st.integers(1, 10**6),
    seed=st.none() | st.integers(0, 10**9),
    stop=st.lists(texts, max_size=2).map(tuple),
    tools=st.lists(st.builds(ToolSpec, texts, texts, arguments), max_size=2).map(tuple),
    response_format=st.sampled_from([None, {"type": "object"}, {"type": "json_object"}]),
    extra=st.sampled_from([{}, {"keep_alive": "5m"}, {"options": {"num_ctx": 9}, "think": True}]),
)


@given(request=requests, stream=st.booleans())
def test_a_request_survives_the_wire(request: ChatRequest, stream: bool) -> None:
    body = json.loads(json.dumps(ollama_chat.request_body(request, stream=stream)))
    assert body["stream"] is stream
    back = ollama_chat.parse_request(body)
    assert back == request


def test_images_by_content_only() -> None:
    request = ChatRequest("m", (Message("user", (Text("see"), Media("image", data="AAAA"))),))
    body = ollama_chat.request_body(request, stream=False)
    assert body["messages"] == [{"role": "user", "content": "see", "images": ["AAAA"]}]
    assert ollama_chat.input_messages(body)[0]["parts"][1] == {"type": "blob", "modality": "image", "content": "AAAA"}
    for part in (Media("image", uri="https://x.test"), Other({"type": "new"})):
        with pytest.raises(UsageError):
            ollama_chat.request_body(ChatRequest("m", (Message("user", (part,)),)), stream=False)


def test_an_answer_with_tool_calls() -> None:
    call = {"function": {"name": "add", "arguments": {"a": 10**30}}}
    message = {"role": "assistant", "content": "", "thinking": "hm", "tool_calls": [call, call]}
    body = {"model": "m", "created_at": "t", "done": True, "done_reason": "stop", "message": message}
    body |= {"prompt_eval_count": 5, "eval_count": 0}
    got = ollama_chat.parse_response(body)
    assert got.finish_reason == "tool_call"
    assert got.reasoning == "hm"
    assert json.loads(got.tool_calls[0].arguments) == {"a": 10**30}
    assert len({call.id for call in got.tool_calls}) == 2
    assert all(call.id.startswith(SYNTHETIC_ID) for call in got.tool_calls)
    assert got.usage.output_tokens == 0
    parts = ollama_chat.output_messages(body)[0]["parts"]
    assert [part.get("id") for part in parts[1:]] == [call.id for call in got.tool_calls]
    again = ollama_chat.request_body(ChatRequest("m", (got.message,)), stream=False)["messages"][0]["tool_calls"]
    assert again == [call, call]


def test_stream() -> None:
    stream = ollama_chat.StreamAssembler()
    call: Any = {"function": {"name": "f", "arguments": {}}}
    calling: Any = {"role": "assistant", "content": "", "tool_calls": [call]}
    news = [
        stream.feed({"model": "m", "message": {"role": "assistant", "content": "", "thinking": "h"}, "done": False}),
        stream.feed({"model": "m", "message": {"role": "assistant", "content": "x"}, "done": False}),
        stream.feed({"model": "m", "message": calling, "done": False}),
        stream.feed(
            {
                "model": "m",
                "message": {"role": "assistant", "content": ""},
                "done": True,
                "done_reason": "stop",
                "eval_count": 3,
                "x_new": 1,
            }
        ),
    ]
    assert [(chunk.text, chunk.reasoning) if chunk else None for chunk in news] == [("", "h"), ("x", ""), None, None]
    got = ollama_chat.parse_response(stream.body())
    assert (got.text, got.reasoning, got.tool_calls[0].name, got.completion_tokens) == ("x", "h", "f", 3)
    assert got.raw["x_new"] == 1


@pytest.mark.parametrize("body", [None, [], {}, {"error": "no model"}, {"message": "x"}])
def test_what_is_no_answer_is_the_servers_fault(body: Any) -> None:
    with pytest.raises(MalformedResponseError):
        ollama_chat.parse_response(body)


def test_attributes() -> None:
    body = {
        "model": "m",
        "format": {"type": "object"},
        "think": "high",
        "options": {"temperature": 0, "num_predict": 9, "seed": 1, "top_k": 4, "top_p": 0.5, "stop": ["x"]},
    }
    assert ollama_chat.request_attributes(body) == {
        sc.REQUEST_MODEL: "m",
        sc.REQUEST_TEMPERATURE: 0.0,
        sc.REQUEST_TOP_P: 0.5,
        sc.REQUEST_MAX_TOKENS: 9,
        sc.REQUEST_SEED: 1,
        sc.REQUEST_TOP_K: 4,
        sc.REQUEST_STOP_SEQUENCES: ["x"],
        sc.REQUEST_STREAM: True,
        sc.REQUEST_REASONING_LEVEL: "high",
        sc.OUTPUT_TYPE: "json",
    }


FIELDS = (
    "messages message content tool_calls function arguments name id role options stop images thinking tools done "
    "done_reason format"
)


@given(body=hostile(FIELDS.split()))
def test_nothing_that_a_server_sends_is_a_crash(body: dict[str, Any]) -> None:
    ollama_chat.parse_request(body)
    ollama_chat.request_attributes(body)
    ollama_chat.response_attributes(body)
    json.dumps([ollama_chat.input_messages(body), ollama_chat.output_messages(body)])
    stream = ollama_chat.StreamAssembler()
    stream.feed(body)
    stream.feed(body)
    stream.body()
    with contextlib.suppress(MalformedResponseError):
        ollama_chat.parse_response(body)
