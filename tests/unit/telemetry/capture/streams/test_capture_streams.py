"""Every way a stream can end gives exactly one span, with what had arrived and a mark of how it ended."""

from __future__ import annotations

import asyncio
import gc
import gzip
import json
import time
from typing import Any

import httpx
import httpx2
import openai
import pytest
from opentelemetry import trace
from opentelemetry.trace import StatusCode
from tests.unit.telemetry.wire_world import KINDS, Answer, World, attributes_of, event, line, stream, world

from spanseal.genai import semconv as sc
from spanseal.records.replay_read import rebuild, recorded_response
from spanseal.telemetry.spans.tracer import tracer

both = pytest.mark.parametrize("kind", KINDS)


def text_of(found: dict[str, Any]) -> str:
    return "".join(part["content"] for m in json.loads(found[sc.OUTPUT_MESSAGES]) for part in m["parts"])


def cut(kind: str) -> Exception:
    return (httpx if kind == "ollama" else httpx2).RemoteProtocolError("peer closed connection")


@both
def test_read_to_the_end(kind: str) -> None:
    with world(kind, [stream(kind)]) as here:
        assert len(list(here.ask(stream=True))) >= 3
        found = here.attributes()
    assert found[sc.LLM_STREAM_END] == "complete"
    assert text_of(found) == "hello"
    assert found[sc.RESPONSE_FINISH_REASONS] == ("stop",)
    assert 0 < found[sc.RESPONSE_TIME_TO_FIRST_CHUNK] < 60
    assert here.span().status.status_code is StatusCode.UNSET
    assert rebuild(found).grade == "exact"
    answer = recorded_response(found)
    assert answer is not None
    assert answer.text == "hello"


@both
def test_read_to_the_end_async(kind: str) -> None:
    async def read(here: World) -> int:
        return len([chunk async for chunk in await here.ask(stream=True)])

    with world(kind, [stream(kind)], asynchronous=True) as here:
        assert asyncio.run(read(here)) >= 3
        found = here.attributes()
    assert found[sc.LLM_STREAM_END] == "complete"
    assert text_of(found) == "hello"


@both
def test_dropped_after_the_first_chunk(kind: str) -> None:
    with world(kind, [stream(kind)]) as here:
        for _ in here.ask(stream=True):
            break
        gc.collect()
        found = here.attributes()
    assert found[sc.LLM_STREAM_END] == "abandoned"
    assert text_of(found) == "he"


@both
def test_held_after_break_ends_only_when_dropped(kind: str) -> None:
    with world(kind, [stream(kind)]) as here:
        held = here.ask(stream=True)
        assert next(iter(held)) is not None
        gc.collect()
        assert here.spans() == []
        del held
        gc.collect()
        assert here.attributes()[sc.LLM_STREAM_END] == "abandoned"


def test_openai_closed_early_ends_at_once() -> None:
    with world("openai", [stream("openai")]) as here:
        reading = here.ask(stream=True)
        next(reading)
        reading.close()
        (span,) = here.exporter.get_finished_spans()  # no drain: the end is inline
    assert attributes_of(span)[sc.LLM_STREAM_END] == "partial"
    assert span.status.status_code is StatusCode.UNSET


def test_openai_with_block_left_by_the_programs_own_exception() -> None:
    with world("openai", [stream("openai")]) as here:
        with pytest.raises(LookupError):  # noqa: SIM117, PT012 - the order of leaving is what is tested
            with here.ask(stream=True) as reading:
                next(reading)
                raise LookupError("the program's own")
        found = here.attributes()
    assert found[sc.LLM_STREAM_END] == "partial"
    assert sc.ERROR_TYPE not in found


def test_openai_read_inside_an_exception_handler() -> None:
    with world("openai", [stream("openai")]) as here:
        try:
            raise LookupError("handled by asking the model")
        except LookupError:
            reading = here.ask(stream=True)
            next(reading)
            reading.close()
        found = here.attributes()
    assert found[sc.LLM_STREAM_END] == "partial"
    assert sc.ERROR_TYPE not in found


