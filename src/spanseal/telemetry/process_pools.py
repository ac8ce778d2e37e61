"""Carries the run into the workers of a ``ProcessPoolExecutor``. DESIGN 10.1. May import active, ledger_state.

A worker lives longer than the run it was started in, and a forked one inherits that run's context for good; so each
task brings its own: run, parent span, and the arguments of ``configure`` for workers that are not configured yet.
Touches one method of one class of the standard library, reversibly.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context

from spanseal.telemetry.active import active
from spanseal.telemetry.ledger_state import RunContext, RunState, run_of, with_run

_MOST_RUNS: Final = 20_000  # a worker forgets the numbering of runs that are this many runs ago


@dataclass(frozen=True)
class _Carried:
    run: RunContext | None
    trace_id: int
    span_id: int
    flags: int
    configure: Callable[..., None]
    arguments: Mapping[str, str | None]


class _Patch:
    original: Callable[..., Future[Any]] | None = None


_runs: Final[OrderedDict[str, RunState]] = OrderedDict()


def carry(configure: Callable[..., None], arguments: Mapping[str, str | None]) -> None:
    """Let tasks submitted from now on carry the run, and what a worker that is not configured yet calls for that.

    ``configure`` is a function of a module, so that it can be pickled by its name.
    """
    if _Patch.original is None:
        original = _Patch.original = ProcessPoolExecutor.submit
        ProcessPoolExecutor.submit = _carrying(original, configure, dict(arguments))


def stop_carrying() -> None:
    """Undo :func:`carry`."""
    original, _Patch.original = _Patch.original, None
    if original is not None:
        ProcessPoolExecutor.submit = original


def _carrying(
    original: Callable[..., Future[Any]], configure: Callable[..., None], arguments: Mapping[str, str | None]
) -> Callable[..., Future[Any]]:
    @functools.wraps(original)
    def submit(self: ProcessPoolExecutor, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        try:
            carried = _current(configure, arguments)
        except Exception:  # noqa: BLE001 - telemetry raises nothing into the application (DESIGN 10.4)
            return original(self, fn, *args, **kwargs)
        return original(self, _in_worker, carried, fn, args, kwargs)

    return submit


def _current(configure: Callable[..., None], arguments: Mapping[str, str | None]) -> _Carried:
    state = run_of(otel_context.get_current())
    where = trace.get_current_span().get_span_context()
    run = None if state is None else state.context
    return _Carried(run, where.trace_id, where.span_id, int(where.trace_flags), configure, arguments)


def _in_worker(carried: _Carried, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        context = _context(carried)
    except Exception:  # noqa: BLE001 - as above
        context = Context()
    token = otel_context.attach(context)
    try:
        return fn(*args, **kwargs)
    finally:
        otel_context.detach(token)


def _context(carried: _Carried) -> Context:
    if not active().configured:
        carried.configure(**carried.arguments)
    context = Context()
    if carried.trace_id:
        where = trace.SpanContext(carried.trace_id, carried.span_id, True, trace.TraceFlags(carried.flags))
        context = trace.set_span_in_context(trace.NonRecordingSpan(where), context)
    return context if carried.run is None else with_run(_state_of(carried.run), context)


def _state_of(run: RunContext) -> RunState:
    """One state per run, so that this worker's tasks share one numbering; its root lies in another process."""
    state = _runs.pop(run.run_id, None) or RunState(run)
    state.close()
    _runs[run.run_id] = state
    if len(_runs) > _MOST_RUNS:
        _runs.popitem(last=False)
    return state
