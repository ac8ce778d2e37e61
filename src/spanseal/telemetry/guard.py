"""The one guard between telemetry and the application: a fault of ours is logged once and goes no further.

May import nothing of spanseal.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Final, ParamSpec, TypeVar

_log: Final = logging.getLogger("spanseal")
_P = ParamSpec("_P")
_R = TypeVar("_R")


def guarded(function: Callable[_P, _R]) -> Callable[_P, _R | None]:
    """``function``, but an Exception in it becomes None; the first of each function is logged as a warning.

    >>> guarded(lambda: 1 / 0)() is None
    True
    """
    told: list[bool] = []

    @functools.wraps(function)
    def safe(*args: _P.args, **kwargs: _P.kwargs) -> _R | None:
        try:
            return function(*args, **kwargs)
        except Exception:  # noqa: BLE001 - this is the guard: telemetry raises nothing into the application
            try:
                if not told:
                    told.append(True)
                    _log.warning("telemetry failed in %s; the program goes on", function.__qualname__, exc_info=True)
            except Exception:  # noqa: BLE001, S110 - the application's own logging filter raises, or the stack is full
                pass
            return None

    return safe
