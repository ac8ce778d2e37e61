"""The Responses format: every type of item and part, attributes, values, and what is no answer."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from tests.unit.genai.json_values import hostile

from spanseal.errors import MalformedResponseError
from spanseal.genai import openai_responses as wire
from spanseal.genai import semconv as sc
from spanseal.genai.messages import ChatRequest, Media, Message, Reasoning, Text, ToolCall, ToolResult, ToolSpec
from spanseal.genai.wire_json import as_map, dumps, loads, render

SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}}


def test_request_attributes() -> None:
    body = {
        "model": "m",
        "instructions": "secret",
        "input": "hi",
        "temperature": 0.5,
        "top_p": 1,
        "max_output_tokens": 9,
        "stream": True,
        "reasoning": {"effort": "low"},
        "previous_response_id": "r0",
        "conversation": {"id": "conv"},
        "service_tier": "flex",
        "text": {"format": {"type": "json_schema"}},
        "prompt": {"id": "p", "version": "2"},
    }
    assert wire.request_attributes(body) == {
        sc.OPENAI_API_TYPE: "responses",
        sc.REQUEST_MODEL: "m",
        sc.REQUEST_TEMPERATURE: 0.5,
        sc.REQUEST_TOP_P: 1.0,
        sc.REQUEST_MAX_TOKENS: 9,
        sc.REQUEST_STREAM: True,
        sc.REQUEST_REASONING_LEVEL: "low",
        sc.REQUEST_PREVIOUS_RESPONSE_ID: "r0",
        sc.CONVERSATION_ID: "conv",
        sc.OPENAI_REQUEST_SERVICE_TIER: "flex",
        sc.OUTPUT_TYPE: "json",
        sc.PROMPT_NAME: "p",
        sc.PROMPT_VERSION: "2",
    }
    assert (
        wire.request_attributes({"model": "m", "conversation": "c", "service_tier": "auto"})[sc.CONVERSATION_ID] == "c"
    )
    assert wire.system_instructions(body) == [{"type": "text", "content": "secret"}]


ANSWER: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "model": "m-1",
    "status": "completed",
    "error": None,
    "output": [
        {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "thought"}]},
        SEARCH,
        {
            "type": "message",
            "id": "msg",
            "role": "assistant",
            "content": [
                {"type": "output_text", "text": "it is ", "annotations": []},
                {"type": "output_text", "text": "so"},
            ],
        },
        {"type": "function_call", "id": "fc", "call_id": "c1", "name": "add", "arguments": '{"a":1}'},
    ],
    "service_tier": "default",
    "usage": {
        "input_tokens": 10,
        "output_tokens": 0,
        "total_tokens": 10,
        "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2, "audio_tokens": 1},
        "output_tokens_details": {"reasoning_tokens": 3},
    },
}


def test_response_attributes() -> None:
    assert wire.response_attributes(ANSWER) == {
        sc.RESPONSE_ID: "resp_1",
        sc.RESPONSE_MODEL: "m-1",
        sc.RESPONSE_FINISH_REASONS: ["tool_call"],
        sc.RESPONSE_STATUS: "completed",
        sc.OPENAI_RESPONSE_SERVICE_TIER: "default",
        sc.USAGE_INPUT_TOKENS: 10,
        sc.USAGE_OUTPUT_TOKENS: 0,
        sc.USAGE_REASONING_TOKENS: 3,
        sc.USAGE_CACHE_READ_TOKENS: 4,
        sc.USAGE_CACHE_WRITE_TOKENS: 2,
        sc.USAGE_AUDIO_INPUT_TOKENS: 1,
    }
    (message,) = wire.output_messages(ANSWER)
    assert [part["type"] for part in message["parts"]] == ["reasoning", "server_tool_call", "text", "text", "tool_call"]
    assert message["finish_reason"] == "tool_call"
    compacted = {**ANSWER, "output": [{"type": "compaction", "id": "c", "encrypted_content": "E"}]}
    assert wire.response_attributes(compacted)[sc.CONVERSATION_COMPACTED] is True


def test_parse_response() -> None:
    answer = wire.parse_response(ANSWER)
    assert (answer.text, answer.reasoning, answer.finish_reason) == ("it is so", "thought", "tool_call")
    assert answer.tool_calls == (ToolCall("c1", "add", '{"a":1}'),)
    assert (answer.prompt_tokens, answer.completion_tokens, answer.usage.reasoning_tokens) == (10, 0, 3)


@pytest.mark.parametrize(
    ("status", "details", "word"),
    [
        ("completed", None, "stop"),
        ("incomplete", {"reason": "max_output_tokens"}, "length"),
        ("incomplete", {"reason": "content_filter"}, "content_filter"),
        ("incomplete", {"reason": "new"}, "new"),
        ("failed", None, "error"),
        ("queued", None, ""),
        ("in_progress", None, ""),
    ],
)
def test_finish_reasons(status: str, details: Any, word: str) -> None:
    found = wire.response_attributes({"status": status, "incomplete_details": details, "output": []})
    assert found.get(sc.RESPONSE_FINISH_REASONS, [""]) == [word]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (None, "JSON object"),
        ([], "JSON object"),
        ({}, "no output"),
        ({"choices": []}, "no output"),
        ({"error": {"message": "quota"}}, "quota"),
        ({"output": [], "status": "failed", "error": {"message": "boom"}}, "boom"),
        ({"output": [], "status": "failed"}, "does not say why"),
        ({"detail": "no such path"}, "no such path"),
    ],
)
def test_what_is_no_response(body: Any, words: str) -> None:
    assert words in wire.fault_of(body)
    with pytest.raises(MalformedResponseError, match=words):
        wire.parse_response(body)


def test_a_background_response_is_no_fault() -> None:
    assert wire.fault_of({"id": "r", "status": "queued", "output": []}) == ""


TALK = (
    Message("system", "Be brief."),
    Message("user", (Text("look"), Media("image", data="AAAA", mime_type="image/png"), Media("document", file_id="f"))),
    Message("assistant", (Reasoning("hm"), Text("I will add"), ToolCall("c1", "add", '{"a": 1}'))),
    Message("tool", (ToolResult("c1", "3"),)),
    Message("user", "thanks"),
)


def test_values_go_there_and_back() -> None:
    tools = (ToolSpec("add", "adds", {"type": "object", "properties": {}}, strict=True),)
    request = ChatRequest(
        "m",
        TALK,
        temperature=0.0,
        max_tokens=5,
        tools=tools,
        tool_choice="add",
        response_format={"type": "object"},
        extra={"store": False},
    )
    body = wire.request_body(request, stream=True)
    assert [item.get("type", item.get("role")) for item in body["input"]] == [
        "user",
        "assistant",
        "function_call",
        "function_call_output",
        "user",
    ]
    again = wire.parse_request(loads(dumps(body)))
    assert again.with_(messages=()) == request.with_(messages=())
    assert again.messages[0] == TALK[0]
    assert again.messages[1] == TALK[1]
    assert [part for message in again.messages for part in message.tool_calls] == [ToolCall("c1", "add", '{"a":1}')]
    assert wire.parse_request(wire.request_body(again, stream=True)) == again


def test_tools_of_the_provider_are_told_and_kept() -> None:
    tools = [
        {"type": "web_search"},
        {"type": "mcp", "server_label": "dice"},
        {"type": "function", "name": "f", "strict": True},
    ]
    assert [tool["name"] for tool in wire.tool_definitions({"tools": tools})] == ["web_search", "dice", "f"]
    request = wire.parse_request({"model": "m", "input": "x", "tools": tools})
    assert request.extra["tools"] == tools
    assert [tool.name for tool in request.tools] == ["f"]


NAMES = (
    "input",
    "instructions",
    "tools",
    "output",
    "type",
    "role",
    "content",
    "text",
    "id",
    "summary",
    "usage",
    "status",
    "message",
    "function_call",
    "reasoning",
    "action",
    "arguments",
    "error",
    "image_url",
    "input_image",
    "conversation",
)


@given(hostile(NAMES))
def test_nothing_raises(body: dict[str, Any]) -> None:
    for found in (wire.input_messages(body), wire.output_messages(body), wire.tool_definitions(body)):
        assert all(isinstance(item, dict) for item in found)
        render(found)
    wire.request_attributes(body)
    wire.response_attributes(body)
    wire.parse_request(body)
    if not wire.fault_of(body):
        wire.parse_response(body)
    assert as_map(body) is body
