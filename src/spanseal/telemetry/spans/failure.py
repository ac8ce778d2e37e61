"""How a span is marked as failed. May import active and content."""

from __future__ import annotations

from opentelemetry.trace import Span, Status, StatusCode

from spanseal.genai import semconv
from spanseal.telemetry.active import active
from spanseal.telemetry.content.plain import plain_text
from spanseal.telemetry.content.values import bounded


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