@both
def test_never_read(kind: str) -> None:
    with world(kind, [stream(kind)]) as here:
        here.ask(stream=True)
        gc.collect()
        spans = here.spans()
        if kind == "ollama":  # its generator sends nothing before it is read
            assert spans == []
            assert here.requests == []
        else:
            assert here.attributes()[sc.LLM_STREAM_END] == "abandoned"


def test_openai_raw_stream_never_parsed() -> None:
    with world("openai", [stream("openai")]) as here:
        raw = here.client.chat.completions.with_raw_response.create(
            model="m", messages=[{"role": "user", "content": "hi"}], stream=True
        )
        assert raw.status_code == 200
        del raw
        gc.collect()
        assert here.attributes()[sc.LLM_STREAM_END] == "abandoned"


def test_openai_streaming_response_of_a_plain_body() -> None:
    with world(
        "openai",
        [
            Answer(
                pieces=[b'{"id":"r","choices":[{"message":{"content":"x"}}]}'],
                headers={"content-type": "application/json"},
            )
        ],
    ) as here:
        create = here.client.chat.completions.with_streaming_response.create
        with create(model="m", messages=[{"role": "user", "content": "hi"}]) as response:
            assert response.parse().choices[0].message.content == "x"
        found = here.attributes()
    assert found[sc.LLM_STREAM_END] == "complete"
    assert sc.LLM_STREAM_CHUNKS not in found
    assert text_of(found) == "x"


@both
def test_cut_on_the_wire(kind: str) -> None:
    with world(kind, [stream(kind, done=False, fault=cut(kind))]) as here:
        with pytest.raises((openai.APIConnectionError, httpx.RemoteProtocolError)):
            list(here.ask(stream=True))
        found = here.attributes()
    assert found[sc.LLM_STREAM_END] == "failed"
    assert found[sc.ERROR_TYPE] == "RemoteProtocolError"
    assert text_of(found) == "hello"
    assert here.span().status.status_code is StatusCode.ERROR


@both
def test_cut_on_the_wire_async(kind: str) -> None:
    async def read(here: World) -> None:
        async for _ in await here.ask(stream=True):
            pass

    with world(kind, [stream(kind, done=False, fault=cut(kind))], asynchronous=True) as here:
        with pytest.raises((openai.APIConnectionError, httpx.RemoteProtocolError)):
            asyncio.run(read(here))
        assert here.attributes()[sc.LLM_STREAM_END] == "failed"


@pytest.mark.parametrize("what", ["error", "nonsense"])
@both
def test_error_or_nonsense_in_the_stream(kind: str, what: str) -> None:
    tail = b'{"error": "overloaded"}' if kind == "ollama" else b'{"error": {"message": "overloaded"}}'
    tail = tail if what == "error" else b"{broken"
    last = tail + b"\n" if kind == "ollama" else b"data: " + tail + b"\n\n"
    head = stream(kind, done=False)
    with world(kind, [Answer(pieces=[*head.pieces, last], headers=head.headers)]) as here:
        with pytest.raises(Exception, match=r"overloaded|Expecting|line 1"):
            list(here.ask(stream=True))
        found = here.attributes()
    assert found[sc.LLM_STREAM_END] == "failed"
    assert sc.ERROR_TYPE in found
    assert text_of(found) == "hello"
    assert tail.decode() in json.loads(found[sc.LLM_RESPONSE_BODY])[-1]


@both
def test_cancelled(kind: str) -> None:
    async def main(here: World) -> None:
        async def read() -> None:
            async for _ in await here.ask(stream=True):
                await asyncio.sleep(60)

        task = asyncio.create_task(read())
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with world(kind, [stream(kind)], asynchronous=True) as here:
        asyncio.run(main(here))
        gc.collect()
        found = here.attributes()
    assert found[sc.LLM_STREAM_END] in ("partial", "abandoned")
    assert text_of(found) == "he"


