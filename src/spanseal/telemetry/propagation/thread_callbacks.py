"""What the official threading instrumentation leaves out: callbacks of futures, threads with a ``run`` of their own.

A callback of a future runs in a worker thread, whose context is that of the task for which the pool started it: maybe
another run's. A subclass of ``Thread`` that overrides ``run`` (``Timer`` does) gets no context at all. May import
bind, guard and patches. Touches two methods of the standard library, reversibly.
"""

from __future__ import annotations

from concurrent.futures import Future
from threading import Thread
from typing import Any, Final

from spanseal.telemetry.guard import guarded
from spanseal.telemetry.patches import Patches
from spanseal.telemetry.propagation.bind import bind, bound

_patches: Final = Patches()


def carry_into_threads() -> None:
    """From now on callbacks run where they were added, and every thread where it was started."""
    if not _patches.on:
        _patches.put(Future, "add_done_callback", _add_done_callback)
        _patches.put(Thread, "start", _start)


def stop_carrying_into_threads() -> None:
    """Undo :func:`carry_into_threads`."""
    _patches.undo()


def _add_done_callback(original: Any, self: Any, fn: Any) -> Any:
    return original(self, bound(fn))


def _start(original: Any, self: Any) -> Any:
    run = _own_run(self)
    if run is None:
        return original(self)
    kept: dict[str, Any] = self.__dict__
    kept["run"] = run
    try:
        return original(self)
    except BaseException:
        kept.pop("run", None)
        raise


@guarded
def _own_run(thread: Any) -> Any:
    """What stands for a ``run`` that the thread's class overrides; it goes away when it begins."""
    kept: dict[str, Any] = thread.__dict__
    if next(kind for kind in type(thread).__mro__ if "run" in vars(kind)) is Thread or "run" in kept:
        return None
    there = bind(thread.run)

    def run() -> None:
        kept.pop("run", None)
        there()

    return run
