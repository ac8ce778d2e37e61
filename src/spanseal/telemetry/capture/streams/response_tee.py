"""A response body that reports to an :class:`HttpAttempt` what passes through it, for httpx and httpx2 alike.

Iterators are classes, not generators: a generator that is dropped closes itself in garbage collection and hides how
the reading ended. May import http_attempt and guard, but no HTTP library: the base class comes from the stream itself.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache
from typing import Any

from spanseal.telemetry.capture.streams.http_attempt import HttpAttempt
from spanseal.telemetry.guard import guarded


def teed(stream: Any, attempt: HttpAttempt, *, asynchronous: bool) -> Any:
    """``stream`` with everything that is read from it reported to ``attempt``; of the same library's stream class."""
    name = "AsyncByteStream" if asynchronous else "SyncByteStream"
    kind: type[Any] = stream.__class__
    base = next(found for found in kind.__mro__ if found.__name__ == name)
    return _tee_class(kind, base, asynchronous)(stream, attempt)


@guarded
def answered(attempt: HttpAttempt, response: Any, *, stream: bool, asynchronous: bool) -> None:
    """The head of ``response`` has come: note it and let the body pass by ``attempt``."""
    attempt.answered(response.status_code, response.headers, stream=stream)
    attempt.call.note(attempt)
    content = getattr(response, "_content", None)
    if isinstance(content, bytes):
        attempt.whole(content)
    else:
        response.stream = teed(response.stream, attempt, asynchronous=asynchronous)


@cache
def _tee_class(kind: type, base: type, asynchronous: bool) -> Any:
    look = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    return type(kind.__name__, (_AsyncTee if asynchronous else _SyncTee, base), look)


class _Tee:
    def __init__(self, stream: Any, attempt: HttpAttempt) -> None:
        self._stream = stream
        self._attempt = attempt
        self._read = False

    def __getattr__(self, name: str) -> Any:
        if name in ("_stream", "_attempt", "_read"):
            raise AttributeError(name)
        return getattr(self._stream, name)

    def __del__(self) -> None:
        attempt = self.__dict__.get("_attempt")
        if attempt is not None and attempt.end is None:
            attempt.dropped()


@guarded
def _reading(reader: Callable[[Any, HttpAttempt, bool], Any], source: Any, tee: Any) -> Any:
    """The client reads on after the end mark to drain the connection: what comes then is no answer."""
    first, tee._read = not tee._read, True
    return reader(source, tee._attempt, first)


class _SyncTee(_Tee):
    def __iter__(self) -> Iterator[bytes]:
        source = iter(self._stream)
        return _reading(_SyncReader, source, self) or source

    def close(self) -> None:
        try:
            self._stream.close()
        finally:
            self._attempt.closed()


class _AsyncTee(_Tee):
    def __aiter__(self) -> AsyncIterator[bytes]:
        source = aiter(self._stream)
        return _reading(_AsyncReader, source, self) or source

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
        finally:
            self._attempt.closed()


class _SyncReader:
    def __init__(self, source: Iterator[bytes], attempt: HttpAttempt, keep: bool) -> None:
        self._source = source
        self._keep = keep
        self._attempt = attempt

    def __iter__(self) -> _SyncReader:
        return self

    def __next__(self) -> bytes:
        attempt = self._attempt
        attempt.reading = True
        try:
            data = next(self._source)
        except StopIteration:
            attempt.eof()
            raise
        except BaseException as error:
            attempt.broke(error)
            raise
        finally:
            attempt.reading = False
        if self._keep:
            attempt.chunk(data)
        return data

    def close(self) -> None:
        close = getattr(self._source, "close", None)
        if close is not None:
            close()


class _AsyncReader:
    """httpx2 asks whether the iterator is an asynchronous generator, so it has a generator's methods too."""

    def __init__(self, source: Any, attempt: HttpAttempt, keep: bool) -> None:
        self._source = source
        self._keep = keep
        self._attempt = attempt

    def __aiter__(self) -> _AsyncReader:
        return self

    async def __anext__(self) -> bytes:
        return await self._reported(self._source.__anext__())

    async def asend(self, value: Any) -> bytes:
        return await self._reported(self._source.asend(value))

    async def athrow(self, *error: Any) -> bytes:
        return await self._reported(self._source.athrow(*error))

    async def aclose(self) -> None:
        close = getattr(self._source, "aclose", None)
        if close is not None:
            await close()

    async def _reported(self, step: Any) -> bytes:
        attempt = self._attempt
        attempt.reading = True
        try:
            data: bytes = await step
        except StopAsyncIteration:
            attempt.eof()
            raise
        except BaseException as error:
            attempt.broke(error)
            raise
        finally:
            attempt.reading = False
        if self._keep:
            attempt.chunk(data)
        return data
