"""The class that users extend: one model behind one face, every call timed, counted and traced by the base itself."""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from spanseal.adapters.own_span import OwnSpan
from spanseal.errors import UsageError
from spanseal.genai.messages import ChatRequest, Chunk, LLMResponse, Message, ToolSpec, conversation
from spanseal.telemetry.active import active
from spanseal.telemetry.capture.streams.reader import Reader

_COUNTING = threading.Lock()
_CLIENT_OPTIONS = frozenset({"stream", "extra_body", "extra_headers", "extra_query", "timeout", "max_retries"})
_CLIENT_OPTIONS_REMEDY = (
    "stream with stream(), give further fields by their own names, the rest to the adapter or its client"
)


class LLMAdapter(ABC):
    """A model that can be asked. A subclass gives ``_chat``; the other three have defaults made of it.

    ``provider`` is the convention's provider name, ``model`` the model asked where a request names none, ``calls``
    the number of calls begun so far. Whatever a subclass does, its calls are timed (``latency_ms``, wall time, the
    client's retries included), counted, and each is one chat span.

    >>> class Echo(LLMAdapter):
    ...     provider, model = "echo", "echo-1"
    ...     def _chat(self, request):
    ...         return LLMResponse(request.messages[-1].text, self.model)
    >>> echo = Echo()
    >>> echo.complete("hello").text, echo.calls
    ('hello', 1)
    """

    provider: str = "custom"
    model: str = ""
    calls: int = 0
    client_makes_spans: ClassVar[bool] = False
    """True where the subclass calls an instrumented client, which makes the span from the wire itself."""

    @abstractmethod
    def _chat(self, request: ChatRequest) -> LLMResponse:
        """Ask the model. Raise :class:`spanseal.errors.ProviderError` when the provider is at fault."""

    async def _achat(self, request: ChatRequest) -> LLMResponse:
        """Ask the model, awaitable. Default: :meth:`_chat` in a thread."""
        return await asyncio.to_thread(self._chat, request)

    def _stream(self, request: ChatRequest) -> Iterator[Chunk]:
        """Ask the model for chunks; the last one carries the response. Default: one chunk from :meth:`_chat`."""
        response = self._chat(request)
        yield Chunk(response.text, response.reasoning, response)

    async def _astream(self, request: ChatRequest) -> AsyncIterator[Chunk]:
        """Ask the model for chunks, awaitable. Default: one chunk from :meth:`_achat`."""
        response = await self._achat(request)
        yield Chunk(response.text, response.reasoning, response)

    def complete(
        self,
        messages: Sequence[Message] | str,
        *,
        temperature: float | None = None,
        max_tokens: int | None = None,
        tools: Sequence[ToolSpec] = (),
        tool_choice: str | None = None,
        response_format: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> LLMResponse:
        """Ask for one answer. ``messages`` is a conversation, or a text as the user's only message.

        ``temperature`` is 0 to 2, ``tool_choice`` auto, none, required or a tool's name, ``response_format`` a JSON
        Schema. Further options: ``top_p``, ``seed``, ``stop`` (texts), ``model``; anything else is sent as a field of
        the wire format. What is not given is not sent.
        Raises :class:`spanseal.errors.ProviderError`, whose subclass and message say what to do.
        """
        return self.chat(self.request(
            messages, temperature=temperature, max_tokens=max_tokens, tools=tools, tool_choice=tool_choice,
            response_format=response_format, **options,
        ))

    async def acomplete(
        self,
        messages: Sequence[Message] | str,
        *,
        temperature: float | None = None,
        max_tokens: int | None = None,
        tools: Sequence[ToolSpec] = (),
        tool_choice: str | None = None,
        response_format: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> LLMResponse:
        """:meth:`complete`, awaitable."""
        return await self.achat(self.request(
            messages, temperature=temperature, max_tokens=max_tokens, tools=tools, tool_choice=tool_choice,
            response_format=response_format, **options,
        ))

    def stream(self, messages: Sequence[Message] | str, **options: Any) -> Iterator[Chunk]:
        """:meth:`complete` in chunks; the last chunk carries the response. Close the iterator to stop early."""
        return self.chat_stream(self.request(messages, **options))

    def astream(self, messages: Sequence[Message] | str, **options: Any) -> AsyncIterator[Chunk]:
        """:meth:`stream`, for ``async for``."""
        return self.achat_stream(self.request(messages, **options))

    def request(
        self,
        messages: Sequence[Message] | str,
        *,
        temperature: float | None = None,
        max_tokens: int | None = None,
        top_p: float | None = None,
        seed: int | None = None,
        stop: Sequence[str] = (),
        tools: Sequence[ToolSpec] = (),
        tool_choice: str | None = None,
        response_format: Mapping[str, Any] | None = None,
        model: str | None = None,
        **extra: Any,
    ) -> ChatRequest:
        """The request that :meth:`complete` sends for these arguments.

        Raises UsageError for what is no message, and for options of a client that are no fields of the wire format.
        """
        for name in _CLIENT_OPTIONS & extra.keys():
            raise UsageError(f"{name}= is no field of a request: {_CLIENT_OPTIONS_REMEDY}")
        for tool in tools or ():
            if not isinstance(tool, ToolSpec):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
                raise UsageError(f"tools: {type(tool).__name__} is no ToolSpec; a Tool has one: tool.spec")
        return ChatRequest(
            model or self.model, conversation(messages), temperature, max_tokens, top_p, seed,
            (stop,) if isinstance(stop, str) else tuple(stop or ()), tuple(tools or ()), tool_choice, response_format,
            extra,
        )

    def chat(self, request: ChatRequest) -> LLMResponse:
        """Ask for one answer; ``request.model`` empty means :attr:`model`."""
        request, started = self._begun(request)
        span = OwnSpan(self.provider, request, stream=False, enabled=not self.client_makes_spans)
        try:
            with span.offered():
                response = _whole(self._chat(request), self)
        except BaseException as error:
            span.failed(error)
            raise
        span.answered(response)
        return _timed(response, started)

    async def achat(self, request: ChatRequest) -> LLMResponse:
        """:meth:`chat`, awaitable."""
        request, started = self._begun(request)
        span = OwnSpan(self.provider, request, stream=False, enabled=not self.client_makes_spans)
        try:
            with span.offered():
                response = _whole(await self._achat(request), self)
        except BaseException as error:
            span.failed(error)
            raise
        span.answered(response)
        return _timed(response, started)

    def chat_stream(self, request: ChatRequest) -> Generator[Chunk]:
        """:meth:`chat` in chunks; the call begins with the first of them."""
        reader = Reader()
        return reader.watch(self._chunks(request, reader))

    def achat_stream(self, request: ChatRequest) -> AsyncGenerator[Chunk]:
        """:meth:`chat_stream`, for ``async for``."""
        reader = Reader()
        return reader.watch(self._achunks(request, reader))

    def _chunks(self, request: ChatRequest, reader: Reader) -> Generator[Chunk]:
        request, started = self._begun(request)
        span = OwnSpan(self.provider, request, stream=True, enabled=not self.client_makes_spans, reader=reader)
        chunks = iter(self._stream(request))
        try:
            while True:
                try:
                    with span.offered():  # not over the yield: the caller's own calls are not ours
                        chunk = _piece(next(chunks), self)
                except StopIteration:
                    return
                except BaseException as error:
                    span.failed(error)
                    raise
                yield _passed(span, chunk, started)
        finally:
            try:
                close = getattr(chunks, "close", None)
                if close is not None:
                    close()
            finally:
                span.stopped()

    async def _achunks(self, request: ChatRequest, reader: Reader) -> AsyncGenerator[Chunk]:
        request, started = self._begun(request)
        span = OwnSpan(self.provider, request, stream=True, enabled=not self.client_makes_spans, reader=reader)
        chunks = aiter(self._astream(request))
        try:
            while True:
                try:
                    with span.offered():
                        chunk = _piece(await anext(chunks), self)
                except StopAsyncIteration:
                    return
                except BaseException as error:
                    span.failed(error)
                    raise
                yield _passed(span, chunk, started)
        finally:
            try:
                close = getattr(chunks, "aclose", None)
                if close is not None and not getattr(chunks, "ag_running", False):  # a loop closes all at once
                    await close()
            finally:
                span.stopped()

    def _begun(self, request: ChatRequest) -> tuple[ChatRequest, float]:
        with _COUNTING:
            self.calls += 1
        if not request.model:
            request = replace(request, model=self.model)
        return request, active().effects.clock.monotonic()


def _whole(response: object, adapter: LLMAdapter) -> LLMResponse:
    if isinstance(response, LLMResponse):
        return response
    raise UsageError(f"{type(adapter).__name__} answered with {type(response).__name__}; an LLMResponse is expected")


def _piece(chunk: object, adapter: LLMAdapter) -> Chunk:
    if isinstance(chunk, Chunk):
        return chunk
    raise UsageError(f"{type(adapter).__name__} streamed {type(chunk).__name__}; Chunk values are expected")


def _timed(response: LLMResponse, started: float) -> LLMResponse:
    return replace(response, latency_ms=(active().effects.clock.monotonic() - started) * 1000)


def _passed(span: OwnSpan, chunk: Chunk, started: float) -> Chunk:
    span.piece(chunk.text)
    if chunk.response is None:
        return chunk
    span.answered(chunk.response)
    return replace(chunk, response=_timed(chunk.response, started))
