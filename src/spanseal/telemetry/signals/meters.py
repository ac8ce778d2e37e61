"""The same measurements through the application's own meter provider. May import instruments and numbers.

An exemplar holds the span that was current when a value was recorded: the ended span is made current for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.context import Context
from opentelemetry.metrics import Counter, Histogram
from opentelemetry.trace import NonRecordingSpan, SpanContext

from spanseal import __version__
from spanseal.genai import semconv
from spanseal.telemetry.signals.instruments import Instrument
from spanseal.telemetry.signals.numbers import Labels


class Meters:
    """The instruments of one meter provider, each made when it is first needed."""

    def __init__(self, provider: Any) -> None:
        self.provider = provider
        self._meter = provider.get_meter(semconv.SCOPE_NAME, __version__, semconv.SCHEMA_URL)
        self._made: dict[Instrument, Counter | Histogram] = {}

    def add(
        self, measured: Iterable[tuple[Instrument, float]], labels: Labels, where: SpanContext | None
    ) -> None:
        """Record measurements that share their labels."""
        context = Context() if where is None else trace.set_span_in_context(NonRecordingSpan(where), Context())
        for instrument, value in measured:
            made = self._made.get(instrument) or self._make(instrument)
            if isinstance(made, Counter):
                made.add(value, labels, context)
            else:
                made.record(value, labels, context)

    def _make(self, one: Instrument) -> Counter | Histogram:
        made: Counter | Histogram
        if one.kind == "counter":
            made = self._meter.create_counter(one.name, one.unit, one.about)
        else:
            made = self._meter.create_histogram(
                one.name, one.unit, one.about, explicit_bucket_boundaries_advisory=one.bounds
            )
        self._made[one] = made
        return made


def application_provider() -> Any:
    """The meter provider that the application has set, None if it has set none (it may do so later)."""
    provider = metrics.get_meter_provider()
    # the API's stand-in until somebody sets one has no public name
    return None if type(provider).__name__ in ("_ProxyMeterProvider", "NoOpMeterProvider") else provider
