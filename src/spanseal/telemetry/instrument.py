"""``spanseal.instrument(client)``: an existing model client whose every model call becomes a span. Reversible.

Only this module, its two seams (``capture.clients``) and the zero-code entry touch other people's classes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final, TypeVar

from spanseal.errors import UsageError
from spanseal.telemetry.capture.clients import ollama, openai
from spanseal.telemetry.capture.clients.class_swap import is_swapped, swap_back

_log: Final = logging.getLogger("spanseal")
_T = TypeVar("_T")


def instrument(client: _T) -> _T:
    """Make every model call of ``client`` a span; the same object is returned, a second time changes nothing.

    Model calls are chat completions, responses, embeddings, and Ollama's chat, generate, embed and embeddings, in every
    way the client offers them (``parse``, ``stream``, ``with_raw_response``, ``with_streaming_response``, ``post``);
    everything else passes unrecorded, WebSockets (``realtime``, ``responses.connect``) too. ``client`` is an
    ``openai.OpenAI``, ``AsyncOpenAI`` or one of their Azure forms or subclasses, or an ``ollama.Client`` or
    ``AsyncClient``. Headers and keys are never recorded; exceptions pass unchanged. Raises
    :class:`spanseal.errors.UsageError` for anything else.

    >>> import ollama
    >>> client = ollama.Client()
    >>> instrument(client) is client
    True
    """
    if is_swapped(client):
        return client
    kinds = {f"{base.__module__.partition('.')[0]}.{base.__name__}" for base in client.__class__.__mro__}
    if kinds & {"openai.SyncAPIClient", "openai.AsyncAPIClient"}:
        _swap(client, openai.swap_client, asynchronous="openai.AsyncAPIClient" in kinds)
    elif kinds & {"ollama.Client", "ollama.AsyncClient"}:
        _swap(client, ollama.swap_client, asynchronous="ollama.AsyncClient" in kinds)
    else:
        raise UsageError(
            f"instrument() knows openai.OpenAI, AsyncOpenAI, their Azure forms, ollama.Client and AsyncClient, "
            f"not {type(client).__module__}.{type(client).__qualname__}"
        )
    return client


def _swap(client: object, swap_client: Callable[..., None], *, asynchronous: bool) -> None:
    try:
        swap_client(client, asynchronous=asynchronous)
    except Exception:  # noqa: BLE001 - a fault of ours must not cost the program its client (DESIGN 10.4)
        _log.warning("a client cannot be instrumented; it works on, and its calls are not recorded", exc_info=True)
        uninstrument(client)


def uninstrument(client: _T) -> _T:
    """Give ``client`` its own class back; streams that are being read still end their spans.

    >>> import ollama
    >>> client = instrument(ollama.Client())
    >>> type(uninstrument(client)) is ollama.Client
    True
    """
    inner: Any = getattr(client, "_client", None)
    swap_back(inner)
    swap_back(client)
    return client
