"""What dead processes have left: their files under lock, and the spans that they never ended. May import intents.

An orphan's spans that have a start and no end are written, marked ``spanseal.open``, into ``spans-<stem>-open.jsonl``;
their end is the last sign of life, the newest time of change among the orphan's files. Nothing that this depends on is
changed by adopting, so an adopter that dies is repeated by the next with the same bytes:

==========================================  ============================================================
the adopter dies                            the next one
==========================================  ============================================================
before the rename of ``….new``              does the same again
after it, before the starts are dropped     finds every id in a file of spans: none is open, drops them
after that                                  finds no starts
==========================================  ============================================================

The lock is on ``.started-<stem>``, and its name is removed while the lock is held: no two processes adopt one stem.
"""

from __future__ import annotations

import fcntl
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spanseal.telemetry.export.intents import RECORD_HEAD
from spanseal.telemetry.export.span_file import CLOEXEC, NEW, files_of, leases, unfinished, write_all
from spanseal.telemetry.export.start_line import opened

_CHUNK: Final = 1024 * 1024
_IDS: Final = re.compile(rb'"spans":\[\{"traceId":"([0-9a-f]{32})","spanId":"([0-9a-f]{16})"')


@dataclass(slots=True)
class Orphan:
    """The files of a dead process, locked. Its open spans have been written; ``files`` hold all its spans."""

    folder: Path
    stem: str
    lease: Path
    fd: int

    @property
    def files(self) -> list[Path]:
        """Its files of spans, oldest first."""
        return files_of(self.folder, self.stem)

    def remove(self) -> None:
        """Nothing is left to do for this stem."""
        self.lease.unlink(missing_ok=True)
        self.lease.with_name(self.lease.name + NEW).unlink(missing_ok=True)
        os.close(self.fd)

    def release(self) -> None:
        """Leave the rest to a later adopter."""
        os.close(self.fd)


def orphans(folder: Path, *, archive: bool = False) -> Iterator[Orphan]:
    """Each dead process's files, locked and with its open spans written; those of the living are left alone.

    A folder that cannot be read has none; one orphan that cannot be handled is left for later. In an ``archive``
    nobody but people removes files of spans: where they did, nothing is said to be open.
    """
    for stem, lease in leases(folder):
        found = _lock(lease)
        if found is None:
            continue
        orphan = Orphan(folder, stem, lease, found)
        try:
            _write_open_spans(orphan, archive)
        except OSError:
            orphan.release()
            continue
        yield orphan
    for path in unfinished(folder):
        fd = _lock(path)
        if fd is not None:
            path.unlink(missing_ok=True)
            os.close(fd)


def adopt_folder(folder: Path) -> int:
    """Show in an export folder what dead processes started and never ended; returns how many of them there were.

    >>> import tempfile
    >>> adopt_folder(Path(tempfile.mkdtemp()))
    0
    """
    count = 0
    for orphan in orphans(folder, archive=True):
        orphan.remove()
        count += 1
    return count


def _lock(lease: Path) -> int | None:
    try:
        fd = os.open(lease, os.O_RDWR | CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(fd).st_nlink and os.path.samestat(os.fstat(fd), lease.stat()):  # else removed or replaced
            return fd
    except OSError:
        pass
    os.close(fd)
    return None


def _write_open_spans(orphan: Orphan, archive: bool) -> None:
    head, started = _started(orphan.fd)
    files = orphan.files
    if archive and orphan.folder / head[0] not in files:
        started.clear()  # the ends were taken away, so nobody knows what is open
    if started:
        for key in _ended(files, head):
            started.pop(key, None)
        if started:
            alive = max([os.fstat(orphan.fd).st_mtime_ns, *(path.stat().st_mtime_ns for path in files)])
            _put(orphan, [opened(line, alive) for line in started.values()])
    os.ftruncate(orphan.fd, 0)


def _started(fd: int) -> tuple[tuple[str, int], dict[bytes, bytes]]:
    """The head, and the line of each whole record by its ids; none from a file that is not in this form."""
    data = _read(fd)
    head, *records = data.split(b"\n")
    words = head.split(b" ")
    if len(words) != 4 or words[:2] != [b"started", b"1"] or not words[3].isdigit():
        return ("-", 0), {}
    found = {
        record[1 : RECORD_HEAD - 1]: record[RECORD_HEAD:]
        for record in records[:-1]
        if record[:1] == b"+" and len(record) > RECORD_HEAD
    }
    return (words[2].decode("ascii", "replace"), int(words[3])), found


def _read(fd: int) -> bytes:
    pieces: list[bytes] = []
    offset = 0
    while piece := os.pread(fd, _CHUNK, offset):
        pieces.append(piece)
        offset += len(piece)
    return b"".join(pieces)


def _ended(files: list[Path], head: tuple[str, int]) -> Iterator[bytes]:
    """The ids of the spans whose lines are whole, behind what the head says is known."""
    for path in files:
        if path.name < head[0]:
            continue
        with path.open("rb") as stream:
            if path.name == head[0]:
                stream.seek(head[1])
            for line in stream:
                match = _IDS.search(line) if line.endswith(b"\n") else None
                if match is not None:
                    yield match[1] + match[2]


def _put(orphan: Orphan, lines: list[bytes]) -> None:
    path = orphan.folder / f"spans-{orphan.stem}-open.jsonl"
    hidden = orphan.lease.with_name(orphan.lease.name + NEW)
    fd = os.open(hidden, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | CLOEXEC, 0o600)
    try:
        write_all(fd, b"".join(lines))
        os.fsync(fd)
    finally:
        os.close(fd)
    hidden.replace(path)
