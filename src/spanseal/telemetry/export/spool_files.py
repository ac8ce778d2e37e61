"""The files of a spool: segments that their process holds a lock on, and those of dead processes. May import span_file.

A segment ``spans-<utc>-<pid>-<n>.jsonl`` holds lines in order of writing; ``….pos`` beside it says in decimal how many
of its bytes were delivered. Whoever works on a segment holds ``flock`` on it, which the system releases when a process
dies however it dies: a segment whose lock is free is an orphan, and is adopted. A file is locked before it gets its
name, and a name is removed while the lock is held, so no two processes ever send from one file.
"""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path

from spanseal.telemetry.export.span_file import new_path, write_all


@dataclass(slots=True)
class Segment:
    """A locked segment: ``size`` bytes written so far, ``sent`` delivered or set aside."""

    path: Path
    fd: int
    size: int
    sent: int = 0
    own: bool = False

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
        fd = os.open(_position(self.path), os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            os.pwrite(fd, f"{self.sent:020d}\n".encode(), 0)
        finally:
            os.close(fd)

    def remove(self) -> None:
        """Everything is delivered or set aside: the segment goes."""
        self.path.unlink(missing_ok=True)
        _position(self.path).unlink(missing_ok=True)
        os.close(self.fd)

    def release(self) -> None:
        """Leave the segment for adoption by a later process."""
        os.close(self.fd)


def create(folder: Path) -> Segment:
    """A new segment of this process, locked before it has its name. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = new_path(folder)
    hidden = path.with_suffix(".new")
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0)
    fd = os.open(hidden, flags, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        hidden.rename(path)
    except OSError:
        os.close(fd)
        raise
    return Segment(path, fd, 0, own=True)


def adopt(folder: Path) -> list[Segment]:
    """Lock every segment whose process is gone; segments in work are left alone."""
    found: list[Segment] = []
    for path in sorted(folder.glob("spans-*.jsonl")):
        try:
            fd = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
        except OSError:
            continue
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            state = os.fstat(fd)
            if state.st_nlink == 0:  # delivered and removed while we opened it
                raise OSError
        except OSError:
            os.close(fd)
            continue
        found.append(Segment(path, fd, state.st_size, min(_read_position(path), state.st_size)))
    return found


def set_aside(folder: Path, lines: list[bytes]) -> Path:
    """Keep lines that the server refuses in ``rejected/``, for people to look at. Raises OSError."""
    aside = folder / "rejected"
    aside.mkdir(parents=True, exist_ok=True)
    path = aside / f"rejected-{os.getpid()}.jsonl"
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        write_all(fd, b"".join(lines))
    finally:
        os.close(fd)
    return path


def _position(path: Path) -> Path:
    return path.with_suffix(".pos")


def _read_position(path: Path) -> int:
    try:
        return max(0, int(_position(path).read_text(encoding="ascii")))
    except (OSError, ValueError):
        return 0
