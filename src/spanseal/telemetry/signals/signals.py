"""What is told beside spans, in one place: what an ended span measures, and the events. May import metrics and events.

``active().signals`` is the process's own; before anything is configured, only the application's own providers hear.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import Span, SpanContext

from spanseal.telemetry.active import active
from spanseal.telemetry.guard import guarded
from spanseal.telemetry.signals.courier import Courier
from spanseal.telemetry.signals.events import Events
from spanseal.telemetry.signals.metrics import Metrics


class Signals:
    """``metrics`` or ``events`` None: off. ``courier`` is ours, None if everything goes to the application's own."""

    def __init__(
        self, metrics: Metrics | None = None, events: Events | None = None, courier: Courier | None = None
    ) -> None:
        self.metrics = metrics
        self.events = events
        self.courier = courier

    def ended(self, span: ReadableSpan) -> None:
        """Measure an ended span and emit its events; may raise what a provider of the application raises."""
        if self.metrics is not None:
            self.metrics.record(span)
            if self.courier is not None:
                self.courier.wake()
        if self.events is not None:
            self.events.ended(span)

    def chunks(self, span: SpanContext, attributes: Mapping[str, Any], gaps: list[float]) -> None:
        """The seconds between the chunks of a stream."""
        if self.metrics is not None:
            self.metrics.chunks(span, attributes, gaps)

    def keep(self, span: Span, key: str, text: str) -> None:
        """Content that belongs on the event of a span and not on the span; JSON text, redacted already."""
        if self.events is not None:
            self.events.keep(span, key, text)

    def emit(self, name: str, attributes: Mapping[str, Any], where: SpanContext) -> None:
        """An event of the span at ``where``."""
        if self.events is not None:
            self.events.emit(name, attributes, where)

    def flush(self, timeout: float) -> None:
        """Deliver what there is, in ``timeout`` seconds at most."""
        if self.courier is not None:
            self.courier.flush(timeout)

    def close(self, timeout: float) -> None:
        """Deliver a last time and stop."""
        if self.courier is not None:
            self.courier.close(timeout)


_by_default: Final = Signals(Metrics(), Events())


def ended(span: ReadableSpan) -> None:
    """To whatever is active: an ended span."""
    (active().signals or _by_default).ended(span)


@guarded
def ended_unseen(span: Span) -> None:
    """The same where no processor of ours sees spans end: an instrumented client in a program of others' set-up."""
    if active().ledger is None and isinstance(span, ReadableSpan):
        ended(span)


def chunks(span: SpanContext, attributes: Mapping[str, Any], gaps: list[float]) -> None:
    """To whatever is active: the seconds between the chunks of a stream that has ended."""
    (active().signals or _by_default).chunks(span, attributes, gaps)
