"""One way to open an inner span of a run and to put events on it.

May import active, content, signals and the siblings.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind
from opentelemetry.util.types import AttributeValue

from spanseal.effects import Clock
from spanseal.errors import text_of
from spanseal.telemetry.active import active
from spanseal.telemetry.content.plain import plain_text
from spanseal.telemetry.content.values import bounded
from spanseal.telemetry.signals.signals import ended_unseen
from spanseal.telemetry.spans.failure import fail
from spanseal.telemetry.spans.tracer import tracer


@contextmanager
def open_span(name: str) -> Generator[Span]:
    """An INTERNAL span that is current inside the block, timed by the active clock.

    An exception marks it ERROR with the exception's type (its text only with ``capture="full"``) and passes
    unchanged, KeyboardInterrupt and CancelledError too. The SDK's own exception event is not used: it records texts
    and stack traces whatever the capture mode. A provider that raises costs the span, never the block.

    >>> from spanseal.testing.capture_spans import capture_spans
    >>> with capture_spans() as captured, open_span("step"):
    ...     pass
    >>> captured.one("step").kind.name
    'INTERNAL'
    """
    span, clock = _started(name)
    token = otel_context.attach(trace.set_span_in_context(span))
    try:
        yield span
    except BaseException as error:
        fail(span, type(error).__name__, text_of(error))
        raise
    finally:
        otel_context.detach(token)
        _end(span, clock)


def _started(name: str) -> tuple[Span, Clock | None]:
    try:
        clock = active().effects.clock
        return tracer().start_span(name, kind=SpanKind.INTERNAL, start_time=clock.time_ns()), clock
    except Exception:  # noqa: BLE001 - telemetry raises nothing into the application (DESIGN 10.4)
        return trace.INVALID_SPAN, None


def _end(span: Span, clock: Clock | None) -> None:
    try:
        span.end(None if clock is None else clock.time_ns())
        ended_unseen(span)
    except Exception:  # noqa: BLE001 - some processor's fault, likewise
        return


def tell(span: Span, attributes: Mapping[str, AttributeValue]) -> None:
    """Set attributes that are no content, whatever the capture mode; never raises, whoever made the span."""
    for key, value in attributes.items():
        try:
            span.set_attribute(key, value)
        except Exception:  # noqa: BLE001 - telemetry raises nothing into the application (DESIGN 10.4)
            return


def add_event(span: Span, name: str, clear: Mapping[str, AttributeValue], content: Mapping[str, str]) -> None:
    """An event with ``clear`` attributes, and those of ``content`` that are not empty when capture is ``full``."""
    try:
        attributes = dict(clear)
        if active().capture == "full":
            attributes |= {key: bounded(span, plain_text(text)) for key, text in content.items() if text}
        span.add_event(name, attributes, timestamp=active().effects.clock.time_ns())
    except Exception:  # noqa: BLE001 - telemetry raises nothing into the application (DESIGN 10.4)
        return
