"""The thread that brings what was written onto the disk itself, some milliseconds later. May import guard.

It sleeps while nothing is written, and is woken through a ``SimpleQueue``, which may be used from a finaliser in the
middle of anything.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable

from spanseal.telemetry.guard import guarded


class Committer:
    """Calls ``sync`` at most ``seconds`` after each :meth:`dirty`, and as rarely as that allows."""

    def __init__(self, sync: Callable[[], object], seconds: float) -> None:
        self._sync = guarded(sync)  # the thread lives on, or nothing would be synced any more
        self._seconds = seconds
        self._queue: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._signalled = False

    def dirty(self) -> None:
        """Something was written."""
        if not self._signalled:
            self._signalled = True
            self._queue.put(True)
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=guarded(self._run), name="spanseal-sync", daemon=True)
                with contextlib.suppress(RuntimeError):  # the process is ending, close() syncs
                    self._thread.start()

    def stop(self) -> None:
        """End the thread; what is dirty is for the caller to sync."""
        self._queue.put(False)
        thread = self._thread
        if thread is not None and thread.is_alive() and thread is not threading.current_thread():
            thread.join(5)

    def is_current(self) -> bool:
        """Whether the caller runs on this thread."""
        return threading.current_thread() is self._thread

    def _run(self) -> None:
        while self._queue.get():
            with contextlib.suppress(queue.Empty):
                if not self._queue.get(timeout=self._seconds):
                    return
            self._signalled = False
            self._sync()
