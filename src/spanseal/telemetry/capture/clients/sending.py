"""One attempt through a client's own ``send``, for httpx and httpx2: its bytes are kept, its outcome is unchanged.

A body that the client would read inside ``send`` is read here instead, behind a tee, so that a body cut in the middle
leaves what had come. Only where ``send`` is the HTTP library's own: a program's ``send`` may look at the body, or at
``stream``, and finds both as ever. May import streams; no HTTP library.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from spanseal.telemetry.capture.streams.http_attempt import HttpAttempt
from spanseal.telemetry.capture.streams.response_tee import answered
from spanseal.telemetry.guard import guarded

_SECRET: Final = re.compile(rb"auth|(?<!idempotency-)key|token|secret|cookie|passw|credential", re.IGNORECASE)
_WORDS: Final = re.compile(r"[^\s;,]{8,}")
_LIBRARIES: Final = frozenset({"httpx._client", "httpx2._client"})


def send_once(
    attempt: HttpAttempt, send: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], *, plain: bool
) -> Any:
    """``send(*args, **kwargs)``; ``plain`` says that it is the library's own. Raises what it raises."""
    asked = bool(kwargs.get("stream"))
    here = plain and not asked
    try:
        response = send(*args, **({**kwargs, "stream": True} if here else kwargs))
    except BaseException as error:
        attempt.call.note(attempt, error)
        raise
    answered(attempt, response, stream=asked, asynchronous=False)
    if here:
        try:
            response.read()
        except BaseException:
            response.close()
            raise
    if not asked:
        _whole(attempt, response)
    return response


async def asend_once(
    attempt: HttpAttempt, send: Callable[..., Awaitable[Any]], args: tuple[Any, ...], kwargs: Mapping[str, Any],
    *, plain: bool,
) -> Any:
    """The same for an asynchronous client."""
    asked = bool(kwargs.get("stream"))
    here = plain and not asked
    try:
        response = await send(*args, **({**kwargs, "stream": True} if here else kwargs))
    except BaseException as error:
        attempt.call.note(attempt, error)
        raise
    answered(attempt, response, stream=asked, asynchronous=True)
    if here:
        try:
            await response.aread()
        except BaseException:
            await response.aclose()
            raise
    if not asked:
        _whole(attempt, response)
    return response


@guarded
def is_librarys(send: Any) -> bool:
    """Whether a bound or plain ``send`` is the HTTP library's own, neither overridden nor wrapped."""
    function = getattr(send, "__func__", send)
    return getattr(function, "__globals__", {}).get("__name__") in _LIBRARIES


@guarded
def body_of(request: Any) -> bytes:
    """The bytes of a request; none where they are made while they are sent."""
    content = getattr(request, "_content", None)
    return content if isinstance(content, bytes) else b""


@guarded
def keys_of(request: Any) -> tuple[str, ...]:
    """What the request's headers hold of keys, those of a single call too: a server may quote them in its answer."""
    found: list[str] = []
    for name, value in request.headers.raw:
        if _is_secret(name):
            words: list[str] = _WORDS.findall(value.decode("latin-1"))
            found += [word for word in words if any(map(str.isdigit, word))]
    return tuple(found)


@lru_cache(1024)
def _is_secret(name: bytes) -> bool:
    return _SECRET.search(name) is not None


@guarded
def port_of(url: Any) -> int | None:
    """The port, also where the scheme implies it."""
    return url.port or {"https": 443, "http": 80}.get(url.scheme)


@guarded
def _whole(attempt: HttpAttempt, response: Any) -> None:
    content = getattr(response, "_content", None)
    if isinstance(content, bytes):
        attempt.whole(content)
