"""A fault in what carries the run costs the run's membership at most, never a result of the program."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing.pool import ThreadPool
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.trace import NonRecordingSpan, NoOpTracer, SpanContext, TraceState
from tests.unit.telemetry.carrying import carrying, span

from spanseal.telemetry.propagation.bind import bind
from spanseal.telemetry.propagation.carried import Carried, Errand
from spanseal.telemetry.run_span import run_span

INTERNAL = [
    "propagation.carried.Carried.of",
    "propagation.carried.Carried.now",
    "ledger.processor.known_run",
    "ledger.processor.remember",
    "ledger.processor.run_in",
    "ledger.processor.LedgerProcessor._close_rootless",
    "ledger.processor.LedgerProcessor.run_around",
    "providers.trace_state_of",
    "propagation.bind._Bound",
    "propagation.bind.bind",
    "propagation.thread_callbacks.bind",
    "propagation.trace_state.run_in",
    "propagation.trace_state.with_run_in",
]

ELSEWHERE = SpanContext(1, 2, is_remote=True, trace_state=TraceState([("spanseal", "a" * 32)]))


class Own(threading.Thread):
    said = ""

    def run(self) -> None:
        span("own")
        self.said = "own"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", INTERNAL)
def test_a_fault_at_any_internal_call_changes_nothing_for_the_program(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hits: list[str] = []

    def broken(*args: object, **kwargs: object) -> Any:
        hits.append(name)
        raise RuntimeError("internal")

    def taken(*args: object) -> Future[Any]:
        return Future()

    def work(word: str) -> str:
        span(word)
        return word

    called: list[Any] = []
    monkeypatch.setattr(ProcessPoolExecutor, "submit", taken)
    with carrying(check=False):
        monkeypatch.setattr(f"spanseal.telemetry.{name}", broken)
        with ThreadPoolExecutor(1) as executor, ThreadPool(1) as pool, run_span("a"):
            future = executor.submit(work, "task")
            future.add_done_callback(called.append)
            assert future.result() == "task"
            assert pool.map(work, ["mapped"]) == ["mapped"]
            assert pool.apply_async(work, ("applied",), callback=called.append).get() == "applied"
            own = Own()
            own.start()
            own.join()
            assert own.said == "own"
            assert isinstance(ProcessPoolExecutor(1).submit(work, "elsewhere"), Future)
        with trace.use_span(NonRecordingSpan(ELSEWHERE)):
            span("for a caller on another host")
        monkeypatch.setattr("spanseal.telemetry.run_span.tracer", NoOpTracer)  # a sampler drops the root
        with run_span("b"):
            span("of a run without root")
    assert len(called) == 2
    assert hits, "the fault was never reached"


def test_without_context_a_function_goes_to_another_process_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []

    def submit(self: Any, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        given.append(fn)
        return Future()

    monkeypatch.setattr(ProcessPoolExecutor, "submit", submit)
    executor = ProcessPoolExecutor(1)
    with carrying():
        executor.submit(len, "")
        monkeypatch.setattr(Carried, "now", lambda: 1 / 0)
        executor.submit(len, "")
    assert isinstance(given[0], Errand)
    assert given[0].function is len
    assert given[1] is len


def test_exceptions_pass_through_bound_functions_unchanged() -> None:
    error = KeyboardInterrupt()

    def wrong() -> None:
        raise error

    with pytest.raises(KeyboardInterrupt) as caught:
        bind(wrong)()
    assert caught.value is error
