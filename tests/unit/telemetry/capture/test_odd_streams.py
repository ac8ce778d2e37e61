"""Streams that clients read in their own way: what they refuse, take as the end, or take though it is no JSON."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from opentelemetry.trace import StatusCode
from tests.unit.telemetry.stream_ways import CHAT, Flow, Way, flowing, reading
from tests.unit.telemetry.wire_world import KEY, Answer, attributes_of, bare_client, piece, recording, stream, whole

from spanseal.genai import semconv as sc
from spanseal.records.replay_read import recorded_response


class _Stop(BaseException):
    """As trio and gevent stop code."""


def in_one(kind: str, *more: bytes, last: bytes | None = None) -> Answer:
    """Everything arrives at once: what the client refuses has an end mark behind it already."""
    plain = stream(kind)
    first, end = plain.pieces[:2], plain.pieces[2:]
    return replace(plain, pieces=[b"".join([*first, *more, *(end if last is None else [last])])])


def told(way: Way, answer: Answer) -> tuple[Any, dict[str, Any], Exception | None]:
    async def read(flow: Any) -> Exception | None:
        try:
            await flow.start()
            await flow.rest()
        except Exception as error:
            return error
        finally:
            await flow.drop()
        return None

    with flowing(way, answer) as (here, flow):
        raised = asyncio.run(read(flow))
        span = here.span()
    return span, attributes_of(span), raised


@pytest.mark.parametrize("way", CHAT, ids=str)
@pytest.mark.parametrize("broken", ["{broken", ""])
def test_what_the_client_cannot_read_failed_though_the_end_has_come(way: Way, broken: str) -> None:
    bad = broken.encode() or b"?"
    framed = bad + b"\n" if way.server == "ollama" else b"data: " + broken.encode() + b"\n\n"
    span, found, raised = told(way, in_one(way.server, framed))
    assert raised is not None
    assert found[sc.LLM_STREAM_END] == "failed"
    assert found[sc.ERROR_TYPE] == "JSONDecodeError"
    assert span.status.status_code is StatusCode.ERROR


@pytest.mark.parametrize("way", [way for way in CHAT if (way.server, way.via) == ("openai", "client")], ids=str)
def test_what_follows_the_end_mark_is_no_answer(way: Way) -> None:
    last = b"data: [DONE] \n\n" + piece("openai", "late") * 3
    span, found, raised = told(way, in_one("openai", last=last))
    assert raised is None
    assert (found[sc.LLM_STREAM_END], span.status.status_code) == ("complete", StatusCode.UNSET)
    assert "late" not in found[sc.OUTPUT_MESSAGES]
    again = recorded_response(found)
    assert again is not None
    assert "late" not in again.text
    assert len(json.loads(found[sc.LLM_RESPONSE_BODY])) == found[sc.LLM_STREAM_CHUNKS] == 6


@pytest.mark.parametrize("way", CHAT, ids=str)
def test_a_number_that_is_none_costs_no_answer(way: Way) -> None:
    odd = piece(way.server, "!").replace(b"{", b'{"logprob": NaN, "low": -Infinity, ', 1)
    span, found, raised = told(way, in_one(way.server, odd))
    assert (raised, span.status.status_code) == (None, StatusCode.UNSET)
    assert json.loads(found[sc.OUTPUT_MESSAGES])[0]["parts"][0]["content"] == "hello!"
    assert "NaN" in found[sc.LLM_RESPONSE_BODY]


@pytest.mark.parametrize("way", [way for way in CHAT if not way.asynchronous], ids=str)
def test_nor_a_whole_answer(way: Way) -> None:
    body = json.dumps(whole(way.server).body).encode().replace(b"{", b'{"odd": NaN, ', 1)
    answer = Answer(body=body, headers={"content-type": "application/json"})
    with recording() as exporter:
        ask(way, reading(way, bare_client(way.server, [answer], [])))
        (span,) = exporter.get_finished_spans()
    assert span.status.status_code is StatusCode.UNSET
    assert json.loads(attributes_of(span)[sc.OUTPUT_MESSAGES])[0]["parts"][0]["content"] == "hello"


def ask(way: Way, client: Any) -> None:
    if way.via == "adapter":
        client.complete("hi")
    elif way.server == "ollama":
        client.chat("m", messages=[{"role": "user", "content": "hi"}])
    else:
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])


@pytest.mark.parametrize("way", CHAT, ids=str)
def test_whatever_stops_code_is_no_fault_of_the_stream(way: Way) -> None:
    with flowing(way, replace(stream(way.server, done=False), fault=_Stop())) as (here, flow):
        with pytest.raises(_Stop):
            asyncio.run(read_on(flow))
        found = attributes_of(here.span())
    assert (found[sc.LLM_STREAM_END], found[sc.ERROR_TYPE]) == ("partial", "_Stop")


async def read_on(flow: Flow) -> None:
    await flow.start()
    await flow.rest()


@pytest.mark.parametrize("odd", [b"", b'"logprob": NaN, '])
@pytest.mark.parametrize("way", CHAT, ids=str)
def test_the_clients_own_key_is_not_told_though_a_model_says_it_in_pieces(way: Way, odd: bytes) -> None:
    said = [KEY[:9], KEY[9:20], KEY[20:]]
    plain = stream(way.server, ["my key is ", *said, "!"])
    pieces = [each.replace(b"{", b"{" + odd, 1) for each in plain.pieces]
    span, found, raised = told(way, replace(plain, pieces=pieces))
    assert raised is None
    assert json.loads(found[sc.OUTPUT_MESSAGES])[0]["parts"][0]["content"] == "my key is [redacted]!"
    again = recorded_response(found)
    assert again is not None
    assert again.text == "my key is [redacted]!"
    assert not any(part in str(span.attributes) for part in said)
