"""What the sealer counts, and the text in which Prometheus reads it. May import the standard library only."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

_HELP: Final = {
    "requests": ("counter", "Bodies received on /v1/traces."),
    "received_bytes": ("counter", "Bytes of bodies received on /v1/traces."),
    "received_spans": ("counter", "Spans that arrived in readable input, resent ones included."),
    "sealed_spans": ("counter", "Spans written into the log."),
    "duplicate_spans": ("counter", "Spans that were in the log already and were counted, not written again."),
    "unparsable": ("counter", "Inputs sealed as raw bytes because they are not OTLP JSON."),
    "refused": ("counter", "Bodies answered 503: not durable, the sender keeps them."),
    "unauthorized": ("counter", "Requests without the bearer token."),
    "gaps": ("counter", "Export files that were cut short after they had been read."),
    "unread_files": ("gauge", "Export files that cannot be read."),
    "torn_lines": ("gauge", "Last lines of export files that wait for their end."),
    "size": ("gauge", "Leaves in the log."),
    "last_seal_age_seconds": ("gauge", "Seconds since something was sealed by this process; -1 before the first."),
    "stopped": ("gauge", "1 when the store may not be written any more."),
}


class Counters:
    """Thread-safe numbers of one sealer process; names as in the Prometheus text without prefix and ``_total``.

    >>> counters = Counters(monotonic=lambda: 0.0)
    >>> counters.sealed(spans=2, duplicates=1, unparsable=0, size=7)
    >>> "spanseal_sealer_received_spans_total 3" in counters.text()
    True
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._numbers: dict[str, float] = dict.fromkeys(_HELP, 0)
        self._last_seal: float | None = None

    def __getitem__(self, name: str) -> float:
        return self._numbers[name]

    def add(self, name: str, count: float = 1) -> None:
        """Count on."""
        with self._lock:
            self._numbers[name] += count

    def put(self, name: str, value: float) -> None:
        """Set a gauge."""
        with self._lock:
            self._numbers[name] = value

    def sealed(self, spans: int, duplicates: int, unparsable: int, size: int) -> None:
        """Count one seal; ``size`` is the log's size after it."""
        with self._lock:
            self._numbers["received_spans"] += spans + duplicates
            self._numbers["sealed_spans"] += spans
            self._numbers["duplicate_spans"] += duplicates
            self._numbers["unparsable"] += unparsable
            self._numbers["size"] = size
            self._last_seal = self._monotonic()

    def text(self) -> str:
        """All numbers in Prometheus' text format 0.0.4."""
        with self._lock:
            age = -1.0 if self._last_seal is None else self._monotonic() - self._last_seal
            numbers = {**self._numbers, "last_seal_age_seconds": round(age, 3)}
        return "".join(_lines(numbers))


def _lines(numbers: dict[str, float]) -> Iterator[str]:
    for name, (kind, meaning) in _HELP.items():
        full = f"spanseal_sealer_{name}" + ("_total" if kind == "counter" else "")
        yield f"# HELP {full} {meaning}\n# TYPE {full} {kind}\n{full} {_plain(numbers[name])}\n"


def _plain(number: float) -> str:
    return str(int(number)) if number == int(number) else repr(number)
