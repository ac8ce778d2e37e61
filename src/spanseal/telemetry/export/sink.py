"""Where ended spans go, and how trouble on the way is told: once in the log, counted always. Imports none of ours."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from opentelemetry.sdk.trace import ReadableSpan

Stamps: TypeAlias = Mapping[str, str | int | bool]


def nanoseconds(time: float | None) -> int:
    """A span's time as ledger and export write it: the SDK takes whatever number it is given.

    >>> nanoseconds(1.5e9), nanoseconds(None), nanoseconds(-1)
    (1500000000, 0, 0)
    """
    return min(max(int(time or 0), 0), 2**64 - 1)


@dataclass(frozen=True, slots=True)
class Health:
    """How an export is doing.

    ``ok`` is False while the disk refuses, or (``spool_full = fail``) since the bound was first reached.
    ``backlog_bytes`` are written and not delivered, ``lost`` spans were kept nowhere, ``refused`` ones are set aside in
    ``rejected/`` because the server does not want them; ``last_error`` is for people, empty if there was none.

    >>> Health(lost=1) + Health(ok=False, backlog_bytes=7)
    Health(ok=False, backlog_bytes=7, lost=1, refused=0, last_error='')
    """

    ok: bool = True
    backlog_bytes: int = 0
    lost: int = 0
    refused: int = 0
    last_error: str = ""

    def __add__(self, other: Health) -> Health:
        return Health(
            self.ok and other.ok,
            self.backlog_bytes + other.backlog_bytes,
            self.lost + other.lost,
            self.refused + other.refused,
            other.last_error or self.last_error,
        )


class Sink(Protocol):
    """One way out. ``emit`` returns only when the span is as safe as ``durability`` promises."""

    def started(self, span: ReadableSpan, stamps: Stamps) -> None:
        """A span has started: remember what is known, so that it shows as open if it never ends."""
        ...

    def emit(self, span: ReadableSpan, stamps: Stamps) -> None:
        """Take an ended span; ``stamps`` are attributes that must be on it whatever the SDK dropped."""
        ...

    def flush(self, timeout: float) -> bool:
        """True if every span emitted so far has arrived, and none was lost since the last flush."""
        ...

    def health(self) -> Health:
        """How it is doing now; cheap."""
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
        self.last = ""
        self._log = logging.getLogger("spanseal")

    def count(self, kind: str, number: int = 1) -> None:
        """Add to a count without a word."""
        self.counts[kind] = self.counts.get(kind, 0) + number

    def say(self, kind: str, message: str, *args: object) -> None:
        """Count one of this kind, and log it if it is the first since :meth:`over`."""
        self.count(kind)
        self.last = message % args if args else message
        if kind not in self._said:
            self._said.add(kind)
            self._log.warning(message, *args)

    def over(self, kind: str, message: str, *args: object) -> None:
        """The trouble is over: say so if it had been told, and tell the next one again."""
        if kind in self._said:
            self._said.discard(kind)
            self._log.warning(message, *args)
