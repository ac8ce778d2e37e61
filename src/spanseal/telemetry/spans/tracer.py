"""The tracer that every part of spanseal uses. May import active and limits."""

from __future__ import annotations

from opentelemetry import trace
from opentelemetry.trace import Tracer, TracerProvider

from spanseal import __version__
from spanseal.genai import semconv
from spanseal.telemetry.active import active
from spanseal.telemetry.spans.limits import watched


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
