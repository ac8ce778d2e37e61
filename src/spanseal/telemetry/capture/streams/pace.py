"""How long each chunk of a stream came after the one before: a metric, told in handfuls. May import signals and guard.

A stream of 50,000 chunks costs the same per chunk as a short one, and keeps no more than a handful of numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from opentelemetry.trace import Span

from spanseal.telemetry.guard import guarded
from spanseal.telemetry.signals import signals

_HANDFUL: Final = 64


class Pace:
    """The chunks of one attempt, of the call whose ``span`` began with these ``attributes``."""

    __slots__ = ("_attributes", "_gaps", "_last", "_span")

    def __init__(self, span: Span, attributes: Mapping[str, Any]) -> None:
        self._span = span
        self._attributes = attributes
        self._gaps: list[float] = []
        self._last: float | None = None

    def chunk(self, now: float) -> None:
        """A chunk has come, at this time of a monotonic clock in seconds."""
        if self._last is not None:
            self._gaps.append(now - self._last)
            if len(self._gaps) >= _HANDFUL:
                self.tell()
        self._last = now

    @guarded
    def tell(self) -> None:
        """Tell what has not been told yet."""
        if self._gaps:
            gaps, self._gaps = self._gaps, []
            signals.chunks(self._span.get_span_context(), self._attributes, gaps)
