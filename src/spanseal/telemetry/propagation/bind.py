"""``spanseal.bind(fn)``: a function tied to the run and span that are current now, wherever it is called later.

May import bound_generator and carried.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import MethodType
from typing import Any, ParamSpec, TypeVar, cast

from opentelemetry import context as otel_context
from opentelemetry.context import Context

from spanseal.telemetry.propagation.bound_generator import BoundAsyncGenerator, BoundGenerator, private_context
from spanseal.telemetry.propagation.carried import Carried, Errand

P = ParamSpec("P")
R = TypeVar("R")


def bind(function: Callable[P, R]) -> Callable[P, R]:
    """``function`` tied to the run and span that are current now, wherever it is called later.

    For whatever passes no context on by itself: queues of one's own, callbacks of foreign libraries, task systems. Also
    for ``async def``, and for generators: the steps of a bound generator run in a context of their own, so a span that
    it has open does not become the parent of its consumer's spans (context variables that the consumer changes between
    steps are then not seen by it). A bound plain function can be pickled if the function can, and takes the run along
    into the other process. Exceptions pass unchanged.

    >>> from spanseal.telemetry.run_span import run_span
    >>> from spanseal.telemetry.run_context import current_run
    >>> with run_span("clerk"):
    ...     later = bind(current_run)
    >>> later().agent_name
    'clerk'
    """
    captured = otel_context.get_current()
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        kind: Any = BoundGenerator if inspect.isgeneratorfunction(function) else BoundAsyncGenerator

        @functools.wraps(function)
        def steps(*args: P.args, **kwargs: P.kwargs) -> Any:
            where = private_context(captured)
            return kind(where.run(cast("Any", function), *args, **kwargs), where)

        return cast("Callable[P, R]", steps)
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004 - asks what calling it gives

        @functools.wraps(function)
        async def bound_async(*args: P.args, **kwargs: P.kwargs) -> Any:
            token = otel_context.attach(captured)
            try:
                return await cast("Any", function(*args, **kwargs))
            finally:
                otel_context.detach(token)

        return cast("Callable[P, R]", bound_async)
    return cast("Callable[P, R]", _Bound(function, captured))


def bound(function: Any) -> Any:
    """:func:`bind` for what the application gave to somebody else; as it is where that cannot be."""
    try:
        return bind(function) if callable(function) else function
    except Exception:  # noqa: BLE001 - telemetry raises nothing into the application (DESIGN 10.4)
        return function


class _Bound:
    """A function in the context that it was bound in; like a function, it becomes a method in a class."""

    def __init__(self, function: Callable[..., Any], captured: Context) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._captured = captured

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        token = otel_context.attach(self._captured)
        try:
            return self._function(*args, **kwargs)
        finally:
            otel_context.detach(token)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> tuple[type[Errand], tuple[Carried, Callable[..., Any]]]:
        return Errand, (Carried.of(self._captured), self._function)
