"""OpenAI chat completions: values to bodies and back, answers, streams, attributes."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from tests.unit.genai.json_values import hostile, st, texts

from spanseal.errors import MalformedResponseError
from spanseal.genai import openai_chat
from spanseal.genai import semconv as sc
from spanseal.genai.messages import (
    ChatRequest,
    LLMResponse,
    Media,
    Message,
    Other,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
)
from spanseal.genai.wire_json import SYNTHETIC_ID


def calling(calls: list[ToolCall]) -> Message:
    return Message("assistant", (Text("t"), *calls))


def result(call: str, text: str) -> Message:
    return Message("tool", (ToolResult(call, text),))


calls: Any = st.builds(ToolCall, texts, texts, texts)
talk: Any = st.lists(
    st.one_of(
        st.builds(Message, st.sampled_from(["system", "user", "assistant", "developer"]), texts, texts),
        st.builds(calling, st.lists(calls, min_size=1, max_size=3)),
        st.builds(result, texts, texts),
    ),
    max_size=4,
).map(tuple)
schemas: Any = st.dictionaries(texts, st.one_of(texts, st.integers(), st.none()), max_size=3)
requests: Any = st.builds(
    ChatRequest,
    model=texts,
    messages=talk,
    temperature=st.none() | st.floats(0, 2),
    max_tokens=st.none() | st.integers(1, 10**6),
    top_p=st.none() | st.floats(0, 1),
    seed=st.none() | st.integers(-(10**30), 10**30),
    stop=st.lists(texts, max_size=2).map(tuple),
    tools=st.lists(st.builds(ToolSpec, texts, texts, schemas, st.none() | st.booleans()), max_size=2).map(tuple),
    tool_choice=st.none() | st.sampled_from(["auto", "none", "required", "add"]),
    extra=st.dictionaries(texts.map("x_{}".format), schemas, max_size=2),
)


@given(request=requests, stream=st.booleans())
def test_a_request_survives_the_wire(request: ChatRequest, stream: bool) -> None:
    body = json.loads(json.dumps(openai_chat.request_body(request, stream=stream)))
    assert openai_chat.parse_request(body) == request


def test_parts_on_the_wire() -> None:
    picture, file = Media("image", data="AAAA", mime_type="image/png"), Media("document", file_id="f1")
    sound, link = Media("audio", data="BBBB", mime_type="audio/wav"), Media("image", uri="https://x.test/i.png")
    other = Other({"type": "new", "value": 1})
    message = Message("user", (Text("look"), picture, link, sound, file, other))
    (wire,) = openai_chat.request_body(ChatRequest("m", (message,)), stream=False)["messages"]
    assert wire["content"][1] == {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    assert wire["content"][-1] == {"type": "new", "value": 1}
    assert openai_chat.parse_request({"messages": [wire]}).messages == (message,)
    kinds = [part["type"] for part in openai_chat.input_messages({"messages": [wire]})[0]["parts"]]
    assert kinds == ["text", "blob", "uri", "blob", "file", "new"]


def test_reasoning_is_not_sent_and_several_results_are_several_messages() -> None:
    talk = (
        Message("assistant", (Reasoning("hm"), Text("x"))),
        Message("tool", (ToolResult("a", "1"), ToolResult("b", "2"))),
    )
    wires = openai_chat.request_body(ChatRequest("m", talk), stream=False)["messages"]
    assert wires == [
        {"role": "assistant", "content": "x"},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": "2"},
    ]


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        ({"type": "json_object"}, {"type": "json_object"}),
        (
            {"type": "object", "title": "A b"},
            {"type": "json_schema", "json_schema": {"name": "A_b", "schema": {"type": "object", "title": "A b"}}},
        ),
        (
            {"additionalProperties": False},
            {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": {"additionalProperties": False}, "strict": True},
            },
        ),
    ],
)
def test_response_format(schema: Any, sent: Any) -> None:
    request = ChatRequest("m", (), response_format=schema)
    body = openai_chat.request_body(request, stream=False)
    assert body["response_format"] == sent
    assert openai_chat.parse_request(body).response_format == schema
    assert openai_chat.request_attributes(body)[sc.OUTPUT_TYPE] == "json"


def answer(message: Any, **more: Any) -> dict[str, Any]:
    return {"id": "r", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], **more}


def test_an_answer() -> None:
    usage = {
        "prompt_tokens": 9,
        "completion_tokens": 5,
        "completion_tokens_details": {"reasoning_tokens": 0},
        "prompt_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
    }
    body = answer({"content": "x", "reasoning_content": "hm"}, usage=usage)
    got = openai_chat.parse_response(body)
    assert (got.text, got.reasoning, got.finish_reason, got.response_id) == ("x", "hm", "stop", "r")
    assert got.usage == Usage(9, 5, 0, 4, 2)
    assert got.raw == body
    assert openai_chat.response_attributes(body)[sc.USAGE_REASONING_TOKENS] == 0


def test_tool_calls_without_ids_get_marked_ones() -> None:
    call = {"type": "function", "function": {"name": "add", "arguments": '{"a": 10000000000000000000000}'}}
    body = answer({"content": None, "tool_calls": [call, call]})
    body["choices"][0]["finish_reason"] = "tool_calls"
    got = openai_chat.parse_response(body)
    ids = [call.id for call in got.tool_calls]
    assert all(new.startswith(SYNTHETIC_ID) for new in ids)
    assert len(set(ids)) == 2
    assert got == openai_chat.parse_response(body)
    assert got.finish_reason == "tool_call"
    parts = openai_chat.output_messages(body)[0]["parts"]
    assert [part["id"] for part in parts] == ids
    assert parts[0]["id_synthesised"] is True
    assert parts[0]["arguments"] == {"a": 10**22}


@pytest.mark.parametrize(
    "body",
    ["null", "[]", '"x"', "{}", '{"choices":[]}', '{"choices":[1]}', '{"choices":[{}]}', '{"error":{"message":"m"}}'],
)
def test_what_is_no_answer_is_the_providers_fault(body: str) -> None:
    with pytest.raises(MalformedResponseError):
        openai_chat.parse_response(json.loads(body))


FIELDS = (
    "messages choices message delta content tool_calls function arguments name id index usage prompt_tokens_details "
    "role finish_reason type image_url url stop tools logprobs refusal audio function_call error"
)


@given(body=hostile(FIELDS.split()))
def test_nothing_that_a_server_sends_is_a_crash(body: dict[str, Any]) -> None:
    openai_chat.parse_request(body)
    openai_chat.request_attributes(body)
    openai_chat.response_attributes(body)
    json.dumps([openai_chat.input_messages(body), openai_chat.output_messages(body)])
    json.dumps(openai_chat.tool_definitions(body))
    stream = openai_chat.StreamAssembler()
    stream.feed(body)
    stream.feed(body)
    json.dumps(stream.body())
    with contextlib.suppress(MalformedResponseError):
        openai_chat.parse_response(body)


@given(
    response=st.builds(
        LLMResponse,
        text=texts,
        model=texts,
        tool_calls=st.lists(st.builds(ToolCall, texts.map("c{}".format), texts, texts), max_size=2).map(tuple),
        finish_reason=st.sampled_from(["stop", "length", "tool_call"]),
        response_id=texts,
        reasoning=texts,
        usage=st.builds(Usage, st.integers(0, 9), st.integers(0, 9), st.none() | st.integers(0, 9)),
    )
)
def test_an_answer_made_in_process_reads_back(response: LLMResponse) -> None:
    back = openai_chat.parse_response(openai_chat.response_body(response))
    assert (back.text, back.tool_calls) == (response.text, response.tool_calls)
    assert back.finish_reason == response.finish_reason
    assert (back.reasoning, back.usage, back.model) == (response.reasoning, response.usage, response.model)


def test_semconv_shapes() -> None:
    messages = [
        {"role": "system", "content": "s"},
        {"role": "user", "content": [{"type": "text", "text": "t"}], "name": "ann"},
        {
            "role": "assistant",
            "content": None,
            "refusal": "no",
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{bad"}}],
        },
        {"role": "tool", "tool_call_id": "c", "content": "r"},
    ]
    assert openai_chat.input_messages({"messages": messages}) == [
        {"role": "system", "parts": [{"type": "text", "content": "s"}]},
        {"role": "user", "parts": [{"type": "text", "content": "t"}], "name": "ann"},
        {
            "role": "assistant",
            "parts": [
                {"type": "refusal", "refusal": "no"},
                {"type": "tool_call", "name": "f", "id": "c", "arguments": "{bad"},
            ],
        },
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": "r"}]},
    ]
    tool = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}, "strict": True}}
    assert openai_chat.tool_definitions({"tools": [tool]}) == [
        {"type": "function", "name": "f", "parameters": {"type": "object"}, "strict": True}
    ]
