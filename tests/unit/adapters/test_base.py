"""The base class: whatever a subclass does, its calls are timed, counted, and one span each."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.trace import StatusCode
from tests.unit.telemetry.wire_world import Answer, attributes_of, bare_client, recording, stream, whole

from spanseal.adapters.base import LLMAdapter
from spanseal.adapters.factory import create_adapter
from spanseal.adapters.openai import OpenAIAdapter
from spanseal.errors import ProviderTimeoutError, UsageError
from spanseal.genai import semconv as sc
from spanseal.genai.chat_model import ChatModel
from spanseal.genai.messages import ChatRequest, Chunk, LLMResponse, Message
from spanseal.records.replay_read import rebuild, recorded_response
from spanseal.telemetry.capture.streams.open_calls import drain


class Echo(LLMAdapter):
    provider, model = "echo", "echo-1"

    def _chat(self, request: ChatRequest) -> LLMResponse:
        text = request.messages[-1].text
        if text == "fail":
            raise ProviderTimeoutError("too slow")
        return LLMResponse(text, request.model, prompt_tokens=2)


class Streaming(Echo):
    def _stream(self, request: ChatRequest) -> Iterator[Chunk]:
        for letter in "abc":
            yield Chunk(letter)
        if request.messages[-1].text == "fail":
            raise ProviderTimeoutError("too slow")
        yield Chunk(response=LLMResponse("abc", self.model))


class Inner(LLMAdapter):
    """An adapter around a client that makes spans itself."""

    def __init__(self, answers: list[Answer]) -> None:
        self.model = "outer"
        self.asked = OpenAIAdapter("inner", client=bare_client("openai", answers, []))

    def _chat(self, request: ChatRequest) -> LLMResponse:
        return self.asked.chat(request.with_(model=""))

    def _stream(self, request: ChatRequest) -> Iterator[Chunk]:
        yield from self.asked.chat_stream(request.with_(model=""))


class Unclosable(Echo):
    """Its streams cannot be closed."""

    def _stream(self, request: ChatRequest) -> Iterator[Chunk]:
        try:
            yield Chunk("a")
        finally:
            raise RuntimeError("no")

    async def _astream(self, request: ChatRequest) -> AsyncIterator[Chunk]:
        try:
            yield Chunk("a")
        finally:
            raise RuntimeError("no")


def test_it_is_a_chat_model() -> None:
    assert isinstance(Echo(), ChatModel)


def test_one_span_with_the_record() -> None:
    echo = Echo()
    with recording() as exporter:
        got = echo.complete("hello", temperature=0.5)
        (span,) = exporter.get_finished_spans()
    found = attributes_of(span)
    assert (got.text, echo.calls) == ("hello", 1)
    assert got.latency_ms > 0
    assert (span.name, found[sc.PROVIDER_NAME], found[sc.REQUEST_TEMPERATURE]) == ("chat echo-1", "echo", 0.5)
    assert found[sc.USAGE_INPUT_TOKENS] == 2
    assert rebuild(found).grade == "exact"
    recorded = recorded_response(found)
    assert recorded is not None
    assert recorded.text == "hello"


def test_a_failure_is_recorded_and_passes_unchanged() -> None:
    with recording() as exporter:
        with pytest.raises(ProviderTimeoutError, match="too slow"):
            Echo().complete("fail")
        (span,) = exporter.get_finished_spans()
    assert span.status.status_code is StatusCode.ERROR
    assert attributes_of(span)[sc.ERROR_TYPE] == "ProviderTimeoutError"


def test_the_other_three_ways_have_defaults() -> None:
    async def main(echo: Echo) -> list[str]:
        got = await echo.acomplete("x")
        return [got.text, *[chunk.text async for chunk in echo.astream("y")]]

    echo = Echo()
    with recording() as exporter:
        assert asyncio.run(main(echo)) == ["x", "y"]
        assert [chunk.response is not None for chunk in echo.stream("z")] == [True]
        spans = exporter.get_finished_spans()
    assert [attributes_of(span).get(sc.LLM_STREAM_END) for span in spans] == [None, "complete", "complete"]
    assert echo.calls == 3


def test_a_stream_that_ends_early_or_fails() -> None:
    with recording() as exporter:
        for chunk in Streaming().stream("x"):
            assert chunk.text == "a"
            break
        gc.collect()
        with pytest.raises(ProviderTimeoutError):
            list(Streaming().stream("fail"))
        assert drain(5.0)
        spans = exporter.get_finished_spans()
    marks = sorted(str(attributes_of(span)[sc.LLM_STREAM_END]) for span in spans)
    assert marks == ["abandoned", "failed"]
    texts = {attributes_of(span)[sc.LLM_STREAM_END]: attributes_of(span)[sc.OUTPUT_MESSAGES] for span in spans}
    assert json.loads(texts["failed"])[0]["parts"] == [{"type": "text", "content": "abc"}]


@pytest.mark.parametrize("streaming", [False, True])
def test_an_adapter_around_an_instrumented_client_is_one_span(streaming: bool) -> None:
    with recording() as exporter:
        asked = Inner([stream("openai") if streaming else whole("openai")])
        got = list(asked.stream("hi"))[-1].response if streaming else asked.complete("hi")
        assert drain(5.0)
        (span,) = exporter.get_finished_spans()
    found = attributes_of(span)
    assert got is not None
    assert got.text == "hello"
    assert found[sc.SERVER_ADDRESS] == "openai.test"
    assert found[sc.REQUEST_MODEL] == "inner"
    assert rebuild(found).grade == "exact"


def test_spans_outside_a_stream_are_not_its_children() -> None:
    with recording():
        for _ in Streaming().stream("x"):
            assert trace.get_current_span() is trace.INVALID_SPAN


def test_messages_and_text() -> None:
    request = Echo().request([Message("system", "s"), Message("user", "u")], stop="x", top_k=3)
    assert request.stop == ("x",)
    assert request.extra == {"top_k": 3}
    assert Echo().request("u").messages == (Message("user", "u"),)


def test_factory() -> None:
    assert create_adapter({"backend": "ollama", "model": "m", "base_url": "http://o.test:1"}).provider == "ollama"
    made: Any = create_adapter({"backend": "openai", "model": "m", "base_url": "http://o.test/v1", "api_key": "k"})
    assert made.model == "m"
    for config, says in (
        ({"backend": "x", "model": "m"}, "there are ollama, openai"),
        ({}, "unknown backend None"),
        ({"backend": "ollama"}, "model's name"),
        ({"backend": "ollama", "model": "m", "api_key": "k"}, "no setting api_key"),
    ):
        with pytest.raises(UsageError, match=says):
            create_adapter(config)


def test_a_stream_whose_end_fails_has_its_span() -> None:
    async def first() -> None:
        chunks = Unclosable().achat_stream(ChatRequest("", (Message("user", "x"),)))
        await anext(chunks)
        await chunks.aclose()

    with recording() as exporter:
        with pytest.raises(RuntimeError, match="no"):
            asyncio.run(first())
        chunks = Unclosable().chat_stream(ChatRequest("", (Message("user", "x"),)))
        next(chunks)
        with pytest.raises(RuntimeError, match="no"):
            chunks.close()
        assert [span.name for span in exporter.get_finished_spans()] == ["chat echo-1", "chat echo-1"]
