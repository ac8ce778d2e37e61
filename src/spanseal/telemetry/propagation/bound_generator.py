"""Generators that keep a context of their own. May import the OpenTelemetry API only.

A generator's body runs in the context of whoever asks for the next value, and what it attaches leaks to them while it
waits: their spans would become children of a span that the generator has open. So each step runs in one private
context, the way a task of asyncio does.
"""

from __future__ import annotations

import contextvars
from collections.abc import AsyncGenerator, Awaitable, Generator
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry.context import Context


def private_context(current: Context) -> contextvars.Context:
    """A copy of the caller's context variables in which ``current`` is OpenTelemetry's."""
    made = contextvars.copy_context()
    made.run(otel_context.attach, current)
    return made


class BoundGenerator(Generator[Any, Any, Any]):
    """A generator whose steps run in ``where``."""

    def __init__(self, made: Generator[Any, Any, Any], where: contextvars.Context) -> None:
        self._made = made
        self._where = where

    def send(self, value: Any, /) -> Any:
        """As generators do."""
        return self._where.run(self._made.send, value)

    def throw(self, *error: Any) -> Any:
        """As generators do."""
        return self._where.run(self._made.throw, *error)

    def close(self) -> None:
        """As generators do."""
        self._where.run(self._made.close)

    def __del__(self) -> None:
        """What it has open ends in its own context, too."""
        try:
            self.close()
        except RuntimeError:  # it goes on after GeneratorExit, or is being run right now: the interpreter's to say
            return


class BoundAsyncGenerator(AsyncGenerator[Any, Any]):
    """An async generator whose steps run in ``where``, whichever task asks for them."""

    def __init__(self, made: AsyncGenerator[Any, Any], where: contextvars.Context) -> None:
        self._made = made
        self._where = where

    async def asend(self, value: Any, /) -> Any:
        """As async generators do."""
        return await _Driven(self._made.asend(value), self._where)

    async def athrow(self, *error: Any) -> Any:
        """As async generators do."""
        return await _Driven(self._made.athrow(*error), self._where)

    async def aclose(self) -> None:
        """As async generators do."""
        await _Driven(self._made.aclose(), self._where)


class _Driven:
    """Awaits something with every step of it in a context."""

    def __init__(self, inner: Awaitable[Any], where: contextvars.Context) -> None:
        self._inner = inner
        self._where = where

    def __await__(self) -> Generator[Any, Any, Any]:
        steps: Any = self._where.run(self._inner.__await__)
        step, given = steps.send, None
        while True:
            try:
                waits_for = self._where.run(step, given)
            except StopIteration as done:
                return done.value
            try:
                step, given = steps.send, (yield waits_for)
            except BaseException as error:  # noqa: BLE001 - a cancellation, say: it is for the generator
                step, given = steps.throw, error
