"""Model calls whose answer is still being read: none is lost when it is dropped, forgotten, or the process ends.

From garbage collection a span must not be ended (a processor may hold the very lock it would take), so the call is put
into a queue that takes no lock and a thread ends it. Calls that are still open when the interpreter exits are ended
there, before the provider's own exit handler, which was registered earlier. After a fork the child leaves the
parent's calls alone. May import guard.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from queue import SimpleQueue
from typing import Final, Protocol

from spanseal.telemetry.guard import guarded


class OpenCall(Protocol):
    """What is kept here."""

    def end_dropped(self) -> None:
        """End the span of a call whose answer nobody reads any more."""
        ...


class _OpenCalls:
    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.pid = os.getpid()
        self.calls: dict[int, OpenCall] = {}
        self.queue: SimpleQueue[OpenCall | threading.Event] = SimpleQueue()
        self.worker: threading.Thread | None = None

    def keep(self, call: OpenCall) -> None:
        self._renew()
        self.calls[id(call)] = call
        if self.worker is None or not self.worker.is_alive():
            # here and not when something is dropped: a thread cannot be started out of garbage collection
            self.worker = threading.Thread(target=self._work, name="spanseal-open-calls", daemon=True)
            self.worker.start()

    def _renew(self) -> None:
        if self.pid != os.getpid():
            self.reset()

    def _work(self) -> None:
        queue = self.queue
        while True:
            item = queue.get()
            if isinstance(item, threading.Event):
                item.set()
            else:
                _end(item)


@guarded
def _end(call: OpenCall) -> None:
    call.end_dropped()


_OPEN: Final = _OpenCalls()
_REGISTERED: list[bool] = []


def keep(call: OpenCall) -> None:
    """Remember a call whose answer was handed out to be read."""
    if not _REGISTERED:
        _REGISTERED.append(True)
        atexit.register(_at_exit)
    _OPEN.keep(call)


def forget(call: OpenCall) -> None:
    """The call has ended."""
    _OPEN.calls.pop(id(call), None)


def drop(call: OpenCall) -> None:
    """Have the call ended soon. Takes no lock: may be called out of garbage collection."""
    _OPEN.queue.put(call)


def drain(timeout: float = 1.0) -> bool:
    """Wait until what was dropped so far has ended; false when that took longer than ``timeout`` seconds."""
    worker = _OPEN.worker
    if worker is None or not worker.is_alive() or worker is threading.current_thread() or _OPEN.pid != os.getpid():
        return True
    mark = threading.Event()
    _OPEN.queue.put(mark)
    return mark.wait(timeout)


def _at_exit() -> None:
    drain(timeout=5.0)
    if _OPEN.pid != os.getpid():
        return
    deadline = time.monotonic() + 5.0
    for call in list(_OPEN.calls.values()):
        if time.monotonic() > deadline:
            return
        _end(call)
