"""Where ended spans go, and how trouble on the way is told: once in the log, counted always. Imports none of ours."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Protocol, TypeAlias

from opentelemetry.sdk.trace import ReadableSpan

Stamps: TypeAlias = Mapping[str, str | int | bool]


def nanoseconds(time: float | None) -> int:
    """A span's time as ledger and export write it: the SDK takes whatever number it is given.

    >>> nanoseconds(1.5e9), nanoseconds(None), nanoseconds(-1)
    (1500000000, 0, 0)
    """
    return min(max(int(time or 0), 0), 2**64 - 1)


class Sink(Protocol):
    """One way out. ``emit`` returns only when the span is safe from a crash of this process."""

    def emit(self, span: ReadableSpan, stamps: Stamps) -> None:
        """Take an ended span; ``stamps`` are attributes that must be on it whatever the SDK dropped."""
        ...

    def flush(self, timeout: float) -> bool:
        """True if every span emitted so far has arrived, and none was lost since the last flush."""
        ...

    def after_fork(self) -> None:
        """Called in the child: leave the parent's files and connections alone and begin new ones."""
        ...

    def close(self, timeout: float) -> None:
        """Deliver what can be delivered in ``timeout`` seconds; what cannot stays where it is safe."""
        ...


class Complaints:
    """Says each kind of trouble once, on the logger ``spanseal`` (on stderr if nobody set up logging).

    >>> complaints = Complaints()
    >>> complaints.count("lost", 2)
    >>> complaints.counts["lost"]
    2
    """

    def __init__(self) -> None:
        self._said: set[str] = set()
        self.counts: dict[str, int] = {}
        self._log = logging.getLogger("spanseal")

    def count(self, kind: str, number: int = 1) -> None:
        """Add to a count without a word."""
        self.counts[kind] = self.counts.get(kind, 0) + number

    def say(self, kind: str, message: str, *args: object) -> None:
        """Count one of this kind, and log it if it is the first since :meth:`over`."""
        self.count(kind)
        if kind not in self._said:
            self._said.add(kind)
            self._log.warning(message, *args)

    def over(self, kind: str, message: str, *args: object) -> None:
        """The trouble is over: say so if it had been told, and tell the next one again."""
        if kind in self._said:
            self._said.discard(kind)
            self._log.warning(message, *args)
