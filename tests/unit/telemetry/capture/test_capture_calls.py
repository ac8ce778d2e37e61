"""Calls without stream: one span per logical call, truthful status, nothing secret, exceptions unchanged."""

from __future__ import annotations

import asyncio
import json
import logging
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import httpx2
import ollama
import openai
import pydantic
import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import SpanKind, StatusCode
from tests.unit.telemetry.wire_world import KEY, KINDS, Answer, attributes_of, bare_client, stream, whole, world

from spanseal.genai import semconv as sc
from spanseal.records.replay_read import rebuild
from spanseal.telemetry.capture import call as capture
from spanseal.telemetry.capture import request as call_request
from spanseal.telemetry.instrument import instrument
from spanseal.telemetry.run_context import attempt

both = pytest.mark.parametrize("kind", KINDS)
ways = pytest.mark.parametrize("asynchronous", [False, True])


def ask(here: Any, asynchronous: bool, **more: Any) -> Any:
    async def awaited() -> Any:
        return await here.ask(**more)

    return asyncio.run(awaited()) if asynchronous else here.ask(**more)


def _no_sleep(seconds: float) -> None:
    assert seconds >= 0


def everything(span: ReadableSpan) -> str:
    return json.loads(json.dumps(span.to_json()))


@ways
@both
def test_a_call_is_one_span_with_request_and_answer(kind: str, asynchronous: bool) -> None:
    with world(kind, [whole(kind)], asynchronous=asynchronous) as here:
        ask(here, asynchronous)
        span = here.span()
    found = attributes_of(span)
    assert span.name == "chat m"
    assert span.kind is SpanKind.CLIENT
    assert span.status.status_code is StatusCode.UNSET
    assert found[sc.PROVIDER_NAME] == kind
    assert (found[sc.SERVER_ADDRESS], found[sc.SERVER_PORT]) in (("openai.test", 8080), ("ollama.test", 11434))
    assert json.loads(found[sc.INPUT_MESSAGES]) == [{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]
    assert json.loads(found[sc.OUTPUT_MESSAGES])[0]["parts"] == [{"type": "text", "content": "hello"}]
    assert found[sc.LLM_ATTEMPT] == 1
    rebuilt = rebuild(found)
    assert rebuilt.grade == "exact"
    assert rebuilt.body == here.requests[0].content
    assert [event.name for event in span.events] == [sc.EVENT_HTTP_ATTEMPT]


@both
def test_key_and_headers_are_nowhere(kind: str) -> None:
    with world(kind, [Answer(401, {"error": {"message": f"bad key {KEY}"}})]) as here:
        with pytest.raises((openai.AuthenticationError, ollama.ResponseError)):
            here.ask()
        span = here.span()
    assert KEY in here.requests[0].headers["authorization"]
    assert KEY not in everything(span)
    assert "bad key [redacted]" in everything(span)
    assert attributes_of(span)[sc.ERROR_TYPE] == "401"


@both
def test_a_key_in_a_message_is_struck_out_and_the_call_is_semantic(kind: str) -> None:
    with world(kind, [whole(kind, f"your key is {KEY}")]) as here:
        ask: Any = here.client.chat if kind == "ollama" else here.client.chat.completions.create
        ask(model="m", messages=[{"role": "user", "content": f"my key is {KEY}"}])
        span = here.span()
    assert KEY not in everything(span)
    rebuilt = rebuild(span.attributes or {})
    assert rebuilt.grade == "semantic"
    assert b"my key is [redacted]" in (rebuilt.body or b"")


def test_retries_are_events_of_one_span(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", _no_sleep)
    answers = [Answer(429, {"error": {"message": "slow down"}}), Answer(refuse=httpx2.ConnectError("no"))]
    with world("openai", [*answers, whole("openai")], max_retries=3) as here:
        assert here.ask().choices[0].message.content == "hello"
        span = here.span()
    assert span.status.status_code is StatusCode.UNSET
    events = [dict(event.attributes or {}) for event in span.events]
    assert [event.get(sc.HTTP_STATUS) for event in events] == [429, None, 200]
    assert [event[sc.HTTP_ATTEMPT_NUMBER] for event in events] == [1, 2, 3]
    assert events[1][sc.ERROR_TYPE] == "ConnectError"
    assert rebuild(span.attributes or {}).grade == "exact"


@both
def test_nobody_answers(kind: str) -> None:
    refuse = (httpx if kind == "ollama" else httpx2).ConnectError("refused")
    with world(kind, [Answer(refuse=refuse)]) as here:
        with pytest.raises((openai.APIConnectionError, ConnectionError)):
            here.ask()
        span = here.span()
    assert span.status.status_code is StatusCode.ERROR
    assert attributes_of(span)[sc.ERROR_TYPE] in ("APIConnectionError", "ConnectError")


@pytest.mark.parametrize(
    ("status", "body"),
    [(400, {"error": {"message": "no"}}), (500, b"<html>"), (200, b"<html>"), (200, {"choices": []})],
)
@both
def test_outcome_is_that_of_the_bare_client(kind: str, status: int, body: Any) -> None:
    answer = Answer(status, body)
    bare: Any = _outcome(bare_client(kind, [answer], []), kind)
    with world(kind, [answer]) as here:
        assert _outcome(here.client, kind) == bare
        span = here.span()
    assert span.status.status_code is StatusCode.ERROR
    assert attributes_of(span)[sc.ERROR_TYPE] == (str(status) if status >= 400 else sc.ERROR_MALFORMED_RESPONSE)


def _outcome(client: Any, kind: str) -> tuple[str, str]:
    ask: Any = client.chat if kind == "ollama" else client.chat.completions.create
    try:
        return "value", repr(ask(model="m", messages=[{"role": "user", "content": "hi"}]))
    except Exception as error:
        return type(error).__qualname__, str(error)


def test_a_broken_body_is_kept() -> None:
    with world("openai", [Answer(200, b"<html>proxy</html>")]) as here:
        here.ask()
        found = here.attributes()
    assert found[sc.LLM_RESPONSE_BODY] == "<html>proxy</html>"


@both
def test_capture_off_tells_sizes_only(kind: str) -> None:
    with world(kind, [whole(kind, "the answer's words")], capture="off") as here:
        here.ask()
        span = here.span()
    text = everything(span)
    assert "the answer's words" not in text
    assert '"hi"' not in text
    found = attributes_of(span)
    assert found[sc.LLM_REQUEST_BYTES] == len(here.requests[0].content)
    assert found[sc.LLM_REQUEST_MESSAGES] == 1
    assert sc.LLM_REQUEST_SHA256 not in found
    assert len(str(found[sc.LLM_REQUEST_DIGEST])) == 32
    assert found[sc.CAPTURE_MODE] == "off"
    assert rebuild(found).grade == "no"


def test_capture_off_says_no_error_text() -> None:
    with world("openai", [Answer(400, {"error": {"message": "the words of the error"}})], capture="off") as here:
        with pytest.raises(openai.BadRequestError):
            here.ask()
        assert "the words of the error" not in everything(here.span())


@both
def test_a_fault_of_telemetry_stays_inside(kind: str, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("a bug of ours")

    for module, name in ((capture, "record_request"), (capture, "record_end"), (call_request, "content_attributes")):
        monkeypatch.setattr(module, name, broken)
    with caplog.at_level(logging.WARNING, "spanseal"), world(kind, [whole(kind)]) as here:
        answer = here.ask()
        assert "hello" in str(answer)
        here.ask()
        assert len(here.spans()) == 2


def test_a_tracer_that_fails_stays_inside(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("a bug of ours")

    with world("openai", [whole("openai")]) as here:
        monkeypatch.setattr(capture, "tracer", broken)
        assert here.ask().choices[0].message.content == "hello"


def test_attempt_number_comes_from_the_context() -> None:
    with world("openai", [whole("openai")]) as here:
        with attempt(3):
            here.ask()
        assert here.attributes()[sc.LLM_ATTEMPT] == 3


def test_request_attributes_are_there_when_the_server_is_asked() -> None:
    with world("openai", [whole("openai")]) as here:
        here.ask(temperature=0.5, seed=7, max_tokens=9, n=2, stop=["x"], reasoning_effort="low")
        found = here.attributes()
    assert found[sc.REQUEST_TEMPERATURE] == 0.5
    assert (found[sc.REQUEST_SEED], found[sc.REQUEST_MAX_TOKENS], found[sc.REQUEST_CHOICE_COUNT]) == (7, 9, 2)
    assert found[sc.REQUEST_STOP_SEQUENCES] == ("x",)
    assert found[sc.REQUEST_REASONING_LEVEL] == "low"


def test_every_choice_is_kept() -> None:
    choices = [
        {"index": n, "message": {"role": "assistant", "content": f"c{n}"}, "finish_reason": reason}
        for n, reason in enumerate(("stop", "tool_calls"))
    ]
    with world("openai", [Answer(body={"id": "r", "choices": choices})]) as here:
        here.ask(n=2)
        found = here.attributes()
    assert found[sc.RESPONSE_FINISH_REASONS] == ("stop", "tool_call")
    assert [m["parts"][0]["content"] for m in json.loads(str(found[sc.OUTPUT_MESSAGES]))] == ["c0", "c1"]


def test_a_call_made_for_the_key_is_a_call_of_its_own() -> None:
    with world("openai", [whole("openai")]) as here:
        inner = here.client.with_options()

        def key() -> str:
            inner.chat.completions.create(model="inner", messages=[])
            return KEY

        outer = instrument(here.client.with_options(api_key=key))
        outer.chat.completions.create(model="outer", messages=[{"role": "user", "content": "hi"}])
        names = [span.name for span in here.spans()]
    assert names == ["chat inner", "chat outer"]


def test_other_endpoints_pass_untouched() -> None:
    with world("openai", [Answer(body={"object": "list", "data": []})]) as here:
        here.client.models.list()
        assert here.exporter.get_finished_spans() == ()


def test_azure() -> None:
    seen: list[Any] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(200, json=whole("openai").body)

    with world("openai", [whole("openai")]) as here:
        client = instrument(
            openai.AzureOpenAI(
                api_key=KEY,
                azure_endpoint="https://x.openai.azure.test",
                api_version="2026-01-01",
                http_client=httpx2.Client(transport=httpx2.MockTransport(handler)),
            )
        )
        client.chat.completions.create(model="dep", messages=[{"role": "user", "content": "hi"}])
        found = here.attributes()
    assert seen[0].url.path == "/openai/deployments/dep/chat/completions"
    assert found[sc.PROVIDER_NAME] == "azure.ai.openai"
    assert found[sc.SERVER_PORT] == 443


class Sum(pydantic.BaseModel):
    total: int


def test_every_door_of_the_sdk_is_one_span() -> None:
    messages: Any = [{"role": "user", "content": "hi"}]
    piecemeal = Answer(pieces=[json.dumps(whole("openai").body).encode()], headers={"content-type": "application/json"})
    answers = [whole("openai", '{"total": 3}'), stream("openai", ['{"total"', ": 3}"]), piecemeal, whole("openai")]
    with world("openai", answers) as here:
        completions = here.client.chat.completions
        assert completions.parse(model="m", messages=messages, response_format=Sum).choices[0].message.parsed.total == 3
        with completions.stream(model="m", messages=messages, response_format=Sum) as reading:
            assert reading.get_final_completion().choices[0].message.parsed.total == 3
        raw = completions.with_raw_response.create(model="m", messages=messages)
        assert raw.elapsed.total_seconds() >= 0
        assert raw.parse().choices[0].message.content == "hello"
        assert here.client.post("/chat/completions", cast_to=dict, body={"model": "m", "messages": []})["id"] == "r1"
        spans = here.spans()
    assert len(spans) == 4
    assert [attributes_of(span).get(sc.LLM_STREAM_END) for span in spans] == [None, "complete", None, None]
    assert {rebuild(span.attributes or {}).grade for span in spans} == {"exact"}


@both
def test_threads_share_a_client(kind: str) -> None:
    with world(kind, [whole(kind)]) as here:
        with ThreadPoolExecutor(8) as pool:
            futures = [pool.submit(here.ask) for _ in range(24)]
            assert all(future.result() for future in futures)
        spans = here.spans()
    assert len(spans) == 24
    assert all(attributes_of(span)[sc.RESPONSE_FINISH_REASONS] == ("stop",) for span in spans)


@ways
def test_a_key_function_that_fails_is_a_span_without_request(asynchronous: bool) -> None:
    def no_key() -> str:
        raise LookupError("the vault is closed")

    async def no_key_async() -> str:
        return no_key()

    with world("openai", [whole("openai")], asynchronous=asynchronous) as here:
        here.client = instrument(here.client.with_options(api_key=no_key_async if asynchronous else no_key))
        with pytest.raises(LookupError, match="vault"):
            ask(here, asynchronous)
        span = here.span()
    assert here.requests == []
    assert attributes_of(span)[sc.ERROR_TYPE] == "LookupError"


def test_a_foreign_serialiser_is_exact_too() -> None:
    """What ``json.dumps`` writes by itself is split like any other; what nothing writes is kept whole."""
    known = b'{"model": "m", "messages": [{"role": "user", "content": "caf\\u00e9"}]}'
    for body, kept_whole in ((known, False), (known.replace(b": ", b" : "), True)):
        with world("openai", [whole("openai")]) as here:
            here.client.post("/chat/completions", cast_to=dict, content=body)
            found = here.attributes()
        assert rebuild(found).body == body
        assert found.get(sc.LLM_REQUEST_BODY) == (body.decode() if kept_whole else None)
