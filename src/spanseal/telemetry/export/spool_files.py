"""Spool files of dead processes, taken over to be sent, and what a server refuses, set aside. May import its siblings.

Files of a stem are owned by whoever holds the lock of its ``.started-<stem>``, see ``intents``. A file of spans without
one (put there by hand, say out of ``rejected/``) is owned by whoever locks it itself.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from spanseal.telemetry.export.orphans import Orphan, orphans
from spanseal.telemetry.export.segment import Segment, position_path
from spanseal.telemetry.export.span_file import CLOEXEC, lease_path, stem_of, write_all

AT_ONCE: Final = 32
"""So many stems are adopted at a time: each takes open files."""


@dataclass(slots=True)
class _Adopted:
    """Counts the segments of an orphan that are still in work; the last one takes its lock along."""

    orphan: Orphan
    left: int
    kept: bool = False

    def gone(self, removed: bool) -> None:
        self.kept |= not removed
        self.left -= 1
        if self.left == 0:
            self.orphan.release() if self.kept else self.orphan.remove()


def adopt(folder: Path) -> tuple[list[Segment], bool]:
    """Segments of dead processes, locked, with what they never ended; and whether there may be more of them."""
    found: list[Segment] = []
    taken = 0
    for orphan in islice(orphans(folder), AT_ONCE):
        taken += 1
        files = orphan.files
        owner = _Adopted(orphan, len(files))
        for path in files:
            segment = _open(path)
            if segment is None:
                owner.gone(False)
            else:
                segment.gone = owner.gone
                found.append(segment)
        if not files:
            orphan.remove()
    for path in sorted(folder.glob("*.jsonl")):
        stem = stem_of(path.name)
        if stem is None or not lease_path(folder, stem).exists():
            segment = _open(path, lock=True)
            found += [segment] if segment else []
    _sweep(folder)
    return found, taken == AT_ONCE


def _sweep(folder: Path) -> None:
    """Notes of positions in segments that are gone: whoever removed the segment died before it removed the note."""
    for note in folder.glob("*.pos"):
        if not note.with_suffix(".jsonl").exists():
            with contextlib.suppress(OSError):
                note.unlink(missing_ok=True)


def set_aside(folder: Path, lines: list[bytes], most: int) -> Path:
    """Keep lines that the server refuses in ``rejected/``, for people to look at, ``most`` bytes in all.

    Raises OSError. Files that are moved from there back into ``folder`` are sent again.
    """
    aside = folder / "rejected"
    aside.mkdir(parents=True, exist_ok=True)
    if sum(entry.stat().st_size for entry in os.scandir(aside)) + sum(map(len, lines)) > most:
        raise OSError(errno.EDQUOT, "it holds a quarter of spool_max_bytes")
    path = aside / f"rejected-{os.getpid()}.jsonl"
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | CLOEXEC, 0o600)
    try:
        write_all(fd, b"".join(lines))
    finally:
        os.close(fd)
    return path


def bytes_in(folder: Path) -> int:
    """What the files of spans in a spool take, those set aside included; 0 if it cannot be read."""
    total = 0
    for place in (folder, folder / "rejected"):
        try:
            entries = [entry.path for entry in os.scandir(place) if entry.name.endswith(".jsonl")]
            total += sum(Path(path).lstat().st_size for path in entries)  # an entry's own stat() keeps the interpreter
        except OSError:
            continue
    return total


def _open(path: Path, *, lock: bool = False) -> Segment | None:
    try:
        fd = os.open(path, os.O_RDWR | CLOEXEC)
    except OSError:
        return None
    try:
        if lock:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        state = os.fstat(fd)
        if state.st_nlink:  # else delivered and removed while we opened it
            return Segment(path, fd, state.st_size, min(_read_position(path), state.st_size))
    except OSError:
        pass
    os.close(fd)
    return None


def _read_position(path: Path) -> int:
    try:
        return max(0, int(position_path(path).read_text(encoding="ascii")))
    except (OSError, ValueError):
        return 0
