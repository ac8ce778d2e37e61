"""Headers and keys for others' servers travel in bodies: they are never recorded, under no setting."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, Final

import openai
import pytest
from opentelemetry.sdk.trace import ReadableSpan
from tests.unit.telemetry.wire_world import Answer, attributes_of, event, whole, world

from spanseal.genai import semconv as sc
from spanseal.records.replay_read import rebuild
from spanseal.telemetry.active import activate, active
from spanseal.telemetry.capture.request import parsed_request
from spanseal.telemetry.content.redaction.redactor import Redactor
from spanseal.telemetry.content.redaction.tool_credentials import (
    carries_credentials,
    tool_credentials,
    without_tool_credentials,
)

PIN, TOKEN = "pin-77", "tok-0123456789-abcdef"
TOOL = {
    "type": "mcp", "server_label": "s", "require_approval": "never", "authorization": PIN,
    "server_url": f"https://me:{PIN}@mcp.example.org/sse?api_key={PIN}&region=eu",
    "headers": {"X-Pin": PIN, "Authorization": f"Token {TOKEN}", "X-Number": 4711, "X-List": [PIN]},
}  # fmt: skip
SSE: Final = {"content-type": "text/event-stream"}


@pytest.fixture(params=["default", "no detector, no key"])
def redactor(request: pytest.FixtureRequest) -> Redactor:
    """Whatever the settings: these are no content."""
    return Redactor() if request.param == "default" else Redactor((), ())


def everything(span: ReadableSpan) -> str:
    events = [dict(each.attributes or {}) for each in span.events]
    return json.dumps([span.name, attributes_of(span), span.status.description, events], default=list)


def responded(answer: Answer, redactor: Redactor, **more: Any) -> ReadableSpan:
    with world("openai", [answer]) as here:
        activate(replace(active(), redactor=redactor))
        try:
            found = here.client.responses.create(model="m", input="hi", tools=[TOOL], **more)
            if more.get("stream"):
                list(found)
        except openai.APIError:
            pass
        return here.span()


ECHO: dict[str, Any] = {"id": "r", "object": "response", "status": "completed", "output": [], "tools": [TOOL]}
ANSWERS = {
    "whole": Answer(body=ECHO),
    "stream": Answer(pieces=[event({"type": "response.completed", "response": ECHO})], headers=SSE),
    "refused": Answer(401, body={"error": {"message": f"the server did not take {TOKEN}", "tools": [TOOL]}}),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_what_a_tool_server_is_to_be_sent(name: str, redactor: Redactor) -> None:
    span = responded(ANSWERS[name], redactor, **({"stream": True} if name == "stream" else {}))
    told = everything(span)
    assert PIN not in told
    assert TOKEN not in told
    assert "4711" not in told
    (tool,) = json.loads(attributes_of(span)[sc.TOOL_DEFINITIONS])
    address = "https://[redacted:url-password:9]@mcp.example.org/sse?api_key=[redacted:key:6]&region=eu"
    assert tool["server_url"] == address
    assert tool["headers"]["X-Number"] == "[redacted:header:4]"
    assert (tool["server_label"], tool["require_approval"]) == ("s", "never")


def test_such_a_call_is_rebuilt_in_meaning_only(redactor: Redactor) -> None:
    found = attributes_of(responded(ANSWERS["whole"], redactor))
    rebuilt = rebuild(found)
    assert rebuilt.grade == "semantic"
    assert "redacted" in rebuilt.reason
    assert json.loads(rebuilt.body or b"")["tools"][0]["headers"]["X-List"] == ["[redacted:header:6]"]
    assert not found.get(sc.LLM_REQUEST_SHA256)


@pytest.mark.parametrize("body", [
    {"data_sources": [{"type": "azure_search", "parameters": {"authentication": {"type": "api_key", "key": PIN}}}]},
    {"mcp_servers": [{"type": "url", "url": "https://h/", "authorization_token": PIN, "headers": {"a": PIN}}]},
    {"future": {"deep": [{"server_url": "https://h/", "authorization": PIN, "n": 10**30}]}},
])  # fmt: skip
def test_what_others_servers_are_to_be_sent(body: dict[str, Any], redactor: Redactor) -> None:
    with world("openai", [whole("openai")]) as here:
        activate(replace(active(), redactor=redactor))
        here.ask(extra_body=body)
        span = here.span()
    assert PIN not in everything(span)
    assert rebuild(attributes_of(span)).grade == "semantic"


FUNCTION: dict[str, Any] = {"type": "function", "function": {"name": "fetch", "parameters": {
    "type": "object", "properties": {
        "url": {"type": "string"}, "headers": {"type": "object", "description": "sent along"},
        "authentication": {"type": "object", "description": "how"}, "server_url": {"type": "string"},
    },
}}}  # fmt: skip


def test_a_schema_that_names_such_things_is_none() -> None:
    with world("openai", [whole("openai")]) as here:
        here.ask(tools=[FUNCTION])
        assert rebuild(here.attributes()).grade == "exact"


def test_what_a_model_wants_sent_is_content() -> None:
    data = json.dumps({"messages": [{"tool_calls": [{"arguments": {"url": "https://h", "headers": {"a": "b"}}}]}]})
    assert without_tool_credentials(data.encode()) == data.encode()


NONE = (
    b"", b"{", b'"headers"', b'[{"headers":1}]', b'{"tools":[{"type":"mcp"}],"headers":null}', b'{"headers":' * 5000,
    b'{"server_url":"h","headers":{"a":null,"b":true,"c":""}}',
)  # fmt: skip


@pytest.mark.parametrize("data", NONE)
def test_what_has_none_stays(data: bytes) -> None:
    assert without_tool_credentials(data) is data
    assert tool_credentials(data) == ()


MORE = ("", ',"user":"\\ud800"', f',"deep":{"[" * 500}{"]" * 500}', ',"messages":[{"role":"user","content":"hi"}]')


@pytest.mark.parametrize("more", MORE)
@pytest.mark.parametrize("key", ["headers", "\\u0068eaders"])
def test_a_request_is_searched_outside_of_what_people_wrote(more: str, key: str) -> None:
    tool = f'{{"type":"mcp","server_url":"https://h","{key}":{{"X":"1234"}}}}'
    data = f'{{"model":"m","tools":[{tool}]{more}}}'.encode()
    assert carries_credentials(data, parsed_request(data)) or (key != "headers" and "ud800" in more)
    said = b'{"messages":[{"role":"user","content":"my \\"headers\\""}]}'
    assert not carries_credentials(said, parsed_request(said))
