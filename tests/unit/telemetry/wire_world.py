"""Model servers in process: a transport that answers as told, and clients of each kind on top of it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import httpx
import httpx2
import ollama
import openai
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from spanseal.telemetry.active import Active, Capture, activate
from spanseal.telemetry.capture.streams.open_calls import drain
from spanseal.telemetry.instrument import instrument

KINDS = ("openai", "ollama")
KEY = "key-that-nobody-may-see-0123456789"


@dataclass
class Answer:
    """What the server does with one request: a whole ``body``, or ``pieces`` of a stream, then maybe a ``fault``.

    ``stall`` says that an asynchronous body then goes silent.
    """

    status: int = 200
    body: Any = None
    pieces: Sequence[bytes] = ()
    headers: dict[str, str] = field(default_factory=dict[str, str])
    fault: BaseException | None = None
    refuse: Exception | None = None
    stall: bool = False


def whole(kind: str, text: str = "hello", **more: Any) -> Answer:
    """An answer without stream."""
    if kind == "ollama":
        message = {"role": "assistant", "content": text}
        return Answer(body={"model": "m", "message": message, "done": True, "done_reason": "stop", **more})
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return Answer(body={"id": "r1", "model": "m-1", "choices": [choice], **more})


def stream(
    kind: str, texts: Sequence[str] = ("he", "llo"), *, done: bool = True, fault: Exception | None = None
) -> Answer:
    """An answer in pieces, as that server sends them."""
    pieces = [piece(kind, text) for text in texts]
    if done:
        end = {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
        nothing: dict[str, Any] = {}
        last = {
            "id": "r1",
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": nothing, "finish_reason": "stop"}],
        }
        pieces += [line(end)] if kind == "ollama" else [event(last), b"data: [DONE]\n\n"]
    form = "application/x-ndjson" if kind == "ollama" else "text/event-stream"
    return Answer(pieces=pieces, headers={"content-type": form}, fault=fault)


def piece(kind: str, text: str) -> bytes:
    """One chunk with this text."""
    if kind == "ollama":
        return line({"model": "m", "message": {"role": "assistant", "content": text}, "done": False})
    return event(
        {
            "id": "r1",
            "object": "chat.completion.chunk",
            "model": "m-1",
            "choices": [{"index": 0, "delta": {"content": text}}],
        }
    )


def event(value: Any) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def line(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


@dataclass
class World:
    """A client of a kind, the requests that its server saw, and the spans that came out."""

    kind: str
    client: Any
    requests: list[Any]
    exporter: InMemorySpanExporter

    def spans(self) -> list[ReadableSpan]:
        """Every chat span that has ended so far, dropped ones included."""
        assert drain(5.0)
        return [span for span in self.exporter.get_finished_spans() if span.name.startswith("chat")]

    def attributes(self) -> dict[str, Any]:
        """The only chat span's attributes."""
        return attributes_of(self.span())

    def span(self) -> ReadableSpan:
        """The only chat span."""
        (span,) = self.spans()
        return span

    def ask(self, **more: Any) -> Any:
        """Call the client; a stream, a body or an awaitable of one."""
        messages = [{"role": "user", "content": "hi"}]
        if self.kind == "ollama":
            return self.client.chat(model="m", messages=messages, **more)
        return self.client.chat.completions.create(model="m", messages=messages, **more)


def attributes_of(span: ReadableSpan) -> dict[str, Any]:
    """A span's attributes as a plain dict."""
    return dict(cast("Mapping[str, Any]", span.attributes or {}))


@contextmanager
def recording(capture: Capture = "full") -> Generator[InMemorySpanExporter]:
    """Spans made inside are kept in memory."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    before = activate(Active(capture=capture, provider=provider))
    try:
        yield exporter
    finally:
        assert drain(5.0)
        activate(before)
        provider.shutdown()


@contextmanager
def world(
    kind: str, answers: Sequence[Answer], *, asynchronous: bool = False, capture: Capture = "full", **client: Any
) -> Generator[World]:
    """An instrumented client whose server gives ``answers`` one after the other, the last one again and again."""
    with recording(capture) as exporter:
        seen: list[Any] = []
        bare = bare_client(kind, answers, seen, asynchronous=asynchronous, **client)
        yield World(kind, instrument(bare), seen, exporter)


def bare_client(
    kind: str, answers: Sequence[Answer], seen: list[Any], *, asynchronous: bool = False, **client: Any
) -> Any:
    """The client before anything is done to it."""
    handler = _handler(httpx if kind == "ollama" else httpx2, answers, seen, asynchronous=asynchronous)
    if kind == "ollama":
        made: Any = ollama.AsyncClient if asynchronous else ollama.Client
        headers = {"authorization": f"Bearer {KEY}"}
        return made("http://ollama.test:11434", transport=httpx.MockTransport(handler), headers=headers, **client)
    transport = httpx2.MockTransport(handler)
    shared: dict[str, Any] = {"api_key": KEY, "base_url": "http://openai.test:8080/v1", "max_retries": 0, **client}
    if asynchronous:
        return openai.AsyncOpenAI(http_client=httpx2.AsyncClient(transport=transport), **shared)
    return openai.OpenAI(http_client=httpx2.Client(transport=transport), **shared)


def _handler(library: Any, answers: Sequence[Answer], seen: list[Any], *, asynchronous: bool) -> Callable[[Any], Any]:
    class Body(library.AsyncByteStream if asynchronous else library.SyncByteStream):
        def __init__(self, answer: Answer) -> None:
            self.answer = answer

        def __iter__(self) -> Iterator[bytes]:
            yield from self.answer.pieces
            if self.answer.fault is not None:
                raise self.answer.fault

        async def __aiter__(self) -> AsyncIterator[bytes]:
            for data in self.answer.pieces:
                yield data
            if self.answer.stall:
                await asyncio.sleep(3600)
            if self.answer.fault is not None:
                raise self.answer.fault

    def handler(request: Any) -> Any:
        answer = answers[min(len(seen), len(answers) - 1)]
        seen.append(request)
        if answer.refuse is not None:
            raise answer.refuse
        if answer.pieces or answer.fault:
            return library.Response(answer.status, headers=answer.headers, stream=Body(answer))
        if isinstance(answer.body, bytes):
            return library.Response(answer.status, headers=answer.headers, content=answer.body)
        return library.Response(answer.status, headers=answer.headers, json=answer.body)

    return handler
