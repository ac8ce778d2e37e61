"""OpenAI clients (sync, async, Azure, subclasses): one span for each ``POST /chat/completions``, retries included.

The client's class is swapped for a subclass of itself: ``request()`` is the logical call, ``_send_request()`` one
attempt. Resources, ``with_options()``, raw and streaming responses and ``client.post`` all pass through the two. Other
endpoints pass untouched. May import the siblings; takes the client's class from the client, imports no openai.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from spanseal.genai import openai_chat, semconv
from spanseal.genai.wire_json import as_map
from spanseal.telemetry.capture.call import ModelCall, Target, begin, current, current_call
from spanseal.telemetry.capture.class_swap import swapped_class
from spanseal.telemetry.capture.http_attempt import HttpAttempt
from spanseal.telemetry.capture.request import model_of
from spanseal.telemetry.capture.response_tee import answered
from spanseal.telemetry.guard import guarded


def swap(client: Any, *, asynchronous: bool) -> None:
    """Swap the client's class for its instrumented one."""
    client.__class__ = _class_for(client.__class__, asynchronous)


@cache
def _class_for(base: Any, asynchronous: bool) -> type:
    return swapped_class(base, _async_methods(base) if asynchronous else _sync_methods(base))


def _sync_methods(base: Any) -> dict[str, Any]:
    def request(self: Any, cast_to: Any, options: Any, **kwargs: Any) -> Any:
        call = _begin(self, options)
        with current(call):
            if call is None:
                return base.request(self, cast_to, options, **kwargs)
            try:
                result = base.request(self, cast_to, options, **kwargs)
            except BaseException as error:
                call.settle(error)
                raise
        call.settle()
        return result

    def _send_request(self: Any, request: Any, *, stream: bool, **kwargs: Any) -> Any:
        attempt = _attempt(request)
        if attempt is None:
            return base._send_request(self, request, stream=stream, **kwargs)
        try:
            response = base._send_request(self, request, stream=True, **kwargs)
        except BaseException as error:
            attempt.call.note(attempt, error)
            raise
        answered(attempt, response, stream=stream, asynchronous=False)
        if not stream:
            try:
                response.read()
            except BaseException:
                response.close()
                raise
            attempt.whole(response.content)
        return response

    return {"request": request, "_send_request": _send_request}


def _async_methods(base: Any) -> dict[str, Any]:
    async def request(self: Any, cast_to: Any, options: Any, **kwargs: Any) -> Any:
        call = _begin(self, options)
        with current(call):
            if call is None:
                return await base.request(self, cast_to, options, **kwargs)
            try:
                result = await base.request(self, cast_to, options, **kwargs)
            except BaseException as error:
                call.settle(error)
                raise
        call.settle()
        return result

    async def _send_request(self: Any, request: Any, *, stream: bool, **kwargs: Any) -> Any:
        attempt = _attempt(request)
        if attempt is None:
            return await base._send_request(self, request, stream=stream, **kwargs)
        try:
            response = await base._send_request(self, request, stream=True, **kwargs)
        except BaseException as error:
            attempt.call.note(attempt, error)
            raise
        answered(attempt, response, stream=stream, asynchronous=True)
        if not stream:
            try:
                await response.aread()
            except BaseException:
                await response.aclose()
                raise
            attempt.whole(response.content)
        return response

    return {"request": request, "_send_request": _send_request}


@guarded
def _begin(client: Any, options: Any) -> ModelCall | None:
    if str(options.method).lower() != "post" or not str(options.url).endswith(openai_chat.PATH):
        return None
    body = as_map(options.json_data) | as_map(options.extra_json)
    return begin(target_of(client), model_of(body))


def target_of(client: Any) -> Target:
    """Whom an OpenAI client calls."""
    url = client.base_url
    azure = any(base.__name__ == "BaseAzureClient" for base in type(client).__mro__)
    key = getattr(client, "api_key", "")
    return Target(
        openai_chat.FORMAT, semconv.PROVIDER_AZURE_OPENAI if azure else openai_chat.PROVIDER, url.host,
        url.port or {"https": 443, "http": 80}.get(url.scheme), (key,) if isinstance(key, str) else (),
    )


@guarded
def _attempt(request: Any) -> HttpAttempt | None:
    call = current_call()
    return None if call is None else call.attempt(request.content)
