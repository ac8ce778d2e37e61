"""The span processor: numbers the spans of every run, writes manifests, hands ended spans to the sinks. DESIGN 10.1-3.

A span belongs to its nearest ``invoke_agent``: the run of its parent span if that has one (so the children of a foreign
agent are found, and those of a span on another host), else the run in its context. May import at_fork, state,
``spans.limits``, ``spans.same_call``, ``export.sink``, ``propagation.trace_state`` and signals.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import SpanContext

from spanseal import __version__
from spanseal.effects import Effects
from spanseal.genai import semconv
from spanseal.records.history import Bases
from spanseal.telemetry.active import active
from spanseal.telemetry.at_fork import call_in_child
from spanseal.telemetry.export.sink import Complaints, Health, Sink, nanoseconds
from spanseal.telemetry.ledger.state import (
    RunContext,
    RunState,
    Writer,
    known_run,
    recalled,
    remember,
    run_of,
    with_run,
)
from spanseal.telemetry.propagation.trace_state import run_in
from spanseal.telemetry.signals import signals
from spanseal.telemetry.spans import same_call
from spanseal.telemetry.spans.limits import whole

Key: TypeAlias = tuple[int, int]
_NO_STAMPS: Final[dict[str, str | int | bool]] = {}


@dataclass(slots=True)
class _Open:
    """A span that has started here and not ended; ``state`` None if it belongs to no run."""

    state: RunState | None
    seq: int = -1
    root: bool = False
    sealed: bool = False
    stamps: dict[str, str | int | bool] = field(default_factory=dict[str, "str | int | bool"])


class LedgerProcessor(SpanProcessor):
    """See the module. ``provider`` is where manifest spans are made; ``sinks`` are served in order, each on its own."""

    def __init__(self, provider: trace.TracerProvider, sinks: Sequence[Sink], effects: Effects | None = None) -> None:
        self._provider = provider
        self._sinks = tuple(sinks)
        self._effects = effects or Effects()
        self.complaints = Complaints()
        self._lock = threading.RLock()
        self._writer: Writer | None = None
        self._open: dict[Key, _Open] = {}
        self._inherited: frozenset[Key] = frozenset()
        self._runs: weakref.WeakKeyDictionary[Any, RunState] = weakref.WeakKeyDictionary()
        call_in_child(self.after_fork)

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Number the span if it belongs to a run, and tell the sinks. Never raises."""
        try:
            same_call.saw(span)
            self._start(span, otel_context.get_current() if parent_context is None else parent_context)
        except Exception as error:  # noqa: BLE001 - telemetry raises nothing into the application (DESIGN 10.4)
            self._fault("numbering a span", error)
        where = span.get_span_context()
        entry = self._open.get((where.trace_id, where.span_id))
        for sink in self._sinks:
            try:
                sink.started(span, _NO_STAMPS if entry is None else entry.stamps)
            except Exception as error:  # noqa: BLE001 - as above
                self._fault("noting a start", error)

    def on_end(self, span: ReadableSpan) -> None:
        """Enter the end, hand the span to the sinks, write the manifest that is due. Never raises."""
        where = span.get_span_context()
        if where is None or (where.trace_id, where.span_id) in self._inherited:
            return  # started by the parent process, which exports it
        entry = self._open.pop((where.trace_id, where.span_id), None)
        try:
            due = self._enter_end(span, where, entry)
            span = whole(span)
        except Exception as error:  # noqa: BLE001 - as above
            due = None
            self._fault("entering a span's end", error)
        for sink in self._sinks:
            try:
                sink.emit(span, _NO_STAMPS if entry is None else entry.stamps)
            except Exception as error:  # noqa: BLE001 - as above
                self._fault("exporting a span", error)
        try:
            signals.ended(span)
            if due is not None:
                self._manifest_span(due, where)
        except Exception as error:  # noqa: BLE001 - as above
            self._fault("recording metrics or a manifest", error)

    def close_root(self, span: trace.Span, end: int, run_id: str = "") -> int:
        """Set the manifest on the root of a run of ours, just before it ends at the returned time (nanoseconds).

        A root that a foreign sampler drops cannot carry it: the run ``run_id`` then gets a manifest span, so that the
        spans which it does let through are accounted for.
        """
        where = span.get_span_context()
        entry = self._open.get((where.trace_id, where.span_id))
        if entry is None or entry.state is None or not isinstance(span, Span):
            self._close_rootless(run_id, where)
            return end
        start = nanoseconds(span.start_time)
        end = max(end, start)
        with self._lock:
            entry.state.end(entry.seq, where.span_id, start, end, span.status.status_code.value)
            text = entry.state.manifest()
        entry.stamps[semconv.MANIFEST] = text
        entry.sealed = True
        span.set_attribute(semconv.MANIFEST, text)
        return end

    def _close_rootless(self, run_id: str, where: SpanContext) -> None:
        state = recalled(run_id)
        if state is None or state.closed or state.writer is None or state.writer is not self._writer:
            return  # nothing was numbered here, or the root is the business of the process that forked this one
        with self._lock:
            state.close()
            due = state.uncovered and not state.open
        if due:
            self._manifest_span(state, where)

    def run_around(self, span: trace.Span) -> RunContext | None:
        """The run that a span under way here belongs to; None outside of a run."""
        state = self._inherited_run(span)
        return None if state is None else state.context

    def bases_of(self, span: trace.Span) -> Bases | None:
        """The calls that this span, under way here, may build its history on; None outside of a run."""
        where = span.get_span_context()
        entry = self._open.get((where.trace_id, where.span_id))
        return None if entry is None or entry.state is None else entry.state.bases

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """True if every sink has delivered everything."""
        deadline = self._effects.clock.monotonic() + timeout_millis / 1000
        delivered = True
        for sink in self._sinks:
            try:
                delivered = sink.flush(max(0.0, deadline - self._effects.clock.monotonic())) and delivered
            except Exception as error:  # noqa: BLE001 - as above
                delivered = False
                self._fault("flushing", error)
        return delivered

    def health(self) -> Health:
        """How the sinks are doing, all together."""
        return sum((sink.health() for sink in self._sinks), Health())

    def shutdown(self, timeout: float = 5.0) -> None:
        """Close the sinks; later spans are no longer exported."""
        sinks, self._sinks = self._sinks, ()
        for sink in sinks:
            try:
                sink.close(timeout)
            except Exception as error:  # noqa: BLE001 - as above
                self._fault("closing an export", error)

    def after_fork(self) -> None:
        """In the child: a new writer, new files; the parent's open spans stay the parent's."""
        self._lock = threading.RLock()
        self._inherited |= frozenset(self._open)
        self._open = {}
        self._writer = None
        for sink in self._sinks:
            try:
                sink.after_fork()
            except Exception as error:  # noqa: BLE001 - as above
                self._fault("beginning anew after a fork", error)

    def _start(self, span: Span, context: Context) -> None:
        where = span.get_span_context()
        found = span.attributes or {}
        parent = trace.get_current_span(context)
        state, root = self._run_of(found, parent, context, where)
        entry = _Open(state, root=root)
        if not where.trace_flags.sampled:
            entry.stamps[semconv.SAMPLED] = False
        self._open[where.trace_id, where.span_id] = entry
        if state is not None:
            self._number(span, where, entry, state)
            if semconv.AGENT_NAME not in found and state.context.agent_name:
                entry.stamps[semconv.AGENT_NAME] = active().redactor.text(state.context.agent_name)
        if entry.stamps:
            span.set_attributes(entry.stamps)

    def _number(self, span: Span, where: SpanContext, entry: _Open, state: RunState) -> None:
        self._runs[span] = state
        with self._lock:
            writer = self._writer
            if writer is None:
                writer = self._writer = Writer(self._effects)
            first = state.belong_to(writer)
            entry.seq = state.start(where.span_id, nanoseconds(span.start_time))
        entry.stamps[semconv.RUN_ID] = state.context.run_id
        entry.stamps[semconv.WRITER_ID] = writer.id
        entry.stamps[semconv.SEQ] = entry.seq
        if entry.root and state.context.parent_run_id:
            entry.stamps[semconv.RUN_PARENT_ID] = state.context.parent_run_id
        if first:
            remember(state)

    def _run_of(
        self, found: Any, parent: trace.Span, context: Context, where: SpanContext
    ) -> tuple[RunState | None, bool]:
        """The run of a span that starts, and whether it is that run's root."""
        bound = run_of(context)
        around = self._inherited_run(parent) or bound
        if found.get(semconv.OPERATION_NAME) != semconv.OP_INVOKE_AGENT:
            return around, False
        if bound is not None and bound.pending:
            bound.pending = False
            outer = self._inherited_run(parent)
            if outer is not None and outer is not bound and outer.context.run_id != bound.context.parent_run_id:
                # opened inside a foreign agent, which only the parent span knows
                bound.context = replace(bound.context, parent_run_id=outer.context.run_id)
            self._add_child(outer or run_of(otel_context.get_current()), bound)
            return bound, True
        name = str(found.get(semconv.AGENT_NAME, ""))
        told = run_in(where)  # our sampler has given it an id already, to tell it further
        if told is None or told == run_in(parent.get_span_context()):
            told = RunContext(self._effects.ids.run_id(), "")
        inner = RunState(replace(told, agent_name=name, parent_run_id=around.context.run_id if around else ""))
        self._add_child(around, inner)
        return inner, True

    def _inherited_run(self, parent: trace.Span) -> RunState | None:
        where = parent.get_span_context()
        if not where.is_valid:
            return None
        found = self._runs.get(parent)
        if found is None:
            entry = self._open.get((where.trace_id, where.span_id))
            found = None if entry is None else entry.state
        if found is None:
            elsewhere = run_in(where)
            found = None if elsewhere is None else known_run(elsewhere)
        return found

    def _add_child(self, outer: RunState | None, inner: RunState) -> None:
        if outer is not None and outer is not inner and outer.context.run_id == inner.context.parent_run_id:
            with self._lock:
                outer.children.append(inner.context.run_id)

    def _enter_end(self, span: ReadableSpan, where: SpanContext, entry: _Open | None) -> RunState | None:
        """Returns the run that now needs a manifest span."""
        if entry is None or entry.state is None:
            return None
        state = entry.state
        with self._lock:
            if not entry.sealed:
                end, status = nanoseconds(span.end_time), span.status.status_code.value
                state.end(entry.seq, where.span_id, nanoseconds(span.start_time), end, status)
            if entry.root:
                state.close()
            due = state.closed and state.uncovered and (not state.open or (entry.root and not entry.sealed))
            if not due:
                state.free()
        return state if due else None

    def _manifest_span(self, state: RunState, parent: SpanContext) -> None:
        """A span of our own that carries the manifest and counts itself."""
        context = trace.set_span_in_context(trace.NonRecordingSpan(parent), with_run(state, Context()))
        tracer = self._provider.get_tracer(semconv.SCOPE_NAME, __version__, semconv.SCHEMA_URL)
        now = self._effects.clock.time_ns()
        span = tracer.start_span(semconv.SPAN_MANIFEST, context, start_time=now)
        span.end(self.close_root(span, now))

    def _fault(self, doing: str, error: Exception) -> None:
        self.complaints.say(doing, "%s failed (%s: %s); the application goes on", doing, type(error).__name__, error)
