"""Export into a folder: one file per process, one OTLP JSON line per span. May import the siblings.

A line is in the operating system's hands (one ``write(2)``) before the span's ``end()`` returns, so a crash or kill of
the process loses no ended span; ``durability`` says when it is on the disk itself. What a killed process had started
and not ended is shown, marked open, by the next process that exports to the folder. Large values lie in ``values/``.
"""

from __future__ import annotations

import contextlib
import threading
import time
from pathlib import Path

from opentelemetry.sdk.trace import ReadableSpan

from spanseal.settings import Durability
from spanseal.telemetry.export.encode import LineEncoder
from spanseal.telemetry.export.intents import Key
from spanseal.telemetry.export.journal import Journal
from spanseal.telemetry.export.losses import Losses
from spanseal.telemetry.export.orphans import adopt_folder
from spanseal.telemetry.export.sink import Complaints, Health, Stamps
from spanseal.telemetry.export.start_line import key_of, start_line
from spanseal.telemetry.export.value_files import ValueFiles, is_value


class FolderExport:
    """A sink that appends to a file of its own in ``folder``, which is made if it does not exist.

    A folder that cannot be written or a full disk is said once; the application goes on, lost spans are counted, each
    further span tries again, and once there is room a span ``spanseal.gap`` says what is missing.
    """

    def __init__(self, folder: Path, durability: Durability = "group", group_ms: int = 50) -> None:
        self.folder = folder
        self.complaints = Complaints()
        self._encoder = LineEncoder()
        self._losses, self._telling = Losses(), threading.Lock()
        self._lost_since_flush = self._refusing = self._starts_refused = False
        self._values = ValueFiles(folder, durability, group_ms / 1000, self._trouble)
        self._journal = Journal(folder, durability, group_ms / 1000, trouble=self._trouble)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            adopt_folder(folder)
        except OSError as error:
            self._trouble(error)
        except Exception as error:  # noqa: BLE001 - what others left behind must not keep this process from starting
            self.complaints.say("orphans", "what a dead process left in %s cannot be read (%r)", folder, error)

    def started(self, span: ReadableSpan, stamps: Stamps) -> None:
        """Note the start; on trouble it is told once, the span itself may still find room."""
        line = start_line(self._encoder, span, stamps)
        if line is None:
            return
        try:
            self._journal.start(key_of(span), line)
            self._starts_refused = False
        except OSError as error:
            self._starts_refused = True
            self._trouble(error)

    def emit(self, span: ReadableSpan, stamps: Stamps) -> None:
        """Write the span; on trouble it is lost, counted and told once."""
        key = key_of(span)
        try:
            line = self._encoder.line(span, stamps)
            if is_value(span):
                self._values.write(span, stamps, line)
            else:
                self._journal.end(key, line)
        except Exception as error:
            self._lose(key, span, stamps, error)
            if isinstance(error, OSError):
                return
            raise
        self._refusing = self._starts_refused
        if not self._refusing:
            self.complaints.over("folder", "spans can be written to %s again", self.folder)
        self._tell_losses()

    def flush(self, timeout: float) -> bool:
        """On the disk itself; False if a span was lost since the last flush, the disk refuses, or the file is gone."""
        del timeout
        lost, self._lost_since_flush = self._lost_since_flush, False
        try:
            if self._journal.removed_under_our_hands():
                lost = True
                self.complaints.say("removed", "the file with this process's spans was deleted from %s", self.folder)
            self._values.sync()
            self._journal.sync()
        except OSError as error:
            self._trouble(error)
            return False
        return not lost

    def health(self) -> Health:
        """Nothing is ever waiting in a folder."""
        return Health(not (self._refusing or self._journal.failing), 0, self._losses.total, 0, self.complaints.last)

    def after_fork(self) -> None:
        """The child writes a file of its own."""
        self._losses, self._telling, self._lost_since_flush = Losses(), threading.Lock(), False
        self._values.after_fork()
        self._journal.after_fork()

    def close(self, timeout: float) -> None:
        """Write what has not ended as open, flush and close; a later span would open a new file."""
        del timeout
        self._tell_losses()
        try:
            self._values.close()
            self._journal.close(time.time_ns(), keep=False)
        except OSError as error:
            self._trouble(error)

    def _lose(self, key: Key, span: ReadableSpan, stamps: Stamps, error: Exception) -> None:
        self.complaints.count("lost")
        self._lost_since_flush = True
        words = error.strerror if isinstance(error, OSError) else None
        self._losses.add(span, stamps, words or type(error).__name__)
        if isinstance(error, OSError):
            self._trouble(error)
        with contextlib.suppress(OSError):
            self._journal.lose(key)

    def _tell_losses(self) -> None:
        if not self._losses.pending or not self._telling.acquire(blocking=False):
            return
        try:
            self._journal.end(None, self._encoder.line(self._losses.gap(), {}))
            self._losses.forget()
        except OSError:
            pass  # the next span tries again
        finally:
            self._telling.release()

    def _trouble(self, error: OSError) -> None:
        self._refusing = True
        reason = error.strerror or str(error)
        self.complaints.say(
            "folder", "spans cannot be written to %s (%s); the application goes on", self.folder, reason
        )
