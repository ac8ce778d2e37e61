"""OpenAI and every compatible server: Azure, Groq, Together, vLLM, LM Studio, llama.cpp.

Calls go through the SDK's generic ``post`` with our own body: the SDK's retries, authentication and errors stay in
use, its typed transformation of the body, which costs most of a call's time, does not.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, ClassVar, TypeVar, cast

from spanseal import settings
from spanseal.adapters.base import LLMAdapter
from spanseal.adapters.loop_clients import LoopClients
from spanseal.adapters.options import check_options
from spanseal.adapters.parameter_rule import ParameterRule
from spanseal.adapters.provider_errors import malformed, provider_error, unsent
from spanseal.adapters.stream_head import StreamHead
from spanseal.errors import AuthenticationError, MalformedResponseError, ProviderError, UsageError
from spanseal.genai import openai_chat
from spanseal.genai.messages import ChatRequest, Chunk, LLMResponse
from spanseal.genai.wire_json import JsonObject, as_map, is_map, loads_fast, loads_received
from spanseal.telemetry.capture.call import noting
from spanseal.telemetry.capture.clients.openai import target_of
from spanseal.telemetry.instrument import instrument

try:
    import httpx2
    import openai
    from openai import AsyncStream, Stream
except ImportError as error:  # pragma: no cover - depends on what is installed
    raise UsageError("OpenAIAdapter needs the openai package: pip install 'spanseal[openai]'") from error

_T = TypeVar("_T")
_NO_KEY = "not-needed"


class OpenAIAdapter(LLMAdapter):
    """A model behind the OpenAI chat completions API.

    Give a ``base_url`` (often ending in ``/v1``) and a key, or your own ``client`` (``openai.OpenAI``,
    ``AzureOpenAI``) and ``async_client``: the adapter works on an instrumented copy and leaves yours alone, in
    whatever loop it is used; of its own async clients it has one for each event loop, closed with the loop. The key
    is ``api_key``, else ``OPENAI_API_KEY``; a server with a ``base_url`` may need none. ``timeout`` is in seconds for
    one attempt, ``max_retries`` the SDK's retries of one call.

    Newer models refuse ``max_tokens`` or ``temperature``. The rule: on a 400 that says so, ``max_tokens`` is sent as
    ``max_completion_tokens`` and ``temperature`` is left out; the call is made once more for each of the two, and the
    adapter remembers. The refused call is a span of its own, the changed ones carry an event.

    Raises :class:`spanseal.errors.AuthenticationError` where there is no key for OpenAI itself.

    >>> OpenAIAdapter("gpt-5-mini", base_url="http://127.0.0.1:8080/v1").provider
    'openai'
    """

    client_makes_spans: ClassVar[bool] = True

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        client: openai.OpenAI | None = None,
        async_client: openai.AsyncOpenAI | None = None,
        max_retries: int | None = None,
        timeout: float | None = None,
    ) -> None:
        if client is not None or async_client is not None:
            if base_url is not None or api_key is not None:
                raise UsageError("give OpenAIAdapter either a client or base_url and api_key, not both")
            self._key_setting = "the client's key"
            _refuse(client, openai.OpenAI, "client")
            _refuse(async_client, openai.AsyncOpenAI, "async_client")
        check_options("OpenAIAdapter", model=model, url=base_url, timeout=timeout, max_retries=max_retries)
        own: LoopClients[openai.AsyncOpenAI] | None = None
        if client is None and async_client is None:
            client, own = _own_clients(base_url, api_key)
            self._key_setting = "api_key= or OPENAI_API_KEY"
        self.model = model
        self._own = own
        self._client = None if client is None else instrument(copy.copy(client))
        self._async_client = None if async_client is None else instrument(copy.copy(async_client))
        self._rule = ParameterRule()
        self._options: dict[str, Any] = {"security": {"bearer_auth": True}}
        if max_retries is not None:
            self._options["max_retries"] = max_retries
        if timeout is not None:
            self._options["timeout"] = timeout
        self._target = target_of(self._client or self._async_client)
        self.provider = self._target.provider

    def _chat(self, request: ChatRequest) -> LLMResponse:
        client = self._client
        if client is None:
            raise UsageError("this OpenAIAdapter has an async client only: use acomplete(), or give client= too")
        response = self._ruled(request, False, lambda body: client.post(
            openai_chat.PATH, cast_to=httpx2.Response, body=body, options=cast("Any", self._options)
        ))
        return self._parsed(response)

    async def _achat(self, request: ChatRequest) -> LLMResponse:
        client = await self._async_here()
        if client is None:
            return await super()._achat(request)
        response = await self._aruled(request, False, lambda body: client.post(
            openai_chat.PATH, cast_to=httpx2.Response, body=body, options=cast("Any", self._options)
        ))
        return self._parsed(response)

    def _stream(self, request: ChatRequest) -> Iterator[Chunk]:
        client = self._client
        if client is None:
            raise UsageError("this OpenAIAdapter has an async client only: use astream(), or give client= too")
        stream = self._ruled(request, True, lambda body: client.post(
            openai_chat.PATH, cast_to=cast("type[JsonObject]", dict), body=body, stream=True,
            stream_cls=Stream[dict[str, Any]], options=cast("Any", self._options),
        ))
        assembler, head = openai_chat.StreamAssembler(), StreamHead(stream)
        try:
            for chunk in stream:
                new = assembler.feed(as_map(chunk))
                if new is not None:
                    yield new
        except (openai.OpenAIError, ValueError) as error:
            raise self._error(error) from error
        finally:
            stream.close()
        yield Chunk(response=self._whole(self._assembled(assembler, head)))

    async def _astream(self, request: ChatRequest) -> AsyncIterator[Chunk]:
        client = await self._async_here()
        if client is None:
            raise UsageError("this OpenAIAdapter has a sync client only: use stream(), or give async_client= too")
        stream = await self._aruled(request, True, lambda body: client.post(
            openai_chat.PATH, cast_to=cast("type[JsonObject]", dict), body=body, stream=True,
            stream_cls=AsyncStream[dict[str, Any]], options=cast("Any", self._options),
        ))
        assembler, head = openai_chat.StreamAssembler(), StreamHead(stream)
        try:
            async for chunk in stream:
                new = assembler.feed(as_map(chunk))
                if new is not None:
                    yield new
        except (openai.OpenAIError, ValueError) as error:
            raise self._error(error) from error
        finally:
            await stream.close()
        yield Chunk(response=self._whole(self._assembled(assembler, head)))

    async def _async_here(self) -> openai.AsyncOpenAI | None:
        return self._async_client if self._own is None else await self._own.here()

    def _ruled(self, request: ChatRequest, stream: bool, post: Callable[[JsonObject], _T]) -> _T:
        body = openai_chat.request_body(request, stream=stream)
        while True:
            sent = self._rule.applied(body)
            try:
                with noting(*self._rule.events(body, sent)):
                    return post(sent)
            except (openai.OpenAIError, TypeError, ValueError) as error:
                mine = self._unsent(error)
                if not self._rule.learns(mine, sent):
                    raise mine from error

    async def _aruled(self, request: ChatRequest, stream: bool, post: Callable[[JsonObject], Awaitable[_T]]) -> _T:
        body = openai_chat.request_body(request, stream=stream)
        while True:
            sent = self._rule.applied(body)
            try:
                with noting(*self._rule.events(body, sent)):
                    return await post(sent)
            except (openai.OpenAIError, TypeError, ValueError) as error:
                mine = self._unsent(error)
                if not self._rule.learns(mine, sent):
                    raise mine from error

    def _unsent(self, error: Exception) -> ProviderError:
        if isinstance(error, openai.OpenAIError):
            return self._error(error)
        raise unsent(error) from error

    def _error(self, error: Exception) -> ProviderError:
        return provider_error(
            error, self._where, key_setting=self._key_setting, secrets=self._target.secrets
        )

    @property
    def _where(self) -> str:
        url: httpx2.URL = cast("Any", self._client or self._async_client).base_url
        return f"{url.scheme}://{url.host}{f':{url.port}' if url.port else ''}{url.path}".rstrip("/")

    def _parsed(self, response: httpx2.Response) -> LLMResponse:
        try:
            body = _exact(response.content)
        except ValueError as error:
            kind = response.headers.get("content-type", "no content type")
            raise MalformedResponseError(
                f"{self._where} answered with {kind} that is not JSON: is the URL that of an OpenAI-compatible API "
                "(often …/v1), or is a proxy in between?",
                status=response.status_code,
            ) from error
        return self._whole(body)

    def _whole(self, body: object) -> LLMResponse:
        try:
            return openai_chat.parse_response(body)
        except MalformedResponseError as error:
            raise malformed(error, self._where, self._target.secrets) from None

    def _assembled(self, assembler: openai_chat.StreamAssembler, head: StreamHead) -> JsonObject:
        body = assembler.body()
        if not body["choices"]:
            heard = head.document() or body
            if openai_chat.server_words(heard):
                told = MalformedResponseError(openai_chat.fault_of(heard))
                raise malformed(told, self._where, self._target.secrets)
            raise MalformedResponseError(f"{self._where} sent no event of a stream: does the server know stream=true?")
        fault = openai_chat.cut_short((), body)
        if fault:
            raise MalformedResponseError(f"{self._where}: {fault}")
        return body


def _own_clients(base_url: str | None, api_key: str | None) -> tuple[openai.OpenAI, LoopClients[openai.AsyncOpenAI]]:
    given = api_key or settings.openai_api_key()
    key = given.strip() if isinstance(given, str) else given  # a key from a file ends with a line break
    key = key or (_NO_KEY if base_url else None)
    if key is None:
        raise AuthenticationError("no API key: pass api_key=, set OPENAI_API_KEY, or give a base_url")
    check_options("OpenAIAdapter", key=key)
    return openai.OpenAI(api_key=key, base_url=base_url), LoopClients(lambda: instrument(openai.AsyncOpenAI(
        # the SDK's own default would close itself in whatever loop runs when it is dropped
        api_key=key, base_url=base_url, http_client=openai.DefaultAsyncHttpxClient(),
    )))


def _exact(data: bytes) -> JsonObject:
    """Arguments and texts are strings on this wire, so the fast parser loses nothing that we read."""
    try:
        body = loads_fast(data)
    except ValueError:  # a lone surrogate, a byte order mark or NaN, which the clients take; or no JSON at all
        return loads_received(data)
    return body if is_map(body) else loads_received(data)


def _refuse(client: object, wanted: type, argument: str) -> None:
    if client is not None and not isinstance(client, wanted):
        kind = type(client).__name__
        raise UsageError(f"OpenAIAdapter: {argument}= is an openai.{wanted.__name__} (or its Azure form), not {kind}")
