"""Large values beside the spans: ``values/<run or trace>/<sha256>.jsonl``, a line for each part. May import committer.

A file is written to by whoever has the value, and appended to by the next one that writes it for the same run; readers
take each part once. Files are closed after each part, so any number of values costs no descriptors.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from opentelemetry.sdk.trace import ReadableSpan

from spanseal.genai import semconv
from spanseal.records.export_files import VALUES, value_file
from spanseal.settings import Durability
from spanseal.telemetry.export.committer import Committer
from spanseal.telemetry.export.sink import Stamps
from spanseal.telemetry.export.span_file import CLOEXEC, write_all

_FLAGS: Final = os.O_RDWR | os.O_APPEND | os.O_CREAT | CLOEXEC | getattr(os, "O_NOFOLLOW", 0)


def is_value(span: ReadableSpan) -> bool:
    """Whether a span of ours carries a part of a large value."""
    scope = span.instrumentation_scope
    return span.name == semconv.SPAN_VALUE and scope is not None and scope.name == semconv.SCOPE_NAME


class ValueFiles:
    """Writes parts below ``folder``; ``durability`` as everywhere, ``trouble`` is told what the disk says later."""

    def __init__(
        self, folder: Path, durability: Durability, group_seconds: float, trouble: Callable[[OSError], None]
    ) -> None:
        self._root = folder / VALUES
        self._durability: Durability = durability
        self._seconds = group_seconds
        self._trouble = trouble
        self.after_fork()

    def after_fork(self) -> None:
        """What the parent wrote the parent brings onto the disk."""
        self._lock = threading.RLock()
        self._dirty: dict[Path, None] = {}
        self._committer = Committer(self._sync_and_tell, self._seconds)

    def write(self, span: ReadableSpan, stamps: Stamps, line: bytes) -> None:
        """Append one part. Raises OSError: it is not kept."""
        where = span.get_span_context()
        scope = str(stamps.get(semconv.RUN_ID, "")) or (f"{where.trace_id:032x}" if where is not None else "none")
        folder, name = value_file(scope, str((span.attributes or {}).get(semconv.VALUE_SHA256, "")))
        (self._root / folder).mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._root / folder / name
        fd = os.open(path, _FLAGS, 0o600)
        try:
            with self._lock:
                _after_torn_line(fd)
                write_all(fd, line)
            if self._durability == "sync":
                os.fdatasync(fd)
                _sync_folders(path)
        finally:
            os.close(fd)
        if self._durability == "group":
            self._dirty[path] = None
            self._committer.dirty()

    def sync(self) -> None:
        """Bring what was written onto the disk itself. Raises OSError."""
        for path in list(self._dirty):
            self._dirty.pop(path, None)
            fd = os.open(path, os.O_RDONLY | CLOEXEC)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
            _sync_folders(path)

    def close(self) -> None:
        """Sync, and end the thread; a later part would start it again. Raises OSError."""
        self._committer.stop()
        self._committer = Committer(self._sync_and_tell, self._seconds)
        self.sync()

    def _sync_and_tell(self) -> None:
        try:
            self.sync()
        except OSError as error:
            self._trouble(error)


def _after_torn_line(fd: int) -> None:
    """A writer before us may have been stopped in the middle of a line: readers take the rest for one that is torn."""
    size = os.fstat(fd).st_size
    if size and os.pread(fd, 1, size - 1) != b"\n":
        write_all(fd, b"\n")


def _sync_folders(path: Path) -> None:
    """The names too: of the file, of its run's folder, and of the folder of all."""
    for folder in (path.parent, path.parent.parent, path.parent.parent.parent):
        fd = os.open(folder, os.O_RDONLY | CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)
