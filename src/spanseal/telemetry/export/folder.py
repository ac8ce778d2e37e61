"""Export into a folder: one file per process, one OTLP JSON line per ended span. May import encode, sink, span_file.

A line is in the operating system's hands (one ``write(2)`` on an ``O_APPEND`` file) before the span's ``end()``
returns, so a crash or kill of the process loses no ended span. The file is ``spans-<utc>-<pid>-<n>.jsonl``.
"""

from __future__ import annotations

import os
import threading
from pathlib import Path

from opentelemetry.sdk.trace import ReadableSpan

from spanseal.telemetry.export.encode import LineEncoder
from spanseal.telemetry.export.sink import Complaints, Stamps
from spanseal.telemetry.export.span_file import new_path, write_all

_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)


class FolderExport:
    """A sink that appends to a file of its own in ``folder``, which is made if it does not exist.

    A folder that cannot be written or a full disk is said once; the application goes on, lost spans are counted, and
    each further span tries again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.complaints = Complaints()
        self._encoder = LineEncoder()
        self._lock = threading.RLock()
        self._fd = -1
        self._torn = False
        self._lost_since_flush = False
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            self._trouble(error)

    def emit(self, span: ReadableSpan, stamps: Stamps) -> None:
        """Write the span; on trouble it is lost, counted and told once."""
        line = self._encoder.line(span, stamps)
        try:
            with self._lock:
                if self._fd < 0:
                    self.folder.mkdir(parents=True, exist_ok=True)
                    self._fd = new_file(self.folder)
                self._write(line)
        except OSError as error:
            self.complaints.count("lost")
            self._lost_since_flush = True
            self._trouble(error)
        else:
            self.complaints.over("folder", "spans can be written to %s again", self.folder)

    def flush(self, timeout: float) -> bool:
        """On the disk itself; False if a span was lost since the last flush, the disk refuses, or the file is gone."""
        del timeout
        lost, self._lost_since_flush = self._lost_since_flush, False
        try:
            with self._lock:
                if self._fd >= 0:
                    os.fsync(self._fd)
                    lost = self._leave_removed_file() or lost
        except OSError as error:
            self._trouble(error)
            return False
        return not lost

    def after_fork(self) -> None:
        """The child writes a file of its own."""
        self._lock = threading.RLock()
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self._torn = -1, False

    def close(self, timeout: float) -> None:
        """Flush and close; a later span would open a new file."""
        self.flush(timeout)
        with self._lock:
            if self._fd >= 0:
                os.close(self._fd)
            self._fd = -1

    def _leave_removed_file(self) -> bool:
        """Somebody deleted the file under our hands: what is in it is lost, the next span gets a new one."""
        if os.fstat(self._fd).st_nlink:
            return False
        os.close(self._fd)
        self._fd = -1
        self.complaints.say("removed", "the file with this process's spans was deleted from %s", self.folder)
        return True

    def _write(self, line: bytes) -> None:
        if self._torn:
            write_all(self._fd, b"\n")
            self._torn = False
        try:
            write_all(self._fd, line)
        except OSError:
            self._torn = True
            raise

    def _trouble(self, error: OSError) -> None:
        reason = error.strerror or str(error)
        self.complaints.say(
            "folder", "spans cannot be written to %s (%s); the application goes on", self.folder, reason
        )


def new_file(folder: Path) -> int:
    """Open a new file of this process for appending; raises OSError."""
    return os.open(new_path(folder), _FLAGS, 0o600)
