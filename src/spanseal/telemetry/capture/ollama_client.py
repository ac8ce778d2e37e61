"""Ollama clients (sync, async): one span for each ``POST /api/chat``.

A streaming call sends nothing before its generator is read, maybe elsewhere, so the context of the call travels in the
request's ``extensions`` to the client's own HTTP client, whose class is swapped too; ``send()`` opens the call. The
generators stay the client's own. May import the siblings; takes the classes from the client, imports no ollama.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from opentelemetry import context as otel_context

from spanseal.genai import ollama_chat
from spanseal.genai.wire_json import loads_fast
from spanseal.telemetry.capture.call import ModelCall, Target, begin, current
from spanseal.telemetry.capture.class_swap import swapped_class
from spanseal.telemetry.capture.http_attempt import HttpAttempt
from spanseal.telemetry.capture.request import model_of
from spanseal.telemetry.capture.response_tee import answered
from spanseal.telemetry.guard import guarded

_CONTEXT: Final = "spanseal.context"


def swap(client: Any, *, asynchronous: bool) -> None:
    """Swap the classes of the client and of the HTTP client inside it."""
    client._client.__class__ = _http_class_for(client._client.__class__, asynchronous)
    client.__class__ = _class_for(client.__class__, asynchronous)


@cache
def _class_for(base: Any, asynchronous: bool) -> type:
    def request(self: Any, *args: Any, **kwargs: Any) -> Any:
        return base._request(self, *args, **_carrying(kwargs))

    async def arequest(self: Any, *args: Any, **kwargs: Any) -> Any:
        return await base._request(self, *args, **_carrying(kwargs))

    return swapped_class(base, {"_request": arequest if asynchronous else request})


@cache
def _http_class_for(base: Any, asynchronous: bool) -> type:
    return swapped_class(base, {"send": _async_send(base) if asynchronous else _sync_send(base)})


def _carrying(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {**kwargs, "extensions": {**(kwargs.get("extensions") or {}), _CONTEXT: otel_context.get_current()}}


def _sync_send(base: Any) -> Any:
    def send(self: Any, request: Any, *, stream: bool = False, **kwargs: Any) -> Any:
        call = _begin(request)
        attempt = None if call is None else _attempt(call, request)
        if call is None or attempt is None:
            return base.send(self, request, stream=stream, **kwargs)
        try:
            with current(call):
                response = base.send(self, request, stream=True, **kwargs)
            answered(attempt, response, stream=stream, asynchronous=False)
            if not stream:
                _read(response)
                attempt.whole(response.content)
        except BaseException as error:
            _failed(attempt, error)
            raise
        call.settle()
        return response

    return send


def _async_send(base: Any) -> Any:
    async def send(self: Any, request: Any, *, stream: bool = False, **kwargs: Any) -> Any:
        call = _begin(request)
        attempt = None if call is None else _attempt(call, request)
        if call is None or attempt is None:
            return await base.send(self, request, stream=stream, **kwargs)
        try:
            with current(call):
                response = await base.send(self, request, stream=True, **kwargs)
            answered(attempt, response, stream=stream, asynchronous=True)
            if not stream:
                await _aread(response)
                attempt.whole(response.content)
        except BaseException as error:
            _failed(attempt, error)
            raise
        call.settle()
        return response

    return send


def _read(response: Any) -> None:
    try:
        response.read()
    except BaseException:
        response.close()
        raise


async def _aread(response: Any) -> None:
    try:
        await response.aread()
    except BaseException:
        await response.aclose()
        raise


@guarded
def _begin(request: Any) -> ModelCall | None:
    context = request.extensions.pop(_CONTEXT, None)
    if context is None or request.method != "POST" or not request.url.path.endswith(ollama_chat.PATH):
        return None
    url = request.url
    port = url.port or {"https": 443, "http": 80}.get(url.scheme)
    key = request.headers.get("authorization", "").removeprefix("Bearer ")
    target = Target(ollama_chat.FORMAT, ollama_chat.PROVIDER, url.host, port, (key,))
    return begin(target, model_of(loads_fast(request.content)), context)


@guarded
def _attempt(call: ModelCall, request: Any) -> HttpAttempt:
    return call.attempt(request.content)


def _failed(attempt: HttpAttempt, error: BaseException) -> None:
    if attempt.status is None:
        attempt.call.note(attempt, error)
    attempt.call.settle(error)
