"""The tracer that every part of spanseal uses, and how a span is marked as failed. May import active and content."""

from __future__ import annotations

from opentelemetry import trace
from opentelemetry.trace import Span, Status, StatusCode, Tracer, TracerProvider

from spanseal import __version__
from spanseal.genai import semconv
from spanseal.telemetry.active import active
from spanseal.telemetry.content.plain import plain_text
from spanseal.telemetry.content.values import bounded
from spanseal.telemetry.span_limits import watched


class _Kept:
    """The tracer asked for last: the SDK takes longer to find one than to start a span."""

    pair: tuple[TracerProvider, Tracer] | None = None


def tracer() -> Tracer:
    """The tracer of scope ``spanseal``: of the configured provider, else of OpenTelemetry's global one.

    >>> from spanseal.testing.capture_spans import capture_spans
    >>> with capture_spans() as captured:
    ...     tracer().start_span("step").end()
    >>> captured.one("step").name
    'step'
    """
    provider = active().provider or trace.get_tracer_provider()
    kept = _Kept.pair
    if kept is None or kept[0] is not provider:
        found = provider.get_tracer(semconv.SCOPE_NAME, __version__, semconv.SCHEMA_URL)
        kept = _Kept.pair = (provider, watched(provider, found))
    return kept[1]


def fail(span: Span, error_type: str, message: str = "") -> None:
    """Mark ``span`` as failed: status ERROR and ``error.type``; never raises.

    ``error_type`` is a low-cardinality word or exception class name. ``message`` becomes the status description,
    with keys and tokens masked, and is left out when capture is off, since error texts quote content.
    """
    try:
        span.set_attribute(semconv.ERROR_TYPE, error_type or semconv.ERROR_OTHER)
        full = message and active().capture == "full"
        described = bounded(span, plain_text(message)) if full else None
        span.set_status(Status(StatusCode.ERROR, described))
    except Exception:  # noqa: BLE001 - telemetry raises nothing into the application (DESIGN 10.4)
        return
