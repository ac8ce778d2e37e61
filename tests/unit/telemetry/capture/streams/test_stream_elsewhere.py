"""A stream read in another thread, task, loop or process than it was begun in, or after telemetry was switched off."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import threading
from collections.abc import Generator
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from tests.unit.telemetry.stream_ways import CHAT, Flow, Way, flowing
from tests.unit.telemetry.wire_world import World, bare_client, stream, whole

from spanseal.genai import semconv as sc
from spanseal.telemetry.active import Active, activate
from spanseal.telemetry.capture.streams import open_calls
from spanseal.telemetry.instrument import instrument

BLOCKING = [way for way in CHAT if not way.asynchronous]
ASYNC = [way for way in CHAT if way.asynchronous]


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Generator[None]:
    """Nobody complains: neither we nor OpenTelemetry, of tokens of another context."""
    yield
    assert [record.getMessage() for record in caplog.records if record.levelno > 20] == []


@pytest.mark.parametrize("way", BLOCKING, ids=str)
def test_another_thread_reads_on(way: Way) -> None:
    with flowing(way, stream(way.server)) as (here, flow):
        asyncio.run(flow.start())
        assert asyncio.run(flow.next()) is not None
        thread = threading.Thread(target=lambda: asyncio.run(flow.rest()))
        thread.start()
        thread.join()
        assert here.attributes()[sc.LLM_STREAM_END] == "complete"


@pytest.mark.parametrize("way", ASYNC, ids=str)
def test_each_chunk_in_another_task(way: Way) -> None:
    async def main(flow: Flow) -> None:
        await asyncio.create_task(flow.start())
        while await asyncio.create_task(flow.next()) is not None:
            pass

    with flowing(way, stream(way.server)) as (here, flow):
        asyncio.run(main(flow))
        assert here.attributes()[sc.LLM_STREAM_END] == "complete"


@pytest.mark.parametrize("way", ASYNC, ids=str)
def test_read_on_in_another_loop(way: Way) -> None:
    first, second = asyncio.new_event_loop(), asyncio.new_event_loop()
    try:
        with flowing(way, stream(way.server)) as (here, flow):
            first.run_until_complete(flow.start())
            assert first.run_until_complete(flow.next()) is not None
            second.run_until_complete(flow.rest())
            assert here.attributes()[sc.LLM_STREAM_END] == "complete"
    finally:
        for loop in (first, second):
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()


@pytest.mark.parametrize("way", ASYNC, ids=str)
def test_the_loop_ends_with_open_streams(way: Way) -> None:
    async def main(flow: Flow) -> None:
        await flow.start()
        await flow.next()

    with flowing(way, stream(way.server)) as (here, flow):
        asyncio.run(main(flow))
        assert here.attributes()[sc.LLM_STREAM_END] == "abandoned"
        assert here.attributes()[sc.LLM_STREAM_CHUNKS] == 1


@pytest.mark.parametrize("way", ASYNC, ids=str)
def test_the_loop_is_closed_without_a_word(way: Way) -> None:
    with flowing(way, stream(way.server)) as (here, flow):
        loop = asyncio.new_event_loop()
        loop.run_until_complete(flow.start())
        loop.run_until_complete(flow.next())
        loop.close()
        assert here.spans() == []
        flow.stream = flow._iterator = None  # pyright: ignore[reportPrivateUsage]
        gc.collect()
        open_calls.end_all()
        assert here.attributes()[sc.LLM_STREAM_END] == "abandoned"


@pytest.mark.parametrize("way", CHAT, ids=str)
def test_the_provider_is_shut_down_before_the_end(way: Way) -> None:
    async def main(flow: Flow, here: World) -> int:
        await flow.start()
        await flow.next()
        here.exporter.shutdown()
        return 1 + await flow.rest()

    with flowing(way, stream(way.server)) as (here, flow):
        assert asyncio.run(main(flow, here)) >= 2
        assert here.exporter.get_finished_spans() == ()


def test_a_forked_child_reads_on() -> None:
    """The child gets its chunks and ends nothing; the parent's stream is its own."""
    with flowing(Way("openai", False, "client"), stream("openai")) as (here, flow):
        asyncio.run(flow.start())
        next(flow.stream)
        child = os.fork()
        if child == 0:
            texts = len(list(flow.stream))
            spans = len(here.exporter.get_finished_spans())
            os._exit(10 * spans + texts)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 2
        assert here.spans() == []
        assert len(list(flow.stream)) == 2
        assert here.attributes()[sc.LLM_STREAM_END] == "complete"
        assert json.loads(here.attributes()[sc.LLM_RESPONSE_BODY])[-1] == "[DONE]"


def test_a_forked_child_has_a_watchdog_of_its_own() -> None:
    with flowing(Way("openai", False, "client"), stream("openai")) as (here, flow):
        asyncio.run(flow.start())
        next(flow.stream)
        child = os.fork()
        if child == 0:
            own: Any = here.client.chat.completions.create(model="m", messages=[], stream=True)
            next(own)
            del own
            gc.collect()
            drained = open_calls.drain(5.0)
            os._exit(10 * drained + len(here.exporter.get_finished_spans()))
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 11
        flow.stream.close()
        assert here.attributes()[sc.LLM_STREAM_END] == "partial"


def test_a_span_is_started_by_the_tracer_that_is_configured() -> None:
    provider = TracerProvider()
    started: list[str] = []

    class Seeing:
        def on_start(self, span: Any, parent_context: Any = None) -> None:
            started.append(span.name)

        def on_end(self, span: Any) -> None: ...
        def _on_ending(self, span: Any) -> None: ...
        def shutdown(self) -> None: ...
        def force_flush(self, timeout_millis: int = 30000) -> bool:
            return True

    provider.add_span_processor(Seeing())  # pyright: ignore[reportArgumentType] - it walks like one
    before = activate(Active(capture="full", provider=provider))
    try:
        client = instrument(bare_client("openai", [whole("openai"), stream("openai")], []))
        reading = client.chat.completions.create(model="m", messages=[], stream=True)
        assert started == ["chat m"]  # the intent is on its way before the first byte
        reading.close()
    finally:
        activate(before)
