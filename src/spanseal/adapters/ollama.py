"""Ollama's own API, through the ollama client. For Ollama's OpenAI-compatible ``/v1`` use :class:`OpenAIAdapter`."""

from __future__ import annotations

import copy
import weakref
from collections.abc import AsyncIterator, Iterator
from typing import Any, ClassVar

from spanseal.adapters.base import LLMAdapter
from spanseal.adapters.loop_clients import LoopClients
from spanseal.adapters.options import check_options
from spanseal.adapters.provider_errors import malformed, provider_error, unsent
from spanseal.errors import MalformedResponseError, ProviderError, UsageError
from spanseal.genai import ollama_chat
from spanseal.genai.messages import ChatRequest, Chunk, LLMResponse
from spanseal.genai.wire_json import JsonObject, dumps
from spanseal.telemetry.instrument import instrument

try:
    import httpx
    import ollama
except ImportError as error:  # pragma: no cover - depends on what is installed
    raise UsageError("OllamaAdapter needs the ollama package: pip install 'spanseal[ollama]'") from error

_FAULTS = (ollama.ResponseError, ConnectionError, httpx.HTTPError, ValueError, TypeError, AttributeError)
"""The last three are what the client raises over lines that are no JSON objects."""


class OllamaAdapter(LLMAdapter):
    """A model behind Ollama's ``/api/chat``.

    ``host`` is the server (default: ``OLLAMA_HOST`` as the ollama client reads it, else ``http://127.0.0.1:11434``),
    ``timeout`` seconds for one call; or give your own ``client`` and ``async_client``: the adapter works on
    instrumented copies and leaves yours alone. Of its own async clients it has one for each event loop, closed with
    the loop. The body is ours, sent by the client's own request function, because
    its typed method drops the schema keywords that it does not know. Tool calls without an id get one that is marked
    (:func:`spanseal.genai.wire_json.synthetic_id`).

    >>> OllamaAdapter("smollm2", host="http://127.0.0.1:11434").provider
    'ollama'
    """

    client_makes_spans: ClassVar[bool] = True

    def __init__(
        self,
        model: str,
        *,
        host: str | None = None,
        client: ollama.Client | None = None,
        async_client: ollama.AsyncClient | None = None,
        timeout: float | None = None,
    ) -> None:
        if (client is not None or async_client is not None) and (host is not None or timeout is not None):
            raise UsageError("give OllamaAdapter either a client or host and timeout, not both")
        _refuse(client, ollama.Client, "client")
        _refuse(async_client, ollama.AsyncClient, "async_client")
        check_options("OllamaAdapter", model=model, url=host, timeout=timeout, schemes=())
        own: LoopClients[ollama.AsyncClient] | None = None
        if client is None and async_client is None:
            client = ollama.Client(host, timeout=timeout)
            weakref.finalize(self, client.close)  # nobody else can, and an open connection is a warning
            own = LoopClients(lambda: instrument(ollama.AsyncClient(host, timeout=timeout)))
        self.model = model
        self.provider = ollama_chat.PROVIDER
        self._own = own
        self._client: Any = None if client is None else instrument(_own_copy(client))
        self._async_client: Any = None if async_client is None else instrument(_own_copy(async_client))

    def _chat(self, request: ChatRequest) -> LLMResponse:
        return self._whole(self._sent(ollama_chat.request_body(request, stream=False)))

    async def _achat(self, request: ChatRequest) -> LLMResponse:
        if self._async_client is None and self._own is None:
            return await super()._achat(request)
        return self._whole(await self._asent(ollama_chat.request_body(request, stream=False)))

    def _stream(self, request: ChatRequest) -> Iterator[Chunk]:
        assembler, body = ollama_chat.StreamAssembler(), ollama_chat.request_body(request, stream=True)
        parts = self._sent(body)
        try:
            for part in parts:
                new = assembler.feed(part)
                if new is not None:
                    yield new
        except _FAULTS as error:
            raise self._error(error, body) from error
        finally:
            parts.close()
        yield Chunk(response=self._finished(assembler.body()))

    async def _astream(self, request: ChatRequest) -> AsyncIterator[Chunk]:
        assembler, body = ollama_chat.StreamAssembler(), ollama_chat.request_body(request, stream=True)
        parts = await self._asent(body)
        try:
            async for part in parts:
                new = assembler.feed(part)
                if new is not None:
                    yield new
        except _FAULTS as error:
            raise self._error(error, body) from error
        finally:
            await parts.aclose()
        yield Chunk(response=self._finished(assembler.body()))

    def _sent(self, body: JsonObject) -> Any:
        if self._client is None:
            raise UsageError("this OllamaAdapter has an async client only: use its a… methods, or give client= too")
        try:
            return self._client._request(dict, "POST", ollama_chat.PATH, json=body, stream=body["stream"])
        except _FAULTS as error:
            raise self._error(error, body) from error

    async def _asent(self, body: JsonObject) -> Any:
        client: Any = self._async_client if self._own is None else await self._own.here()
        if client is None:
            raise UsageError("this OllamaAdapter has a sync client only: call it without await, or give async_client=")
        try:
            return await client._request(dict, "POST", ollama_chat.PATH, json=body, stream=body["stream"])
        except _FAULTS as error:
            raise self._error(error, body) from error

    def _error(self, error: Exception, body: JsonObject) -> ProviderError:
        try:
            dumps(body)
        except (TypeError, ValueError) as ours:
            raise unsent(ours) from error
        where, secrets = self._place
        return provider_error(error, where, key_setting="OLLAMA_API_KEY", secrets=secrets)

    @property
    def _place(self) -> tuple[str, tuple[str, ...]]:
        """The server's URL, and the keys that no error may show."""
        http: Any = (self._client or self._async_client)._client
        return str(http.base_url).rstrip("/"), (http.headers.get("authorization", "").removeprefix("Bearer "),)

    def _finished(self, body: JsonObject) -> LLMResponse:
        fault = ollama_chat.cut_short((), body)
        if fault:
            raise MalformedResponseError(f"{self._place[0]}: {fault}")
        return self._whole(body)

    def _whole(self, body: object) -> LLMResponse:
        try:
            return ollama_chat.parse_response(body)
        except MalformedResponseError as error:
            raise malformed(error, *self._place) from None


def _refuse(client: object, wanted: type, argument: str) -> None:
    if client is not None and not isinstance(client, wanted):
        raise UsageError(f"OllamaAdapter: {argument}= is an ollama.{wanted.__name__}, not {type(client).__name__}")


def _own_copy(client: Any) -> Any:
    """A copy with an HTTP client of its own, which shares the caller's connections."""
    own = copy.copy(client)
    own._client = copy.copy(client._client)
    return own
