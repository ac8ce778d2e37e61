"""The two files a writer must never get wrong: the segment that is appended to, and the published head.

What is durable and in which order is decided here; when, in ``store``. Imports ``store_disk`` and ``store_scan``.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from spanseal.audit.segment import SEGMENT_ROLL
from spanseal.audit.store_disk import Disk
from spanseal.audit.store_names import CHECKPOINT, HISTORY, SEGMENTS
from spanseal.audit.store_scan import segment_name


class SegmentFile:
    """The segment that frames are appended to; a new one is begun when the last is full."""

    def __init__(self, root: Path, disk: Disk) -> None:
        self._folder = root / SEGMENTS
        self._disk = disk
        self._descriptor = -1
        self._end = 0
        self._named = True
        self._torn = False

    def resume(self, path: Path, cut: int | None) -> None:
        """Go on with a segment that is there; ``cut`` drops a torn frame from this byte on.

        Frames of a killed writer may never have been synced, and they are signed next: so they are synced now.
        """
        self._open(path)
        if cut is not None:
            self._disk.truncate(self._descriptor, cut)
            self._end = cut
        self._disk.sync(self._descriptor)
        self._disk.sync_folder(self._folder)
        self._named = True

    def append(self, first: int, frame: bytes) -> None:
        """Append a frame that begins with leaf ``first``; on the disk when this returns.

        OSError if there is no room: then nothing of it is there, or it is cut off before the next one is appended.
        """
        if self._descriptor < 0 or self._end >= SEGMENT_ROLL:
            self._open(self._folder / segment_name(first))
        if self._torn:
            self._disk.truncate(self._descriptor, self._end)
        self._torn = True
        try:
            self._disk.append(self._descriptor, frame)
        except OSError:
            with contextlib.suppress(OSError):  # else the next append tries; a reader sees a torn, unsigned tail
                self._disk.truncate(self._descriptor, self._end)
                self._torn = False
            raise
        self._disk.sync(self._descriptor)
        if not self._named:
            self._disk.sync_folder(self._folder)
            self._named = True
        self._torn = False
        self._end += len(frame)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _open(self, path: Path) -> None:
        self.close()
        self._named = False
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._end = os.fstat(self._descriptor).st_size


class HeadFiles:
    """``checkpoint`` and its history. The head is replaced first: a crash between leaves the history one short."""

    def __init__(self, root: Path, disk: Disk) -> None:
        self._root, self._disk = root, disk
        self._descriptor = -1
        self._owed = b""

    @property
    def paid(self) -> bool:
        """Whether the history has all it should."""
        return not self._owed

    def replace(self, note: bytes) -> None:
        """Replace the head, on the disk when this returns; the history, which got the one before, is then owed it."""
        self.pay()
        self._disk.replace(self._root / CHECKPOINT, note)
        self._owed = note + b"\n"

    def mend(self, keep: int, data: bytes) -> None:
        """Cut the history to ``keep`` bytes and append ``data``."""
        self._open()
        self._disk.truncate(self._descriptor, keep)
        self._owed = data
        self.pay()

    def pay(self) -> None:
        """Append to the history what it lacks; on the disk when this returns. May be called again."""
        if not self._owed:
            return
        self._open()
        end = os.fstat(self._descriptor).st_size
        try:
            self._disk.append(self._descriptor, self._owed)
        except OSError:
            self._disk.truncate(self._descriptor, end)
            raise
        self._disk.sync(self._descriptor)
        self._owed = b""

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _open(self) -> None:
        if self._descriptor >= 0:
            return
        path = self._root / HISTORY
        fresh = not path.exists()
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        if fresh:
            self._disk.sync_folder(self._root)
