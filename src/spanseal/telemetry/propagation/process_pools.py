"""Carries the run into other processes: executors, ``multiprocessing`` pools and single processes. DESIGN 10.1.

Touches methods of three classes of the standard library, reversibly. A process that is forked has its context already;
one that is spawned unpickles it with the process object. May import the siblings, guard and patches.
"""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.pool import Pool, ThreadPool
from multiprocessing.process import BaseProcess
from typing import Any, Final

from spanseal.telemetry.guard import guarded
from spanseal.telemetry.patches import Patches
from spanseal.telemetry.propagation.bind import bound
from spanseal.telemetry.propagation.carried import Carried, Errand, Luggage, configured_by

_BY_FUNCTION: Final = ("apply_async", "map", "map_async", "starmap", "starmap_async", "imap", "imap_unordered")
_CALLBACKS: Final = ("callback", "error_callback")
_patches: Final = Patches()
_log = logging.getLogger("spanseal")


def carry(configure: Callable[..., None], arguments: Mapping[str, Any]) -> None:
    """Let work that goes to other processes from now on carry the run, and what is called there to configure.

    ``configure`` is a function of a module, so that it can be pickled by its name. Where ``arguments`` cannot be
    pickled (a detector that is a lambda, say), workers record no content, mask every text of the spans of others, and
    one line says so.
    """
    if _patches.on:
        return
    configured_by(configure, _picklable(arguments))
    _patches.put(ProcessPoolExecutor, "submit", _submit)
    _patches.put(BaseProcess, "start", _start)
    for name in _BY_FUNCTION:
        _patches.put(Pool, name, _pooled)


def stop_carrying() -> None:
    """Undo :func:`carry`."""
    _patches.undo()
    configured_by(None, {})


def _submit(original: Any, self: Any, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    return original(self, _along(self, fn), *args, **kwargs)


def _pooled(original: Any, self: Any, *args: Any, **kwargs: Any) -> Any:
    """Callbacks run in a thread of the pool, which has the context of the time when the pool was made: bound too."""
    for name in _CALLBACKS:
        if name in kwargs:
            kwargs[name] = bound(kwargs[name])
    if args:
        return original(self, _along(self, args[0]), *args[1:], **kwargs)
    if "func" in kwargs:
        kwargs["func"] = _along(self, kwargs["func"])
    return original(self, *args, **kwargs)


def _along(pool: object, function: Any) -> Any:
    if isinstance(function, Errand) or not callable(function):
        return function
    if isinstance(pool, ThreadPool):
        return bound(function)
    carried = _now()
    return function if carried is None else Errand(carried, function)


@guarded
def _now() -> Carried:
    return Carried.now()


def _start(original: Any, self: Any) -> Any:
    kept: dict[str, Any] = self.__dict__
    kept["_spanseal"] = Luggage(_now())
    try:
        return original(self)
    finally:
        kept.pop("_spanseal", None)


def _picklable(arguments: Mapping[str, Any]) -> dict[str, Any]:
    try:
        pickle.dumps(dict(arguments))
    except Exception as error:  # noqa: BLE001 - whatever a foreign object raises
        _log.warning(
            "workers of process pools record no content and mask every text: the arguments of configure() cannot be "
            "pickled (%s); give redact= functions of a module",
            error,
        )
        classes = [each for each in arguments["redact"] or () if isinstance(each, str)]
        return {**arguments, "redact": (*classes, detector_left_behind), "capture": "off"}
    return dict(arguments)


def detector_left_behind(_: str) -> str:
    """In a worker in the place of a detector that could not be taken along: it costs every text that it is given."""
    raise LookupError
