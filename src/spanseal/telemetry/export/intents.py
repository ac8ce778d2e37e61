"""What a process has started and not ended yet, on disk, so that it shows if the process dies. May import span_file.

The file ``.started-<stem>`` begins with a head, ``started 1 <name> <offset>``: ends that lie before this offset of that
file of spans are known here already. Then a record per span, ``+<trace id><span id> <line>``, the line being OTLP JSON
without an end. An end is not written here: it lies in the file of spans. From time to time (and before any file of
spans is removed) the file is written anew with what is still open, so it stays small however long the process lives.
Only its first byte changes when an end could be kept nowhere: ``-``, nobody shall call that span open.

The process holds ``flock`` on the file, which the system gives back however the process dies; whoever gets the lock
owns every file of that stem. What each death leaves behind, and what comes of it:

=============================================  =======================================================================
the process dies                               the adopter
=============================================  =======================================================================
before the record is whole                     finds a torn record: start() had not returned; nothing is shown
after the record, before the end is whole      shows the span as open; a torn end is set aside, its end() had not
                                               returned
after the end is whole                         finds the id in the file of spans: not open
while the file is written anew, before rename  finds the old one, which says the same; ``….new`` is written over
after the rename                               finds the new one: what it left out had its end written before
after a file of spans was removed              the ends in it were left out here before that
=============================================  =======================================================================

The same after a power loss, for what had been synced; of starts it may show fewer where a file system puts a rename on
disk before the data of the renamed file. Nothing here locks: the sink holds one lock around every call.
"""

from __future__ import annotations

import errno
import fcntl
import logging
import os
from pathlib import Path
from typing import Final, TypeAlias

from spanseal.telemetry.export.span_file import CLOEXEC, NEW, lease_path, stems, write_at

Key: TypeAlias = tuple[int, int]
COMPACT_BYTES: Final = 1024 * 1024
RECORD_HEAD: Final = 1 + 48 + 1
_FLAGS: Final = os.O_RDWR | os.O_CREAT | CLOEXEC
_NO_LOCKS: Final = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOLCK, errno.ENOSYS)
_told: Final[list[OSError]] = []
_log = logging.getLogger("spanseal")


class Intents:
    """The file of a living process. ``stem`` is the name under which the process keeps its files in ``folder``."""

    def __init__(self, folder: Path, first: str) -> None:
        """Claim a stem; ``first`` is what its first file of spans has behind the stem. Raises OSError."""
        folder.mkdir(parents=True, exist_ok=True)
        self._open: dict[Key, tuple[int, int]] = {}
        self._live = 0
        for stem in stems():
            self.stem, self._path = stem, lease_path(folder, stem)
            self.known = (f"spans-{stem}{first}.jsonl", 0)
            if self._path.exists() or any(folder.glob(f"spans-{stem}*")):
                continue
            try:
                self._fd, self.size = _claim(self._path, self.known)
            except (FileExistsError, FileNotFoundError, BlockingIOError):  # somebody else's, or taken for an orphan
                folder.stat()
                continue
            return

    @property
    def fd(self) -> int:
        """For syncing; another one after :meth:`compact`."""
        return self._fd

    @property
    def due(self) -> bool:
        """Whether ended spans take most of the file."""
        return self.size > COMPACT_BYTES and self._live * 2 < self.size

    @property
    def newest(self) -> int:
        """Where the start of the last span lies that has not ended; -1 if all have."""
        return next(reversed(self._open.values()), (-1, 0))[0]

    def start(self, key: Key, line: bytes) -> None:
        """Note a start. Raises OSError; the file is then as before."""
        record = b"+%032x%016x " % key + line
        try:
            write_at(self._fd, record, self.size)
        except OSError:
            os.ftruncate(self._fd, self.size)
            raise
        self._open[key] = (self.size, len(record))
        self.size += len(record)
        self._live += len(record)

    def end(self, key: Key) -> None:
        """The span's end is written."""
        place = self._open.pop(key, None)
        if place is not None:
            self._live -= place[1]

    def lose(self, key: Key) -> None:
        """The span has ended, and its end could be kept nowhere: it is missing, not open."""
        place = self._open.get(key)
        if place is not None:
            write_at(self._fd, b"-", place[0])  # needs no space
            self.end(key)

    def open_records(self) -> list[tuple[Key, bytes]]:
        """The spans that have not ended, with their lines, in order of their starts."""
        places = sorted(self._open.items(), key=lambda item: item[1])
        return [(key, os.pread(self._fd, length, offset)[RECORD_HEAD:]) for key, (offset, length) in places]

    def compact(self, name: str, offset: int) -> None:
        """Write the file anew; ends before ``offset`` of the file of spans ``name`` are known. Raises OSError."""
        hidden = _hidden(self._path)
        fd = os.open(hidden, _FLAGS | os.O_TRUNC, 0o600)
        try:
            _hold(fd)
            size = _begin(fd, (name, offset))
            places: dict[Key, tuple[int, int]] = {}
            for key, (start, length) in self._open.items():
                write_at(fd, os.pread(self._fd, length, start), size)
                places[key] = (size, length)
                size += length
            hidden.replace(self._path)
        except OSError:
            os.close(fd)
            raise
        before, self._fd = self._fd, fd
        self._open, self.size, self.known = places, size, (name, offset)
        os.close(before)  # at last: a child that is forked now closes what ``_fd`` names

    def remove(self) -> None:
        """Nothing is open any more and no file of spans is left to be adopted."""
        self._path.unlink(missing_ok=True)
        os.close(self._fd)

    def release(self) -> None:
        """Leave the files of this stem for adoption; in a forked child: the parent still holds them."""
        os.close(self._fd)


def _claim(path: Path, known: tuple[str, int]) -> tuple[int, int]:
    """Make the file, locked before it has its name; returns it with its size. Raises OSError."""
    hidden = _hidden(path)
    fd = os.open(hidden, _FLAGS | os.O_EXCL, 0o600)
    try:
        _hold(fd)
        if path.exists():
            raise FileExistsError
        size = _begin(fd, known)
        hidden.rename(path)
    except OSError:
        hidden.unlink(missing_ok=True)
        os.close(fd)
        raise
    return fd, size


def _hold(fd: int) -> None:
    """Lock the file. Where the file system has no locks nobody else gets one either, so nobody adopts by mistake."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        if not _told:
            _told.append(error)
            _log.warning(
                "the file system of the spans has no locks (%s): what a killed process leaves there is not taken over "
                "by the next one; give a folder on a local disk", error.strerror,
            )


def _hidden(path: Path) -> Path:
    return path.with_name(path.name + NEW)


def _begin(fd: int, known: tuple[str, int]) -> int:
    head = b"started 1 %s %d\n" % (known[0].encode(), known[1])
    write_at(fd, head, 0)
    return len(head)
