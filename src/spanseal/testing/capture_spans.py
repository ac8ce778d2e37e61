"""Spans in memory for tests: a provider of its own with the ledger on, nothing global, as often as one likes.

May import telemetry.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Sampler

from spanseal.effects import Effects
from spanseal.genai import semconv
from spanseal.settings import DEFAULT_MAX_VALUE_BYTES
from spanseal.telemetry.active import Active, Capture, History, activate
from spanseal.telemetry.export.encode import LineEncoder
from spanseal.telemetry.export.sink import Health, Stamps
from spanseal.telemetry.ledger.processor import LedgerProcessor
from spanseal.telemetry.providers import RecordAll


class Captured:
    """The spans that ended so far, in the order of their ends. ``provider`` gives tracers of other scopes.

    It is a sink of the ledger processor too, so what it holds is what an export would hold.
    """

    def __init__(self, provider: TracerProvider) -> None:
        self.provider = provider
        self._lock = threading.RLock()
        self._ended: list[tuple[ReadableSpan, dict[str, str | int | bool]]] = []
        self._encoder = LineEncoder()

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        """The ended spans."""
        return tuple(span for span, _ in self._ended)

    def named(self, name: str) -> tuple[ReadableSpan, ...]:
        """The ended spans of this name, or whose name begins with it and a space (``chat`` finds ``chat gpt-x``)."""
        return tuple(span for span in self.spans if span.name == name or span.name.startswith(name + " "))

    def one(self, name: str) -> ReadableSpan:
        """The only span of this name; AssertionError if there are none or several."""
        found = self.named(name)
        if len(found) != 1:
            raise AssertionError(f"{len(found)} spans named {name!r} among {[span.name for span in self.spans]}")
        return found[0]

    def lines(self) -> list[bytes]:
        """Each span as the line that an export would write."""
        return [self._encoder.line(span, stamps) for span, stamps in self._ended]

    def emit(self, span: ReadableSpan, stamps: Stamps) -> None:
        """Keep a span."""
        with self._lock:
            self._ended.append((span, dict(stamps)))

    def started(self, span: ReadableSpan, stamps: Stamps) -> None:
        """Only ended spans are kept."""

    def health(self) -> Health:
        """Nothing can go wrong."""
        return Health()

    def flush(self, timeout: float) -> bool:
        """Nothing to wait for."""
        del timeout
        return True

    def after_fork(self) -> None:
        """The child keeps its own copy."""

    def close(self, timeout: float) -> None:
        """Nothing to close."""


@contextmanager
def capture_spans(
    *,
    capture: Capture = "full",
    history: History = "full",
    effects: Effects | None = None,
    sampler: Sampler = ALWAYS_ON,
    max_value_bytes: int = DEFAULT_MAX_VALUE_BYTES,
    limits: SpanLimits | None = None,
) -> Generator[Captured]:
    """Everything that spanseal traces inside the block, in this whole process, goes into the result.

    Nests; what was configured before is active again afterwards.

    >>> from spanseal.telemetry.run_span import run_span
    >>> with capture_spans() as captured, run_span("calculator"):
    ...     pass
    >>> [span.name for span in captured.spans]
    ['invoke_agent calculator']
    """
    effects = effects or Effects()
    resource = Resource({semconv.SERVICE_NAME: "test"})
    limits = limits or SpanLimits(max_span_attributes=4096, max_events=10_000)
    provider = TracerProvider(RecordAll(sampler), resource, shutdown_on_exit=False, span_limits=limits)
    captured = Captured(provider)
    ledger = LedgerProcessor(provider, [captured], effects)
    provider.add_span_processor(ledger)
    now = Active(capture, effects, max_value_bytes, provider, ledger, configured=True, history=history)
    before = activate(now)
    try:
        yield captured
    finally:
        activate(before)
