"""What the tests of checks, control, tools and agent share: a small scripted model, two tools, a recorder of spans."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from spanseal.genai.messages import ChatRequest, Chunk, LLMResponse, ToolCall, Usage
from spanseal.telemetry.active import Active, activate
from spanseal.tools.tool import tool

Scripted = LLMResponse | str | ToolCall | Sequence[ToolCall] | BaseException


@tool
def multiply(a: int, b: int) -> int:
    """Multiply two numbers."""
    return a * b


@tool
def broken() -> str:
    """Always fails."""
    raise RuntimeError("no paper")


def answer(item: Scripted, tokens: tuple[int, int] = (10, 5)) -> LLMResponse:
    """A scripted item as a response."""
    if isinstance(item, LLMResponse):
        return item
    if isinstance(item, BaseException):
        raise item
    usage = Usage(*tokens)
    if isinstance(item, str):
        return LLMResponse(item, "tiny", *tokens, finish_reason="stop", usage=usage)
    calls = (item,) if isinstance(item, ToolCall) else tuple(item)
    return LLMResponse("", "tiny", *tokens, tool_calls=calls, finish_reason="tool_call", usage=usage)


class TinyModel:
    """Answers one item of a script after the other and keeps what it was asked."""

    provider = "tiny"
    model = "tiny"

    def __init__(self, *script: Scripted) -> None:
        self.script = list(script)
        self.requests: list[ChatRequest] = []

    def chat(self, request: ChatRequest) -> LLMResponse:
        self.requests.append(request)
        return answer(self.script.pop(0))

    async def achat(self, request: ChatRequest) -> LLMResponse:
        return self.chat(request)

    def chat_stream(self, request: ChatRequest) -> Iterator[Chunk]:
        raise NotImplementedError

    def achat_stream(self, request: ChatRequest) -> AsyncIterator[Chunk]:
        raise NotImplementedError


def call(name: str, call_id: str = "c1", **arguments: Any) -> ToolCall:
    """A tool call with these arguments."""
    return ToolCall(call_id, name, json.dumps(arguments))


class Recorder:
    """The spans that ended inside :func:`recorded`."""

    def __init__(self, exporter: InMemorySpanExporter) -> None:
        self._exporter = exporter

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self._exporter.get_finished_spans())

    @property
    def names(self) -> list[str]:
        return [span.name for span in sorted(self.spans, key=lambda span: span.start_time or 0)]

    def all(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        (span,) = self.all(name)
        return span


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def is_error(span: ReadableSpan) -> bool:
    return span.status.status_code is StatusCode.ERROR


def parent_of(span: ReadableSpan, spans: Sequence[ReadableSpan]) -> str:
    """The parent's name, "" for a root."""
    if span.parent is None:
        return ""
    wanted = span.parent.span_id
    return next(other.name for other in spans if other.context is not None and other.context.span_id == wanted)


@contextmanager
def recorded(capture: Literal["off", "full"] = "full") -> Generator[Recorder]:
    """Record spans in memory with this capture mode."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    before = activate(Active(capture=capture, provider=provider, configured=True))
    try:
        yield Recorder(exporter)
    finally:
        activate(before)
        provider.shutdown()
