"""One file of spans that a process appends to, or that it adopted and sends from. May import span_file.

``….pos`` beside a segment of a spool says in decimal how many of its bytes were delivered.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from spanseal.telemetry.export.span_file import CLOEXEC, write_all


class Source(Protocol):
    """What the sender sends from: whole lines, oldest first. ``own`` if this process writes it."""

    own: bool
    size: int
    sent: int

    def lines(self, most: int) -> list[bytes]:
        """Whole lines behind ``sent``, together at most ``most`` bytes but at least one line (if one is whole)."""
        ...

    def advance(self, count: int) -> None:
        """``count`` bytes more are delivered or set aside."""
        ...

    def tail(self) -> bytes:
        """What lies behind the last whole line."""
        ...

    def remove(self) -> None:
        """Everything is delivered or set aside."""
        ...

    def release(self) -> None:
        """Leave it to whoever comes later; raises nothing."""
        ...


@dataclass(slots=True, eq=False)
class Segment:
    """A file: ``size`` bytes written so far, ``sent`` delivered or set aside. ``gone`` is told when it is left."""

    path: Path
    fd: int
    size: int
    sent: int = 0
    own: bool = False
    gone: Callable[[bool], None] | None = None

    def append(self, line: bytes) -> None:
        """Write a line; after a failure the torn line is cut off again, so that the next one starts clean."""
        try:
            write_all(self.fd, line)
        except OSError:
            os.ftruncate(self.fd, self.size)
            raise
        self.size += len(line)

    def lines(self, most: int) -> list[bytes]:
        """Whole lines from ``sent`` on, together at most ``most`` bytes but at least one line (if one is whole)."""
        wanted = most
        while True:
            chunk = os.pread(self.fd, wanted, self.sent)
            end = chunk.rfind(b"\n") + 1
            if end or len(chunk) < wanted:
                return chunk[:end].splitlines(keepends=True) if end else []
            wanted *= 2

    def tail(self) -> bytes:
        """What lies behind the last whole line."""
        return os.pread(self.fd, max(0, self.size - self.sent), self.sent)

    def advance(self, count: int) -> None:
        """``count`` bytes more are delivered; remembered for whoever may adopt the segment."""
        self.sent += count
        fd = os.open(position_path(self.path), os.O_WRONLY | os.O_CREAT | CLOEXEC, 0o600)
        try:
            os.pwrite(fd, f"{self.sent:020d}\n".encode(), 0)
        finally:
            os.close(fd)

    def remove(self) -> None:
        """Everything is delivered or set aside: the segment goes."""
        self.path.unlink(missing_ok=True)
        position_path(self.path).unlink(missing_ok=True)
        self._left(removed=True)

    def release(self) -> None:
        """Leave the segment for adoption by a later process."""
        self._left(removed=False)

    def _left(self, *, removed: bool) -> None:
        os.close(self.fd)
        if self.gone is not None:
            self.gone(removed)


def create(path: Path) -> Segment:
    """A new file of this process. Raises OSError."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_EXCL | CLOEXEC
    return Segment(path, os.open(path, flags, 0o600), 0, own=True)


def position_path(path: Path) -> Path:
    """Where the delivered part of a segment is noted."""
    return path.with_suffix(".pos")
