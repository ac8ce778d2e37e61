"""Ollama clients (sync, async): one span for each chat, generate, embed and embeddings.

A streaming call sends nothing before its generator is read, maybe elsewhere, so what is known at the call travels in
the request's ``extensions`` to the client's own HTTP client, whose class is swapped too; ``send()`` takes it out again
and opens the call. The generators stay the client's own. May import the siblings and capture; takes
the classes from the client, imports no ollama.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from opentelemetry import context as otel_context
from opentelemetry.context import Context

from spanseal.genai import ollama_chat
from spanseal.genai.wire import route
from spanseal.telemetry.capture.call import ModelCall, Target, begin
from spanseal.telemetry.capture.clients.class_swap import is_swapped, swap
from spanseal.telemetry.capture.clients.sending import asend_once, body_of, is_librarys, keys_of, port_of, send_once
from spanseal.telemetry.capture.clients.under_way import enter, leave
from spanseal.telemetry.capture.request import model_of
from spanseal.telemetry.capture.streams.http_attempt import HttpAttempt
from spanseal.telemetry.capture.streams.reader import Reader
from spanseal.telemetry.guard import guarded

_CALLED: Final = "spanseal.called"


@dataclass(frozen=True, slots=True)
class _Called:
    """What is known where the client is called."""

    form: str
    model: str
    context: Context
    reader: Reader | None


def swap_client(client: Any, *, asynchronous: bool) -> None:
    """Swap the classes of the client and of the HTTP client inside it."""
    _swap_http(client, asynchronous)
    swap(client, _async_methods if asynchronous else _sync_methods)


def _swap_http(client: Any, asynchronous: bool) -> bool:
    """Whether the HTTP client inside is one that opens calls; it may have been replaced since, or be shared."""
    http = client._client
    if not is_swapped(http):
        if not any(kind.__module__.partition(".")[0] == "httpx" for kind in http.__class__.__mro__):
            return False
        swap(http, _async_send if asynchronous else _sync_send)
    return True


def _sync_methods(base: Any) -> dict[str, Any]:
    def _request(self: Any, *args: Any, **kwargs: Any) -> Any:
        reader = _reader()
        kwargs = _carrying(self, args, kwargs, reader, False) or kwargs
        answer = base._request(self, *args, **kwargs)
        _watch(reader, answer)
        return answer

    return {"_request": _request}


def _async_methods(base: Any) -> dict[str, Any]:
    async def _request(self: Any, *args: Any, **kwargs: Any) -> Any:
        reader = _reader()
        kwargs = _carrying(self, args, kwargs, reader, True) or kwargs
        answer = await base._request(self, *args, **kwargs)
        _watch(reader, answer)
        return answer

    return {"_request": _request}


@guarded
def _reader() -> Reader:
    return Reader()


@guarded
def _watch(reader: Reader | None, answer: Any) -> None:
    if reader is not None:
        reader.watch(answer)


@guarded
def _carrying(
    client: Any, args: tuple[Any, ...], kwargs: dict[str, Any], reader: Reader | None, asynchronous: bool
) -> dict[str, Any] | None:
    method = kwargs["method"] if "method" in kwargs else args[1]
    url = kwargs["url"] if "url" in kwargs else args[-1]
    form = route("ollama", method, str(url))
    if form is None or not _swap_http(client, asynchronous):
        return None
    called = _Called(form, model_of(kwargs.get("json")), otel_context.get_current(), reader)
    return {**kwargs, "extensions": {**(kwargs.get("extensions") or {}), _CALLED: called}}


def _sync_send(base: Any) -> dict[str, Any]:
    def send(self: Any, request: Any, **kwargs: Any) -> Any:
        call = entered = None
        try:
            call = _begin(request.extensions.pop(_CALLED, None), request)
            attempt = _attempt(call, request)
            if attempt is None:
                response = base.send(self, request, **kwargs)
            else:
                entered = enter(call)
                plain = bool(is_librarys(base.send))
                response = send_once(attempt, base.send, (self, request), kwargs, plain=plain)
        except BaseException as error:
            leave(entered)
            if call is not None:
                call.settle(error)
            raise
        leave(entered)
        if call is not None:
            call.settle()
        return response

    return {"send": send}


def _async_send(base: Any) -> dict[str, Any]:
    async def send(self: Any, request: Any, **kwargs: Any) -> Any:
        call = entered = None
        try:
            call = _begin(request.extensions.pop(_CALLED, None), request)
            attempt = _attempt(call, request)
            if attempt is None:
                response = await base.send(self, request, **kwargs)
            else:
                entered = enter(call)
                plain = bool(is_librarys(base.send))
                response = await asend_once(attempt, base.send, (self, request), kwargs, plain=plain)
        except BaseException as error:
            leave(entered)
            if call is not None:
                call.settle(error)
            raise
        leave(entered)
        if call is not None:
            call.settle()
        return response

    return {"send": send}


@guarded
def _begin(called: _Called | None, request: Any) -> ModelCall | None:
    if called is None:
        return None
    url = request.url
    key = request.headers.get("authorization", "").removeprefix("Bearer ")
    target = Target(called.form, ollama_chat.PROVIDER, url.host, port_of(url), (key,))
    return begin(target, called.model, called.context, called.reader)


@guarded
def _attempt(call: ModelCall | None, request: Any) -> HttpAttempt | None:
    return None if call is None else call.attempt(body_of(request) or b"", keys_of(request) or ())
