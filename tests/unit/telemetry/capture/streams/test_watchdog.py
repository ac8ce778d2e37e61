"""A stream that is held and not read is ended by the watchdog; whoever reads on loses nothing, and neither do we."""

from __future__ import annotations

import asyncio
import gc
import json
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from tests.unit.telemetry.stream_ways import CHAT, Flow, Way, flowing
from tests.unit.telemetry.wire_world import World, attributes_of, bare_client, stream

from spanseal.genai import semconv as sc
from spanseal.telemetry.active import activate, active
from spanseal.telemetry.capture.streams import open_calls
from spanseal.telemetry.instrument import instrument
from spanseal.telemetry.run_span import run_span
from spanseal.testing.capture_spans import capture_spans


@contextmanager
def idle(seconds: float) -> Generator[None]:
    before = activate(replace(active(), stream_idle_seconds=seconds))
    try:
        yield
    finally:
        activate(before)


def wait(until: Callable[[], bool], seconds: float = 5.0) -> None:
    deadline = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def by_name(here: World) -> tuple[list[ReadableSpan], list[ReadableSpan]]:
    spans = here.exporter.get_finished_spans()
    return [span for span in spans if span.name != sc.SPAN_STREAM_REST], [
        span for span in spans if span.name == sc.SPAN_STREAM_REST
    ]


@pytest.mark.parametrize("way", CHAT, ids=str)
def test_read_on_after_the_watchdog(way: Way) -> None:
    async def main(flow: Flow, here: World) -> int:
        await flow.start()
        await flow.next()
        wait(lambda: bool(here.exporter.get_finished_spans()))
        return await flow.rest()

    with flowing(way, stream(way.server)) as (here, flow), idle(0.06):
        more = asyncio.run(main(flow, here))
        assert open_calls.drain(5.0)
        (call,), (rest,) = by_name(here)
    assert more >= 1
    first, second = attributes_of(call), attributes_of(rest)
    assert (first[sc.LLM_STREAM_END], second[sc.LLM_STREAM_END]) == ("held", "complete")
    chunks = json.loads(first[sc.LLM_RESPONSE_BODY]) + json.loads(second[sc.LLM_RESPONSE_BODY])
    assert len(chunks) == first[sc.LLM_STREAM_CHUNKS] + second[sc.LLM_STREAM_CHUNKS]
    assert [text for text in chunks if "llo" in text] == [json.loads(second[sc.LLM_RESPONSE_BODY])[0]]
    assert len(chunks) == (4 if way.server == "openai" else 3)
    where = call.get_span_context()
    assert where is not None
    assert [link.context for link in rest.links] == [where]
    assert rest.parent is not None
    assert rest.parent.span_id == where.span_id
    assert sc.OPERATION_NAME not in second


def test_held_again_and_again() -> None:
    way = Way("openai", False, "client")
    with flowing(way, stream("openai", ["a", "b", "c"])) as (here, flow), idle(0.06):
        asyncio.run(flow.start())
        for count in range(1, 4):
            next(flow.stream)
            wait(lambda count=count: len(here.exporter.get_finished_spans()) == count)
        (_,), rests = by_name(here)
        ends = [attributes_of(span) for span in rests]
        flow.stream.close()  # nothing was read since: there is nothing more to tell
        assert open_calls.drain(5.0)
        assert len(here.exporter.get_finished_spans()) == 3
    assert [found[sc.LLM_STREAM_END] for found in ends] == ["held", "held"]
    assert [found[sc.LLM_STREAM_CHUNKS] for found in ends] == [1, 1]


@pytest.mark.parametrize("way", [way for way in CHAT if way.asynchronous], ids=str)
def test_waiting_for_the_server_is_reading(way: Way) -> None:
    async def main(flow: Flow, here: World) -> None:
        await flow.start()
        await flow.next()
        waiting = asyncio.ensure_future(flow.next())
        await asyncio.sleep(0.3)
        assert here.exporter.get_finished_spans() == ()
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)

    answer = replace(stream(way.server, ["he"], done=False), stall=True)
    with flowing(way, answer) as (here, flow), idle(0.06):
        asyncio.run(main(flow, here))
        assert here.attributes()[sc.LLM_STREAM_END] == "partial"


@pytest.mark.parametrize("seconds", [0.0, 30.0])
def test_not_before_its_time(seconds: float) -> None:
    with flowing(Way("openai", False, "client"), stream("openai")) as (here, flow), idle(seconds):
        asyncio.run(flow.start())
        next(flow.stream)
        time.sleep(0.15)
        assert here.exporter.get_finished_spans() == ()
        flow.stream.close()
        assert here.attributes()[sc.LLM_STREAM_END] == "partial"


def test_dropped_after_the_watchdog() -> None:
    with flowing(Way("ollama", False, "client"), stream("ollama")) as (here, flow), idle(0.06):
        asyncio.run(flow.start())
        next(flow.stream)
        wait(lambda: bool(here.exporter.get_finished_spans()))
        flow.stream = None
        gc.collect()
        assert here.attributes()[sc.LLM_STREAM_END] == "held"


def test_the_rest_belongs_to_the_run() -> None:
    with capture_spans() as captured, idle(0.06):
        client = instrument(bare_client("openai", [stream("openai")], []))
        with run_span("reader"):
            reading = client.chat.completions.create(model="m", messages=[], stream=True)
            next(reading)
            wait(lambda: bool(captured.named("chat")))
            list(reading)
        rest, call = captured.one(sc.SPAN_STREAM_REST), captured.one("chat")
    assert attributes_of(rest)[sc.RUN_ID] == attributes_of(call)[sc.RUN_ID]
    assert rest.parent == call.get_span_context()
    assert sum(thread.name == "spanseal-open-calls" for thread in threading.enumerate()) == 1  # for all of them
