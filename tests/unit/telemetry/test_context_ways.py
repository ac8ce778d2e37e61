"""The current run and span go along every way in which Python runs code later or elsewhere, in this process."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import signal
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.pool import ThreadPool
from types import FrameType

import pytest
from opentelemetry import trace
from opentelemetry.instrumentation.threading import (  # pyright: ignore[reportMissingTypeStubs] - it ships no types
    ThreadingInstrumentor,
)
from tests.unit.telemetry.ledger_of import attribute, ledgers

from spanseal.genai import semconv
from spanseal.telemetry.process_pools import carry, stop_carrying
from spanseal.telemetry.run_context import bind, current_run
from spanseal.telemetry.run_span import run_span
from spanseal.telemetry.thread_callbacks import carry_into_threads, stop_carrying_into_threads
from spanseal.telemetry.tracing import tracer
from spanseal.testing import Captured, capture_spans


@contextmanager
def carrying() -> Generator[Captured]:
    """What ``configure()`` switches on for threads, around spans in memory."""
    ThreadingInstrumentor().instrument()
    carry_into_threads()
    carry(_nothing, {})
    try:
        with capture_spans() as captured:
            yield captured
        for ledger in ledgers(captured.spans).values():
            ledger.check()
    finally:
        stop_carrying()
        stop_carrying_into_threads()
        ThreadingInstrumentor().uninstrument()


def _nothing() -> None:
    """Workers in this process are configured."""


def span(name: str) -> None:
    with tracer().start_as_current_span(name):
        pass


def assert_child(captured: Captured, name: str, parent: str) -> None:
    """Every span of that name is a child of the one span ``parent`` and belongs to its run."""
    above = captured.one(parent)
    found = captured.named(name)
    assert found, name
    for each in found:
        assert each.parent is not None
        assert each.parent.span_id == above.get_span_context().span_id, name  # pyright: ignore[reportOptionalMemberAccess]
        assert attribute(each, semconv.RUN_ID) == attribute(above, semconv.RUN_ID), name


def test_threads_timers_and_threads_with_a_run_of_their_own() -> None:
    class Own(threading.Thread):
        def run(self) -> None:
            span("own")

    class Inherits(threading.Thread):
        pass

    with carrying() as captured:
        with run_span("a"):
            timer = threading.Timer(0.001, span, ("timer",))
            plain, inherits = threading.Thread(target=span, args=("thread",)), Inherits(target=span, args=("sub",))
            threads = [plain, Own(), inherits, timer]
            for thread in threads:
                thread.start()
        for thread in threads:
            thread.join()
            assert "run" not in vars(thread)
        with pytest.raises(RuntimeError, match="threads can only be started once"):
            threads[1].start()
        assert "run" not in vars(threads[1])
    for name in ("thread", "own", "sub", "timer"):
        assert_child(captured, name, "invoke_agent a")


def test_pools_made_in_one_run_work_for_the_next_and_so_do_callbacks() -> None:
    with carrying() as captured, ThreadPoolExecutor(1) as executor, ThreadPool(1) as pool:
        with run_span("first"):
            executor.submit(span, "first task").result()
            pool.apply(span, ("first pooled",))
        gate = threading.Event()
        with run_span("second"):
            waits = executor.submit(gate.wait)
            chained = executor.submit(span, "second task")
            chained.add_done_callback(lambda _: span("callback"))
            pool.apply(span, ("pooled",))
            list(pool.imap(span, ["imap"]))
            pool.apply_async(len, ("",), callback=lambda _: span("pool callback")).get()
        gate.set()
        assert waits.result()
        chained.add_done_callback(lambda _: span("added outside"))
        executor.submit(span, "of no run").result()
    assert_child(captured, "first task", "invoke_agent first")
    assert_child(captured, "first pooled", "invoke_agent first")
    for name in ("second task", "callback", "pooled", "imap", "pool callback"):
        assert_child(captured, name, "invoke_agent second")
    for name in ("of no run", "added outside"):
        assert attribute(captured.one(name), semconv.RUN_ID) is None


def test_asyncio_tasks_groups_threads_executors_and_call_soon() -> None:
    async def one(name: str) -> None:
        await asyncio.sleep(0)
        span(name)

    async def main() -> None:
        loop = asyncio.get_running_loop()
        with run_span("a"):
            async with asyncio.TaskGroup() as group:
                for _ in range(8):
                    group.create_task(one("group"))
            await asyncio.gather(one("gather"), asyncio.to_thread(span, "to_thread"))
            await loop.run_in_executor(None, span, "run_in_executor")
            done = loop.create_future()
            loop.call_soon(lambda: (span("call_soon"), done.set_result(None)))
            await done
            task = asyncio.ensure_future(one("task"))
            task.add_done_callback(lambda _: span("task done"))
        await task
        await asyncio.sleep(0)
        assert current_run() is None

    with carrying() as captured:
        asyncio.run(main())
    assert len(captured.named("group")) == 8
    for name in ("group", "gather", "to_thread", "run_in_executor", "call_soon", "task", "task done"):
        assert_child(captured, name, "invoke_agent a")


def test_finalisers_and_signal_handlers_do_no_harm() -> None:
    class Thing:
        pass

    def handler(number: int, frame: FrameType | None) -> None:
        span("signal")

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with carrying() as captured, run_span("a"):
            thing = Thing()
            weakref.finalize(thing, span, "finalised")
            signal.raise_signal(signal.SIGUSR1)
            del thing
            gc.collect()
    finally:
        signal.signal(signal.SIGUSR1, before)
    for name in ("signal", "finalised"):
        assert_child(captured, name, "invoke_agent a")


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


def test_a_bound_function_is_a_method_in_a_class_and_leaves_other_context_variables_alone() -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable", default=0)

    def told(self: object) -> tuple[object, int]:
        return self, variable.get()

    with carrying(), run_span("a"):
        bound = bind(told)

    class Has:
        method = bound

    assert bound.__name__ == "told"
    variable.set(5)
    has = Has()
    assert has.method() == (has, 5)


def test_eight_threads_number_eight_thousand_spans_without_gap() -> None:
    def work(number: int) -> None:
        for _ in range(1000):
            with tracer().start_as_current_span(f"work {number}"):
                pass

    with carrying() as captured, run_span("a"), ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    (ledger,) = ledgers(captured.spans).values()
    assert ledger.seqs == list(range(8001))
