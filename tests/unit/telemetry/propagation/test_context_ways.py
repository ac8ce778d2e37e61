"""The current run and span go along every way in which Python runs code later or elsewhere, in this process."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import signal
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import ThreadPool
from types import FrameType

import pytest
from tests.unit.telemetry.carrying import assert_child, carrying, span
from tests.unit.telemetry.ledger_of import attribute, ledgers

from spanseal.genai import semconv
from spanseal.telemetry.propagation.bind import bind
from spanseal.telemetry.run_context import current_run
from spanseal.telemetry.run_span import run_span
from spanseal.telemetry.spans.tracer import tracer


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
