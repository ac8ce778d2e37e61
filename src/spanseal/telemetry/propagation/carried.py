"""What a task takes along into another process: the run, the parent span, and how to configure there. DESIGN 10.1.

A worker lives longer than the run it was started in, and a forked one inherits that run's context for good; so each
task brings its own. May import active and ledger.state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import TraceState

from spanseal.telemetry.active import active
from spanseal.telemetry.ledger.state import RunContext, known_run, run_of, with_run


class _How:
    configure: Callable[..., None] | None = None
    arguments: Mapping[str, Any] | None = None


def configured_by(configure: Callable[..., None] | None, arguments: Mapping[str, Any]) -> None:
    """What a process that is not configured yet calls; ``configure`` can be pickled by its name, None: nothing."""
    _How.configure, _How.arguments = configure, arguments


@dataclass(frozen=True)
class Carried:
    """Picklable. ``run`` None outside of a run; ``trace_id`` 0 without a span; ``configure`` is a module's function."""

    run: RunContext | None
    trace_id: int
    span_id: int
    flags: int
    trace_state: tuple[tuple[str, str], ...]
    configure: Callable[..., None] | None
    arguments: Mapping[str, Any] = field(repr=False)

    @classmethod
    def of(cls, context: Context) -> Carried:
        """What a context holds."""
        state, span, ledger = run_of(context), trace.get_current_span(context), active().ledger
        where = span.get_span_context()
        run = None if ledger is None else ledger.run_around(span)  # a foreign agent's, which no context tells
        if run is None and state is not None:
            run = state.context
        others = tuple(where.trace_state.items())
        flags, arguments = int(where.trace_flags), dict(_How.arguments or {})
        return cls(run, where.trace_id, where.span_id, flags, others, _How.configure, arguments)

    @classmethod
    def now(cls) -> Carried:
        """What is current here."""
        return cls.of(otel_context.get_current())

    def unpacked(self) -> Context:
        """The context to work in, in a process that is configured then; empty rather than wrong, never raises."""
        try:
            if self.configure is not None and not active().configured:
                self.configure(**self.arguments)
            context = Context()
            if self.trace_id:
                flags, others = trace.TraceFlags(self.flags), TraceState(self.trace_state)
                where = trace.SpanContext(self.trace_id, self.span_id, True, flags, others)
                context = trace.set_span_in_context(trace.NonRecordingSpan(where), context)
            return context if self.run is None else with_run(known_run(self.run), context)
        except Exception:  # noqa: BLE001 - telemetry raises nothing into the application (DESIGN 10.4)
            return Context()


@dataclass(frozen=True)
class Errand:
    """A function with what it carries; called in the other process in place of the function."""

    carried: Carried
    function: Callable[..., Any]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function's result or exception, unchanged."""
        token = otel_context.attach(self.carried.unpacked())
        try:
            return self.function(*args, **kwargs)
        finally:
            otel_context.detach(token)


class Luggage:
    """Lies in a process object that starts; the interpreter that unpickles it works in its context for good."""

    def __init__(self, carried: Carried | None = None) -> None:
        self._carried = carried

    def __reduce__(self) -> tuple[Callable[..., Luggage], tuple[Carried | None]]:
        """Unpickling attaches."""
        return _unpack, (self._carried,)


def _unpack(carried: Carried | None) -> Luggage:
    if carried is not None:
        otel_context.attach(carried.unpacked())
    return Luggage()
