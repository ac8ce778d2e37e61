"""OpenAI clients (sync, async, Azure, subclasses): one span for each logical call that is a model call.

The client's class is swapped for a subclass of itself: ``request()`` is the logical call, retries included,
``_send_request()`` one attempt. Resources, ``with_options()``, raw and streaming responses and ``client.post`` all pass
through the two. Which requests are model calls says ``genai.wire.route``; the rest passes untouched. May import the
siblings and capture; takes the client's class from the client, imports no openai.
"""

from __future__ import annotations

from typing import Any, Final

from spanseal.genai import openai_chat, semconv
from spanseal.genai.wire import route
from spanseal.genai.wire_json import loads_fast
from spanseal.telemetry.capture.call import ModelCall, Target, begin
from spanseal.telemetry.capture.clients.class_swap import swap
from spanseal.telemetry.capture.clients.sending import asend_once, body_of, is_librarys, keys_of, port_of, send_once
from spanseal.telemetry.capture.clients.under_way import current_call, enter, leave
from spanseal.telemetry.capture.request import model_of
from spanseal.telemetry.capture.streams.http_attempt import HttpAttempt
from spanseal.telemetry.guard import guarded

_SDK: Final = "openai._base_client"
_AZURE_HOSTS: Final = (".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com")


def swap_client(client: Any, *, asynchronous: bool) -> None:
    """Swap the client's class for its instrumented one."""
    swap(client, _async_methods if asynchronous else _sync_methods)


def _sync_methods(base: Any) -> dict[str, Any]:
    def request(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = entered = None
        try:
            call = _begin(self, args, kwargs)
            entered = enter(call)
            result = base.request(self, *args, **kwargs)
        except BaseException as error:
            leave(entered)
            if call is not None:
                call.settle(error)
            raise
        leave(entered)
        if call is not None:
            call.settle(handed=result)
        return result

    def _send_request(self: Any, *args: Any, **kwargs: Any) -> Any:
        attempt = _attempt(args, kwargs)
        if attempt is None:
            return base._send_request(self, *args, **kwargs)
        plain = bool(_is_plain(self, base))
        return send_once(attempt, base._send_request, (self, *args), kwargs, plain=plain)

    return {"request": request, "_send_request": _send_request}


def _async_methods(base: Any) -> dict[str, Any]:
    async def request(self: Any, *args: Any, **kwargs: Any) -> Any:
        call = entered = None
        try:
            call = _begin(self, args, kwargs)
            entered = enter(call)
            result = await base.request(self, *args, **kwargs)
        except BaseException as error:
            leave(entered)
            if call is not None:
                call.settle(error)
            raise
        leave(entered)
        if call is not None:
            call.settle(handed=result)
        return result

    async def _send_request(self: Any, *args: Any, **kwargs: Any) -> Any:
        attempt = _attempt(args, kwargs)
        if attempt is None:
            return await base._send_request(self, *args, **kwargs)
        plain = bool(_is_plain(self, base))
        return await asend_once(attempt, base._send_request, (self, *args), kwargs, plain=plain)

    return {"request": request, "_send_request": _send_request}


@guarded
def _begin(client: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> ModelCall | None:
    options = kwargs["options"] if "options" in kwargs else args[1]
    form = route("openai", options.method, str(options.url))
    if form is None:
        return None
    model = model_of(options.extra_json) or model_of(options.json_data) or _model_in(getattr(options, "content", None))
    return begin(target_of(client, form), model or "")


@guarded
def _model_in(content: object) -> str:
    """The model that a body made by the program names."""
    if not isinstance(content, bytes | str):
        return ""
    try:
        return model_of(loads_fast(content))
    except ValueError:
        return ""


def target_of(client: Any, form: str = openai_chat.FORMAT) -> Target:
    """Whom an OpenAI client calls, in the wire format ``form``."""
    url = client.base_url
    key = getattr(client, "api_key", "")
    return Target(form, _provider(client, url.host), url.host, port_of(url), (key,) if isinstance(key, str) else ())


def _provider(client: Any, host: str) -> str:
    azure = host.endswith(_AZURE_HOSTS) or hasattr(client, "_azure_deployment")  # what its own clients all have
    return semconv.PROVIDER_AZURE_OPENAI if azure else openai_chat.PROVIDER


@guarded
def _attempt(args: tuple[Any, ...], kwargs: dict[str, Any]) -> HttpAttempt | None:
    call = current_call()
    if call is None:
        return None
    request = kwargs["request"] if "request" in kwargs else args[0]
    return call.attempt(body_of(request) or b"", keys_of(request) or ())


@guarded
def _is_plain(client: Any, base: Any) -> bool:
    own = getattr(base._send_request, "__globals__", {}).get("__name__") == _SDK
    return own and bool(is_librarys(client._client.send))
