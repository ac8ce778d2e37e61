"""Model calls whose answer is still being read: none is lost when it is dropped, forgotten, or the process ends.

From garbage collection a span must not be ended (a processor may hold the very lock it would take), so the call is put
into a queue that takes no lock and a thread ends it. The same thread is the watchdog: what is held but not read for
``stream_idle_seconds`` is ended as held. Calls that are still open when the interpreter exits are ended there, before
the provider's own exit handler, which was registered earlier. After a fork the child leaves the parent's calls alone.
May import active, guard and spans.
"""

from __future__ import annotations

import atexit
import gc
import itertools
import multiprocessing
import os
import threading
import time
from multiprocessing.util import Finalize
from queue import Empty, SimpleQueue
from typing import Any, Final, Protocol

from spanseal.telemetry.active import active
from spanseal.telemetry.guard import guarded
from spanseal.telemetry.spans.tracer import tracer

_SELDOM: Final = 30.0
_EXIT_SECONDS: Final = 5.0


class OpenCall(Protocol):
    """What is kept here."""

    def progress(self) -> tuple[int, bool]:
        """How often the program has read, and whether it is waiting for bytes now."""
        ...

    def end_held(self) -> None:
        """End the span of a call whose answer the program holds without reading it."""
        ...

    def end_dropped(self) -> None:
        """End the span of a call whose answer nobody reads any more."""
        ...


class _OpenCalls:
    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.pid = os.getpid()
        self.calls: dict[int, tuple[int, OpenCall]] = {}
        self.seen: dict[int, tuple[int, float]] = {}
        self.queue: SimpleQueue[OpenCall | threading.Event] = SimpleQueue()
        self.worker: threading.Thread | None = None
        self.idle = 0.0
        self.exiting = False

    def keep(self, call: OpenCall) -> None:
        if self.pid != os.getpid():
            self.reset()
        self.calls[id(call)] = next(_numbers), call  # an id may come again, a number does not
        if self.exiting:
            return
        idle = active().stream_idle_seconds
        if self.worker is None or not self.worker.is_alive():
            # here and not when something is dropped: a thread cannot be started out of garbage collection
            self.idle = idle
            self.worker = threading.Thread(target=guarded(self._work), name="spanseal-open-calls", daemon=True)
            self.worker.start()
        elif idle != self.idle:
            self.idle = idle
            self.queue.put(threading.Event())  # wakes it

    def _work(self) -> None:
        queue, looked = self.queue, 0.0
        while True:
            often = min(_SELDOM, self.idle / 4) if self.idle > 0 else _SELDOM
            try:
                item = queue.get(timeout=often)
            except Empty:
                item = None
            if isinstance(item, threading.Event):
                item.set()
            elif item is not None:
                _end(item)
            del item  # while it waits it must not keep a call alive
            if time.monotonic() - looked >= often:
                looked = time.monotonic()
                self.watch(looked)

    @guarded
    def watch(self, now: float) -> None:
        """End what has not been read for too long: counted in looks, so that a chunk costs no look at a clock."""
        seen, self.seen = self.seen, {}
        for number, call in list(self.calls.values()):
            reads, reading = call.progress()
            before, since = seen.get(number, (-1, now))
            if reading or reads != before:
                since = now
            if self.idle > 0 and now - since >= self.idle:
                _end_held(call)
            else:
                self.seen[number] = (reads, since)


@guarded
def _end(call: OpenCall) -> None:
    call.end_dropped()


@guarded
def _end_held(call: OpenCall) -> None:
    call.end_held()


_numbers: Final = itertools.count()
_OPEN: Final = _OpenCalls()
_registered: list[Any] = []
_collectors: Final[set[int]] = set()


def keep(call: OpenCall) -> None:
    """Remember a call whose answer was handed out to be read."""
    now = [tracer(), os.getpid()]
    if _registered != now:
        _register()
        _registered[:] = now
    _OPEN.keep(call)


def _register() -> None:
    """Be called at the end: after a newer provider was made once more, since what is registered last runs first."""
    if not _registered:
        gc.callbacks.append(_collector)
    atexit.unregister(_at_exit)
    atexit.register(_at_exit)
    if multiprocessing.parent_process() is not None:  # a worker ends by its own list
        Finalize(None, _at_exit, exitpriority=10)


def forget(call: OpenCall) -> None:
    """The call has ended."""
    _OPEN.calls.pop(id(call), None)


def drop(call: OpenCall) -> None:
    """Have the call ended soon. Takes no lock: may be called out of garbage collection."""
    _OPEN.queue.put(call)


def collecting() -> bool:
    """Whether this thread is in the middle of garbage collection, where nothing may wait for a lock.

    A program's own ``__del__`` may close a stream there.
    """
    return threading.get_ident() in _collectors


def drain(timeout: float = 1.0) -> bool:
    """Wait until what was dropped so far has ended; false when that took longer than ``timeout`` seconds."""
    worker = _OPEN.worker
    if worker is None or not worker.is_alive() or worker is threading.current_thread() or _OPEN.pid != os.getpid():
        return True
    mark = threading.Event()
    _OPEN.queue.put(mark)
    return mark.wait(timeout)


def end_all(timeout: float = _EXIT_SECONDS) -> None:
    """End whatever is open now, as held: telemetry is being switched off, or the process ends."""
    drain(timeout)
    if _OPEN.pid != os.getpid():
        return
    deadline = time.monotonic() + timeout
    for _, call in list(_OPEN.calls.values()):
        if time.monotonic() > deadline:
            return
        _end_held(call)


def _collector(phase: str, info: dict[str, int]) -> None:
    del info
    if phase == "start":
        _collectors.add(threading.get_ident())
    else:
        _collectors.discard(threading.get_ident())


def _at_exit() -> None:
    _OPEN.exiting = True
    end_all()
