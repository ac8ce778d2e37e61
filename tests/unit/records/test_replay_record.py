"""A request is split over attributes and comes back byte for byte, or its body is kept whole."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from tests.unit.genai.json_values import json_values, numbers, st, texts

from spanseal.genai import ollama_chat, openai_chat
from spanseal.genai import semconv as sc
from spanseal.genai.messages import ChatRequest, Message, ToolCall, ToolResult
from spanseal.genai.wire_json import as_map, dumps, loads, render
from spanseal.records.replay_read import rebuild, recorded_request, recorded_response, response
from spanseal.records.replay_record import split

FORMATS: Any = {"openai.chat": openai_chat, "ollama.chat": ollama_chat}

values = json_values()
roles: Any = st.sampled_from(["system", "developer", "user", "assistant", "tool", "function", ""])
spaced: Any = json.dumps
arguments: Any = values.map(spaced) | values.map(dumps).map(bytes.decode) | texts
calls: Any = st.fixed_dictionaries(
    {"function": st.fixed_dictionaries({"name": texts, "arguments": arguments | values})},
    optional={"id": texts, "type": st.just("function"), "index": numbers},
)
contents: Any = st.one_of(
    texts,
    st.none(),
    st.lists(
        st.one_of(
            values,
            st.fixed_dictionaries({"type": st.just("text"), "text": texts}),
            st.fixed_dictionaries(
                {
                    "type": st.just("image_url"),
                    "image_url": st.fixed_dictionaries(
                        {
                            "url": texts | st.just("data:image/png;base64,AAAA"),
                        },
                        optional={"detail": texts},
                    ),
                }
            ),
        ),
        max_size=3,
    ),
)
messages: Any = st.one_of(
    values,
    st.fixed_dictionaries({"role": roles, "content": contents}),
    st.fixed_dictionaries(
        {},
        optional={
            "role": roles,
            "content": contents,
            "tool_calls": st.lists(calls, max_size=2),
            "name": texts,
            "tool_call_id": texts,
            "reasoning_content": texts,
            "thinking": texts,
            "refusal": texts | st.none(),
            "images": st.lists(texts, max_size=2),
            "tool_name": texts,
            "unknown": values,
        },
    ),
)
bodies: Any = st.fixed_dictionaries(
    {},
    optional={
        "model": texts,
        "messages": st.lists(messages, max_size=4),
        "tools": st.lists(values, max_size=2),
        "temperature": numbers,
        "options": values,
        "stop": values,
        "response_format": values,
        "future": values,
    },
)


def record(name: str, raw: bytes) -> dict[str, Any]:
    """What capture writes for these bytes."""
    wire = FORMATS[name]
    body = loads(raw)
    tools = wire.tool_definitions(body)
    made = split(raw, body, wire.input_messages(body), tools)
    found: dict[str, Any] = {sc.LLM_FORMAT: name, sc.LLM_REQUEST_SHA256: made.sha256}
    if made.params:
        found[sc.LLM_REQUEST_PARAMS] = made.params
    elif made.body:
        found[sc.LLM_REQUEST_BODY] = made.body
    return found | {sc.INPUT_MESSAGES: render(wire.input_messages(body)), sc.TOOL_DEFINITIONS: render(tools)}


@pytest.mark.parametrize("name", FORMATS)
@given(body=bodies)
def test_any_body_comes_back_exactly(name: str, body: dict[str, Any]) -> None:
    raw = dumps(body)
    rebuilt = rebuild(record(name, raw))
    assert rebuilt.grade == "exact", rebuilt.reason
    assert rebuilt.body == raw


@given(body=bodies, spaces=st.booleans())
def test_other_serialisers_come_back_exactly_too(body: dict[str, Any], spaces: bool) -> None:
    raw = json.dumps(body, indent=1 if spaces else None, ensure_ascii=True).encode()
    assert rebuild(record("openai.chat", raw)).body == raw


TALK = (
    Message("system", "Be brief."),
    Message("user", "1 + 2?"),
    Message("assistant", (ToolCall("c1", "add", '{"a": 1, "b": 2}'),)),
    Message("tool", (ToolResult("c1", "3"),)),
    Message("assistant", "3"),
)


@pytest.mark.parametrize("name", FORMATS)
def test_content_is_stored_once(name: str) -> None:
    marked = tuple(Message(m.role, m.content if isinstance(m.content, tuple) else m.content + "§" * 40) for m in TALK)
    found = record(name, dumps(FORMATS[name].request_body(ChatRequest("m", marked), stream=False)))
    assert "§" not in found[sc.LLM_REQUEST_PARAMS]
    assert '"b"' not in found[sc.LLM_REQUEST_PARAMS]


def test_params_stay_small() -> None:
    turns = tuple(Message("user" if n % 2 else "assistant", f"turn {n} " * 50) for n in range(200))
    raw = dumps(openai_chat.request_body(ChatRequest("m", turns, temperature=0.0), stream=True))
    assert len(record("openai.chat", raw)[sc.LLM_REQUEST_PARAMS]) < 1_000


@pytest.mark.parametrize(
    "raw",
    [
        b'{"messages":[{"role":"user","content":"a","content":"b"}]}',
        b'{"messages":[{"$":"role"}]}',
        b'{"$x":{"$":"messages"},"messages":[]}',
        b'{"a":{"$":"messages"}}',
        b'{ "messages":[] }',
        b"[1]",
        b"not json",
        b"",
    ],
)
def test_what_cannot_be_split_is_kept_whole(raw: bytes) -> None:
    body: dict[str, Any] = loads(raw) if raw[:1] in (b"{", b"[") else {}
    body = as_map(body)
    made = split(raw, body, openai_chat.input_messages(body), openai_chat.tool_definitions(body))
    assert made.sha256 == hashlib.sha256(raw).hexdigest()
    if made.params:
        assert (
            rebuild(
                {
                    sc.LLM_REQUEST_PARAMS: made.params,
                    sc.LLM_REQUEST_SHA256: made.sha256,
                    sc.INPUT_MESSAGES: render(openai_chat.input_messages(body)),
                }
            ).body
            == raw
        )
    else:
        assert made.body.encode() == raw


def test_bytes_that_are_no_text_cannot_be_kept() -> None:
    made = split(b"\xff\xfe", {}, [], [])
    assert (made.params, made.body) == ("", "")


def exact() -> dict[str, Any]:
    return record("openai.chat", dumps(openai_chat.request_body(ChatRequest("m", TALK, seed=1), stream=False)))


def test_masked_content_is_semantic() -> None:
    found = exact()
    found[sc.INPUT_MESSAGES] = found[sc.INPUT_MESSAGES].replace("Be brief", "[redacted]")
    rebuilt = rebuild(found)
    assert rebuilt.grade == "semantic"
    assert b"[redacted]." in (rebuilt.body or b"")
    assert "masked or changed" in rebuilt.reason


@pytest.mark.parametrize("broken", ['{"spanseal.omitted":{"bytes":9}}', "[]", "[{}]", "nonsense", "[1,2,3,4,5]"])
def test_missing_messages_are_said_to_be_missing(broken: str) -> None:
    rebuilt = rebuild(exact() | {sc.INPUT_MESSAGES: broken})
    assert rebuilt.grade in ("no", "semantic")
    assert rebuilt.reason


def test_structured_attributes_are_read_like_text() -> None:
    found = exact()
    found[sc.INPUT_MESSAGES] = tuple(json.loads(found[sc.INPUT_MESSAGES]))
    found[sc.TOOL_DEFINITIONS] = ()
    assert rebuild(found).grade == "exact"


def test_a_foreign_span_is_semantic_and_none_is_no() -> None:
    found = exact()
    foreign = {key: value for key, value in found.items() if key.startswith("gen_ai.")} | {sc.REQUEST_MODEL: "m"}
    rebuilt = rebuild(foreign)
    assert rebuilt.grade == "semantic"
    assert loads(rebuilt.body or b"")["messages"][0] == {"role": "system", "content": "Be brief."}
    request = recorded_request(foreign)
    assert request is not None
    assert request.messages[2].tool_calls[0].name == "add"
    assert rebuild({}).grade == "no"
    assert recorded_request({}) is None


def test_recorded_request_equals_what_was_asked() -> None:
    request = recorded_request(exact())
    assert request is not None
    assert (request.model, request.seed, request.messages) == ("m", 1, TALK)


def test_responses() -> None:
    body = '{"id":"r","choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}'
    chunk = '{"choices":[{"index":0,"delta":{"content":"y"}}]}'
    plain = {sc.LLM_RESPONSE_BODY: body, sc.LLM_FORMAT: "openai.chat"}
    streamed = {**plain, sc.LLM_RESPONSE_BODY: json.dumps([chunk, "[DONE]", "{cut"]), sc.LLM_STREAM_CHUNKS: 3}
    for attributes, text in ((plain, "x"), (streamed, "y")):
        answer = recorded_response(attributes)
        assert answer is not None
        assert answer.text == text
    kept = response(streamed)
    assert kept is not None
    assert kept.chunks == (chunk, "[DONE]", "{cut")
    assert response({}) is None
    assert recorded_response({}) is None


def test_response_of_a_foreign_span() -> None:
    output = [{"role": "assistant", "parts": [{"type": "text", "content": "hi"}], "finish_reason": "stop"}]
    answer = recorded_response({sc.OUTPUT_MESSAGES: json.dumps(output), sc.USAGE_INPUT_TOKENS: 3})
    assert answer is not None
    assert (answer.text, answer.finish_reason, answer.prompt_tokens) == ("hi", "stop", 3)


def test_a_request_that_is_no_text_is_not_called_foreign() -> None:
    rebuilt = rebuild({sc.LLM_FORMAT: "openai.chat", sc.CAPTURE_MODE: "full", sc.LLM_REQUEST_BYTES: 9})
    assert (rebuilt.body, rebuilt.grade) == (None, "no")
    assert "no text" in rebuilt.reason
