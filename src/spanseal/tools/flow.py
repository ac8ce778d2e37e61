"""One flow of control for sync and async: a generator that yields what has to be waited for. Pure.

Spans, gates and decisions are written once, in the generator; only the two drivers differ. An exception of the
outside is thrown into the flow at the place that waited, KeyboardInterrupt and CancelledError too.

>>> def flow():
...     answer = yield Wait(lambda: 391, None)
...     return f"It is {answer}."
>>> drive(flow())
'It is 391.'
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, cast

from spanseal.errors import UsageError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Wait:
    """One thing to wait for, in both ways. Without ``arun`` the async driver calls ``run`` in a worker thread;
    without ``run`` the sync driver runs ``arun`` on an event loop of its own."""

    run: Callable[[], Any] | None
    arun: Callable[[], Awaitable[Any]] | None


Flow: TypeAlias = Generator[Wait, Any, T]


def drive(flow: Flow[T]) -> T:
    """Run ``flow`` to its end in this thread."""
    try:
        wait = next(flow)
        while True:
            try:
                outcome = _waited(wait)
            except BaseException as error:  # noqa: BLE001 - the flow decides; what it does not take comes out again
                wait = flow.throw(error)
            else:
                wait = flow.send(outcome)
    except StopIteration as stop:
        return cast("T", stop.value)


async def adrive(flow: Flow[T]) -> T:
    """Run ``flow`` to its end in this task; spans stay current across every await."""
    try:
        wait = next(flow)
        while True:
            outcome, error = await _awaited_outcome(wait)
            wait = flow.send(outcome) if error is None else flow.throw(error)
    except StopIteration as stop:
        return cast("T", stop.value)


async def _awaited_outcome(wait: Wait) -> tuple[Any, BaseException | None]:
    """An exception comes back as a value: futures and coroutines cannot carry every one (a StopIteration from a
    thread would leave the task waiting for ever)."""
    try:
        if wait.arun is not None:
            return await wait.arun(), None
        run = wait.run
        assert run is not None
        return await asyncio.to_thread(_caught, run)
    except BaseException as error:  # noqa: BLE001 - the flow decides; what it does not take comes out again
        return None, error


def _caught(run: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    try:
        return run(), None
    except BaseException as error:  # noqa: BLE001 - likewise
        return None, error


def _waited(wait: Wait) -> Any:
    if wait.run is not None:
        return wait.run()
    assert wait.arun is not None
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(_awaited(wait.arun))
    raise UsageError("an async tool cannot run inside a running event loop; use arun() instead of run()")


async def _awaited(start: Callable[[], Awaitable[Any]]) -> Any:
    return await start()
