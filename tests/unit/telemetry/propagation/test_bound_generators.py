"""Generators tied to a run by ``bind``: what they have open stays theirs, their consumer's spans the consumer's."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncGenerator, Callable, Generator

import pytest
from opentelemetry import trace
from tests.unit.telemetry.carrying import assert_child, carrying, span
from tests.unit.telemetry.ledger_of import attribute

from spanseal.genai import semconv
from spanseal.telemetry.propagation.bind import bind
from spanseal.telemetry.run_span import run_span
from spanseal.telemetry.spans.tracer import tracer


def test_a_bound_generator_keeps_its_span_to_itself_and_its_consumer_keeps_theirs() -> None:
    def numbers() -> Generator[int, str, str]:
        with tracer().start_as_current_span("generator"):
            span("first step")
            told = yield 1
            span(told)
            try:
                yield 2
            except KeyError:
                span("thrown")
            yield 3
        return "end"

    with carrying() as captured:
        with run_span("a"):
            bound = bind(numbers)
        with tracer().start_as_current_span("consumer"):
            made = bound()
            assert next(made) == 1
            span("between")
            assert made.send("second step") == 2
            assert made.throw(KeyError()) == 3
            span("between")
            with pytest.raises(StopIteration) as stop:
                next(made)
            assert stop.value.value == "end"
            assert getattr(trace.get_current_span(), "name", "") == "consumer"
    assert_child(captured, "generator", "invoke_agent a")
    for name in ("first step", "second step", "thrown"):
        assert_child(captured, name, "generator")
    consumer = captured.one("consumer").get_span_context()
    assert consumer is not None
    assert [each.parent and each.parent.span_id for each in captured.named("between")] == [consumer.span_id] * 2
    assert attribute(captured.named("between")[0], semconv.RUN_ID) is None


def test_a_bound_generator_may_be_read_by_another_thread_or_dropped(caplog: pytest.LogCaptureFixture) -> None:
    def numbers() -> Generator[int]:
        with tracer().start_as_current_span("generator"):
            yield from range(3)

    def read(made: Generator[int]) -> None:
        assert list(made) == [1, 2]

    with carrying() as captured:
        with run_span("a"):
            bound = bind(numbers)
        made = bound()
        assert next(made) == 0
        thread = threading.Thread(target=read, args=(made,))
        thread.start()
        thread.join()
        dropped = bound()
        assert next(dropped) == 0
        del dropped
        gc.collect()
        with pytest.raises(StopIteration):
            next(made)
    assert len(captured.named("generator")) == 2
    assert caplog.records == []


def test_a_bound_async_generator_keeps_its_span_to_itself_even_when_cancelled(caplog: pytest.LogCaptureFixture) -> None:
    async def numbers() -> AsyncGenerator[int]:
        with tracer().start_as_current_span("generator"):
            await asyncio.sleep(0)
            span("step")
            yield 1
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                span("cancelled")
                raise
            yield 2

    async def main(bound: Callable[[], AsyncGenerator[int]]) -> None:
        made = bound()
        with tracer().start_as_current_span("consumer"):
            assert await anext(made) == 1
            span("between")
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await anext(made)
            await made.aclose()
        other = bound()
        assert await asyncio.create_task(_first(other)) == 1
        await asyncio.create_task(other.aclose())

    with carrying() as captured:
        with run_span("a"):
            bound = bind(numbers)
        asyncio.run(main(bound))
    assert len(captured.named("generator")) == 2
    assert_child(captured, "generator", "invoke_agent a")
    assert attribute(captured.one("between"), semconv.RUN_ID) is None
    cancelled = captured.one("cancelled")
    assert attribute(cancelled, semconv.RUN_ID) == attribute(captured.one("invoke_agent a"), semconv.RUN_ID)
    assert caplog.records == []


async def _first(made: AsyncGenerator[int]) -> int:
    return await anext(made)
