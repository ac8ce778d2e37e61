"""What could be kept nowhere, until it can be told: one span ``spanseal.gap`` for each time of loss.

The numbers of a run's spans show each gap in the run anyway; this span says how many, when and why, also for spans of
no run, and stands where the first of them would have. It is written as soon as there is room, at the latest at a normal
end of the process. May import the sink and genai's names.
"""

from __future__ import annotations

import secrets
import threading
import time
from dataclasses import dataclass, field

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from spanseal import __version__
from spanseal.genai import semconv
from spanseal.telemetry.export.sink import Stamps

_MOST_RUNS = 100


@dataclass(slots=True)
class Losses:
    """Counts spans that were lost, in any thread; ``total`` is for good, the rest until a gap has told it."""

    total: int = 0
    _count: int = 0
    _told: int = 0
    _since: int = 0
    _until: int = 0
    _reasons: dict[str, None] = field(default_factory=dict[str, None])
    _runs: dict[str, None] = field(default_factory=dict[str, None])
    _first: ReadableSpan | None = None
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def pending(self) -> bool:
        """Whether there is something to tell."""
        return self._count > 0

    def add(self, span: ReadableSpan, stamps: Stamps, reason: str) -> None:
        """This span is lost, for a reason of a few words."""
        with self._lock:
            self.total += 1
            self._count += 1
            self._until = time.time_ns()
            self._since = self._since or self._until
            self._first = self._first or span
            self._reasons[reason] = None
            run = stamps.get(semconv.RUN_ID)
            if isinstance(run, str) and len(self._runs) < _MOST_RUNS:
                self._runs[run] = None

    def gap(self) -> ReadableSpan:
        """What was lost since the last time, as a span in the place of the first one that was.

        :meth:`forget` it once it is written.
        """
        self._told = self._count
        first = self._first
        where = first.get_span_context() if first is not None else None
        context = trace.SpanContext(
            where.trace_id if where is not None else secrets.randbits(128) or 1, secrets.randbits(64) or 1,
            is_remote=False, trace_flags=trace.TraceFlags(trace.TraceFlags.SAMPLED),
        )  # fmt: skip
        return ReadableSpan(
            semconv.SPAN_GAP,
            context,
            first.parent if first is not None else None,
            first.resource if first is not None else None,
            attributes={
                semconv.GAP_SPANS: self._told,
                semconv.GAP_REASONS: tuple(self._reasons),
                semconv.GAP_RUN_IDS: tuple(self._runs),
            },
            kind=trace.SpanKind.INTERNAL,
            status=trace.Status(trace.StatusCode.ERROR, f"lost spans: {self._told}"),
            start_time=self._since,
            end_time=self._until,
            instrumentation_scope=InstrumentationScope(semconv.SCOPE_NAME, __version__, semconv.SCHEMA_URL),
        )

    def forget(self) -> None:
        """The gap is written; what was lost meanwhile is for the next one."""
        with self._lock:
            self._count -= self._told
            if self._count == 0:
                self._since = self._until = 0
                self._reasons, self._runs, self._first = {}, {}, None
