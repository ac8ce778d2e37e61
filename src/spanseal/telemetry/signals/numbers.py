"""Sums and histograms of this process, for when the application keeps none itself. May import instruments.

The SDK's meter takes some ten microseconds a measurement, and a model call makes eight: more than all the rest of
recording it. Here a call costs a few dictionary lookups. What is collected are the SDK's own values for the official
encoder: totals since the start (or the fork) of the process, or, where deltas are asked for, what came since the last
delivery.
"""

from __future__ import annotations

import bisect
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from opentelemetry.sdk.metrics import Exemplar
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Histogram,
    HistogramDataPoint,
    Metric,
    NumberDataPoint,
    Sum,
)
from opentelemetry.trace import SpanContext

from spanseal.effects import Clock
from spanseal.telemetry.signals.instruments import Instrument

Labels: TypeAlias = Mapping[str, str | int]
_MOST_SERIES: Final = 2000  # of one instrument; the SDK's own limit
_OVERFLOW: Final[Labels] = {"otel.metric.overflow": "true"}
_Example: TypeAlias = tuple[float, int, int, int]  # value, time, span id, trace id
_Key: TypeAlias = tuple[tuple[str, str | int], ...]
_Series: TypeAlias = dict[Instrument, dict[_Key, "_Point"]]


@dataclass(slots=True)
class _Point:
    """One series. ``counts`` has one place more than there are bounds; ``examples`` one example per bucket."""

    labels: Labels
    counts: list[int]
    count: int = 0
    total: float = 0
    least: float = float("inf")
    most: float = float("-inf")
    examples: dict[int, _Example] = field(default_factory=dict[int, _Example])

    def take_in(self, other: _Point) -> None:
        """Add what another point of the same series has counted."""
        self.counts = [one + more for one, more in zip(self.counts, other.counts, strict=True)]
        self.count, self.total = self.count + other.count, self.total + other.total
        self.least, self.most = min(self.least, other.least), max(self.most, other.most)
        self.examples = other.examples | self.examples


_NO_POINTS: Final[Mapping[_Key, _Point]] = {}


class Numbers:
    """See the module; safe in any thread and in a finaliser.

    >>> from spanseal.effects import Effects
    >>> from spanseal.telemetry.signals.instruments import AGENT_TOOLS
    >>> numbers = Numbers(Effects().clock)
    >>> numbers.add([(AGENT_TOOLS, 3)], {"gen_ai.agent.name": "clerk"}, None)
    >>> [metric.name for metric in numbers.collect()]
    ['gen_ai.invoke_agent.tool_calls']
    """

    def __init__(self, clock: Clock, *, delta: bool = False) -> None:
        self._clock = clock
        self._delta = delta
        self._temporality = AggregationTemporality.DELTA if delta else AggregationTemporality.CUMULATIVE
        self._begin()

    def _begin(self) -> None:
        self._lock = threading.RLock()
        self._series: _Series = {}
        self._start = self._told_since = self._clock.time_ns()
        self._told: _Series = {}

    def after_fork(self) -> None:
        """The child counts from zero: its parent's numbers are the parent's to tell."""
        self._begin()

    def add(
        self, measured: Iterable[tuple[Instrument, float]], labels: Labels, where: SpanContext | None
    ) -> None:
        """Enter measurements that share their labels; ``where`` is the sampled span that they came from."""
        key = tuple(labels.items())
        told = where is not None and where.trace_flags.sampled
        now = self._clock.time_ns() if told else 0
        with self._lock:
            series = self._series
            for instrument, value in measured:
                point = series.get(instrument, _NO_POINTS).get(key) or self._point(instrument, key, labels)
                place = bisect.bisect_left(instrument.bounds, value)
                point.counts[place] += 1
                point.count += 1
                point.total += value
                if instrument.kind == "histogram":
                    point.least, point.most = min(point.least, value), max(point.most, value)
                    if where is not None and told:
                        point.examples[place] = (value, now, where.span_id, where.trace_id)

    def _point(self, instrument: Instrument, key: _Key, labels: Labels) -> _Point:
        series = self._series.setdefault(instrument, {})
        point = series.get(key)
        if point is None:
            if len(series) >= _MOST_SERIES:
                key, labels = tuple(_OVERFLOW.items()), _OVERFLOW
                if key in series:
                    return series[key]
            point = series[key] = _Point(dict(labels), [0] * (len(instrument.bounds) + 1))
        return point

    def collect(self) -> list[Metric]:
        """Everything so far as the SDK's values (``delta``: since the last time); examples are told once."""
        now = self._clock.time_ns()
        with self._lock:
            found = [self._metric(one, tuple(series.values()), now) for one, series in self._series.items()]
            if self._delta:
                self._told, self._told_since = self._series, self._start
                self._series, self._start = {}, now
        return found

    def take_back(self) -> None:
        """What was collected last was not delivered: it is told again with the next. Totals need none of this."""
        if not self._delta:
            return
        with self._lock:
            told, self._told = self._told, {}
            self._start = self._told_since
            for one, series in told.items():
                since = self._series.setdefault(one, {})
                for key, point in series.items():
                    if key in since:
                        since[key].take_in(point)
                    else:
                        since[key] = point

    def _metric(self, one: Instrument, points: tuple[_Point, ...], now: int) -> Metric:
        if one.kind == "counter":
            sums = [NumberDataPoint(point.labels, self._start, now, int(point.total)) for point in points]
            return Metric(one.name, one.about, one.unit, Sum(sums, self._temporality, is_monotonic=True))
        found: list[HistogramDataPoint] = []
        for point in points:
            examples, point.examples = point.examples, {}
            found.append(HistogramDataPoint(
                point.labels, self._start, now, point.count, point.total, tuple(point.counts), one.bounds, point.least,
                point.most, [Exemplar({}, *example) for example in examples.values()],
            ))
        return Metric(one.name, one.about, one.unit, Histogram(found, self._temporality))
