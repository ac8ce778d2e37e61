"""The files of a living process: every start and every end written before the call returns. May import its parts.

``durability``: *sync* brings each onto the disk itself before the call returns (calls that wait at the same time share
one ``fdatasync``), *group* within some milliseconds, by a thread; *off* leaves it to the operating system. A killed
process loses nothing in any of them, a power loss nothing that was synced.

An end that a finaliser brings in the middle of a write of the same thread is written when that write is done. The lock
for syncing is taken before the lock for writing, never the other way round, and held while files are closed.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

from spanseal.settings import Durability
from spanseal.telemetry.export.committer import Committer
from spanseal.telemetry.export.intents import Intents, Key
from spanseal.telemetry.export.segment import Segment, Source, create
from spanseal.telemetry.export.start_line import opened


class Journal:
    """Appends to files in ``folder``: a single one, or segments of about ``segment_bytes`` each.

    ``added`` is told each new segment, ``trouble`` what the disk says to the thread.
    """

    def __init__(
        self,
        folder: Path,
        durability: Durability,
        group_seconds: float,
        *,
        segment_bytes: int = 0,
        added: Callable[[Segment], None] = lambda _: None,
        trouble: Callable[[OSError], None] = lambda _: None,
    ) -> None:
        self._folder = folder
        self._durability: Durability = durability
        self._group_seconds = group_seconds
        self._segment_bytes = segment_bytes
        self._added = added
        self._trouble = trouble
        self._reset()

    def _reset(self) -> None:
        self._lock = threading.RLock()
        self._sync_lock = threading.RLock()
        self._busy, self._holder = False, 0
        self._later: list[Callable[[], None]] = []
        self._intents: Intents | None = None
        self._current: Segment | None = None
        self._unsynced: list[Segment] = []
        self._number = 0
        self._written = self._synced = 0
        self._new_names = self._ends_to_sync = False
        self._starts_synced = -1
        self._held = 0
        self.count = 0
        """Lines of ends that were written."""
        self.failing = False
        """Whether the disk refused to sync when it was asked last."""
        self._committer = Committer(self._sync_and_tell, self._group_seconds)

    @property
    def size(self) -> int:
        """Bytes in the files of spans of this process that have not been removed."""
        return self._held

    @property
    def held(self) -> bool:
        """Whether this thread is in the middle of a write, so that it must not wait for anything."""
        return self._busy and self._holder == threading.get_ident()

    def start(self, key: Key, line: bytes) -> None:
        """Write a start. Raises OSError."""
        self._do(lambda: self._note(key, line))

    def end(self, key: Key | None, line: bytes) -> None:
        """Write an end; ``key`` None for a line that had no start. Raises OSError: it is not written."""
        self._do(lambda: self._append(key, line))

    def lose(self, key: Key) -> None:
        """An end could be kept nowhere. Raises OSError."""
        with self._lock:
            if self._intents is not None:
                self._intents.lose(key)

    def sync(self) -> None:
        """Bring everything that was written onto the disk itself. Raises OSError."""
        self._sync_through(self._written)

    def retire(self, segment: Source, *, tidy: bool) -> bool:
        """A segment of ours is delivered: may it be removed? A small current one is written on, unless ``tidy``."""
        if not isinstance(segment, Segment):
            return False
        with self._sync_lock, self._lock:
            if segment is self._current:
                if segment.size < self._segment_bytes // 16 and not tidy:
                    return False
                self._current = None
            if segment.sent < segment.size:
                return False
            if self._intents is not None and self._intents.known[0] <= segment.path.name:
                self._intents.compact(segment.path.name, segment.size)
                self._starts_synced, self._new_names = -1, True
            if segment in self._unsynced:
                self._unsynced.remove(segment)
            self._held -= segment.size
            return True

    def removed_under_our_hands(self) -> bool:
        """Whether somebody deleted the file; then the next span gets a new one, with what is still open."""
        with self._sync_lock, self._lock:
            current, intents = self._current, self._intents
            if current is None or intents is None or os.fstat(current.fd).st_nlink:
                return False
            carried = intents.open_records()
            intents.remove()
            current.release()
            self._intents, self._current, self._unsynced, self._held = None, None, [], 0
            for key, line in carried:
                self._file().start(key, line)
            return True

    def after_fork(self) -> None:
        """In the child: the files are the parent's; close them, which leaves the parent's lock in place.

        Segments are closed by the sender, which has them all.
        """
        intents, current = self._intents, None if self._segment_bytes else self._current
        self._reset()  # first of all: a thread that is not here may have had the locks
        for files in (intents, current):
            with contextlib.suppress(OSError):  # closed by that thread just now
                if files is not None:
                    files.release()

    def close(self, now: int, *, keep: bool) -> int:
        """Write what has not ended as open at ``now``, sync, close; returns how many. Raises OSError.

        ``keep``: files of spans are left to a sender, which removes them (and :meth:`leave` then the rest).
        """
        self._committer.stop()
        with self._lock:
            intents = self._intents
            still = [] if intents is None else intents.open_records()
            for key, line in still:
                self._append(key, opened(line, now))
            self._written += 1
        if self._durability != "off":
            self.sync()
        if not keep:
            self.leave(delivered=True)
        return len(still)

    def leave(self, *, delivered: bool) -> None:
        """Close; if everything is delivered (or stays where it is) nothing is left to be adopted."""
        with self._sync_lock, self._lock:
            intents, current = self._intents, self._current
            self._intents = self._current = None
            if not self._segment_bytes and current is not None:
                current.release()
            if intents is not None:
                intents.remove() if delivered else intents.release()

    def _do(self, write: Callable[[], None]) -> None:
        with self._lock:
            if self._busy:
                self._later.append(write)
                return
            self._busy, self._holder = True, threading.get_ident()
            try:
                write()
            finally:
                while self._later:
                    self._write_late(self._later.pop(0))
                self._busy = False
                self._written += 1
                number = self._written
        if self._durability == "group":
            self._committer.dirty()
        elif self._durability == "sync":
            self._sync_and_tell(number)
        elif self._intents is not None and self._intents.due:
            self._compact()

    def _write_late(self, write: Callable[[], None]) -> None:
        try:
            write()
        except OSError as error:
            self._trouble(error)

    def _note(self, key: Key, line: bytes) -> None:
        self._file().start(key, line)

    def _append(self, key: Key | None, line: bytes) -> None:
        self._file()
        current = self._current
        if current is None or (self._segment_bytes and current.size >= self._segment_bytes):
            current = self._next()
        current.append(line)
        self._ends_to_sync = True
        self._held += len(line)
        self.count += 1
        if key is not None and self._intents is not None:
            self._intents.end(key)

    def _file(self) -> Intents:
        """The file of starts; with it, in a folder of one file, the file of spans."""
        if self._intents is None:
            self._number = 0
            self._intents = Intents(self._folder, "-0000" if self._segment_bytes else "")
            self._starts_synced, self._new_names = -1, True
            if not self._segment_bytes:
                self._next()
        return self._intents

    def _next(self) -> Segment:
        intents = self._file()
        number = f"-{self._number:04d}" if self._segment_bytes else ""
        made = create(self._folder / f"spans-{intents.stem}{number}.jsonl")
        if self._current is not None:
            self._unsynced.append(self._current)
        self._current = made
        self._number += 1
        self._new_names = True
        self._added(made)
        return made

    def _to_sync(self) -> list[int]:
        segments = [*self._unsynced, *([self._current] if self._current and self._ends_to_sync else [])]
        fds = [segment.fd for segment in segments]
        intents = self._intents
        if intents is not None and intents.newest >= self._starts_synced:  # who has ended shows by the end
            fds.append(intents.fd)
            self._starts_synced = intents.size
        return fds

    def _sync_through(self, number: int) -> None:
        with self._sync_lock:
            if self._synced >= number:
                return
            with self._lock:
                upto, fds, names, done = self._written, self._to_sync(), self._new_names, list(self._unsynced)
                self._new_names = self._ends_to_sync = False
            try:
                for fd in fds:
                    os.fdatasync(fd) if hasattr(os, "fdatasync") else os.fsync(fd)
                if names:
                    _sync_folder(self._folder)
            except OSError:
                self._new_names = self._ends_to_sync = True
                self._starts_synced = -1
                raise
            with self._lock:
                self._unsynced = [segment for segment in self._unsynced if segment not in done]
            self._synced, self.failing = upto, False
            if self._intents is not None and self._intents.due:
                self._compact()

    def _compact(self) -> None:
        with self._sync_lock, self._lock:
            if self._intents is not None and self._current is not None and not self._busy:
                self._intents.compact(self._current.path.name, self._current.size)
                self._starts_synced, self._new_names = -1, True

    def _sync_and_tell(self, number: int | None = None) -> None:
        """What is written is written: a disk that does not sync is told, and asked again with the next one."""
        try:
            self._sync_through(self._written if number is None else number)
        except OSError as error:
            self.failing = True
            self._trouble(error)


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