@both
def test_twenty_at_once(kind: str) -> None:
    async def one(here: World) -> None:
        async for _ in await here.ask(stream=True):
            await asyncio.sleep(0)

    async def main(here: World) -> None:
        await asyncio.gather(*(one(here) for _ in range(20)))

    with world(kind, [stream(kind)], asynchronous=True) as here:
        asyncio.run(main(here))
        assert [attributes_of(span)[sc.LLM_STREAM_END] for span in here.spans()] == ["complete"] * 20


def test_ends_at_the_last_chunk_when_dropped() -> None:
    with world("openai", [stream("openai")]) as here:
        reading = here.ask(stream=True)
        next(reading)
        before = time.time_ns()
        del reading
        gc.collect()
        span = here.span()
    assert span.end_time is not None
    assert span.end_time < before


def test_chunks_are_kept_word_for_word() -> None:
    odd = b'{"id": "r1",  "choices": [{"index":0,"delta":{"content":"\\u00fc \\ud83d"}}]}'
    with world(
        "openai",
        [
            Answer(
                pieces=[b": a comment\n\n", b"data: " + odd[:20], odd[20:] + b"\n\n", b"data: [DONE]\n\n"],
                headers={"content-type": "text/event-stream"},
            )
        ],
    ) as here:
        list(here.ask(stream=True))
        found = here.attributes()
    assert json.loads(found[sc.LLM_RESPONSE_BODY]) == [odd.decode(), "[DONE]"]


def test_tool_call_deltas_are_assembled() -> None:
    deltas = [
        {"tool_calls": [{"index": 0, "id": "c1", "type": "function", "function": {"name": "add", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"a":'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]},
    ]
    pieces = [event({"choices": [{"index": 0, "delta": delta}]}) for delta in deltas]
    with world("openai", [Answer(pieces=pieces, headers={"content-type": "text/event-stream"})]) as here:
        list(here.ask(stream=True))
        (message,) = json.loads(here.attributes()[sc.OUTPUT_MESSAGES])
    assert message["parts"] == [{"type": "tool_call", "name": "add", "id": "c1", "arguments": {"a": 1}}]


def test_gzip_stream() -> None:
    packed = gzip.compress(b"".join(stream("openai").pieces))
    headers = {"content-type": "text/event-stream", "content-encoding": "gzip"}
    with world("openai", [Answer(pieces=[packed[:30], packed[30:]], headers=headers)]) as here:
        list(here.ask(stream=True))
        found = here.attributes()
    assert found[sc.LLM_STREAM_END] == "complete"
    assert text_of(found) == "hello"


def test_ollama_stream_read_in_another_context_keeps_its_parent() -> None:
    with world("ollama", [stream("ollama")]) as here:
        with tracer().start_as_current_span("outer") as outer:
            reading = here.ask(stream=True)
        list(reading)
        span = here.span()
    assert span.parent is not None
    assert span.parent.span_id == outer.get_span_context().span_id
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_ollama_error_line_alone() -> None:
    body = line({"error": "model not loaded"})
    with world("ollama", [Answer(pieces=[body], headers={"content-type": "application/x-ndjson"})]) as here:
        with pytest.raises(Exception, match="model not loaded"):
            list(here.ask(stream=True))
        assert here.span().status.status_code is StatusCode.ERROR


def test_a_stream_asked_for_but_answered_with_an_error_page() -> None:
    page = Answer(500, pieces=[b"<html>oops</html>"], headers={"content-type": "text/html"})
    with world("openai", [page]) as here:
        with pytest.raises(openai.InternalServerError):
            here.ask(stream=True)
        found = here.attributes()
    assert found[sc.ERROR_TYPE] == "500"
    assert found[sc.LLM_RESPONSE_BODY] == "<html>oops</html>"
