"""Streams of an adapter of the user's own, which no instrumented client calls, end like all others."""

from __future__ import annotations

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Iterator

import pytest
from tests.unit.telemetry.wire_world import Answer, attributes_of, recording, stream, world

from spanseal.adapters.base import LLMAdapter
from spanseal.genai import semconv as sc
from spanseal.genai.messages import ChatRequest, Chunk, LLMResponse
from spanseal.telemetry.capture.streams import open_calls


class Spelling(LLMAdapter):
    provider, model = "spelling", "abc"

    def _chat(self, request: ChatRequest) -> LLMResponse:
        return LLMResponse("abc", self.model)

    def _stream(self, request: ChatRequest) -> Iterator[Chunk]:
        yield from (Chunk(text) for text in "abc")
        yield Chunk(response=LLMResponse("abc", self.model, prompt_tokens=3, completion_tokens=1))

    async def _astream(self, request: ChatRequest) -> AsyncIterator[Chunk]:
        for chunk in self._stream(request):
            yield chunk


class Outer(Spelling):
    """Passes on what another adapter says."""

    def _stream(self, request: ChatRequest) -> Iterator[Chunk]:
        yield from Spelling().chat_stream(request)


@pytest.mark.parametrize("adapter", [Spelling, Outer])
@pytest.mark.parametrize("leave", ["close", "drop", "hold"])
def test_left(adapter: type[LLMAdapter], leave: str) -> None:
    with recording() as exporter:
        chunks = adapter().chat_stream(ChatRequest("", ()))
        assert next(chunks).text == "a"
        if leave == "close":
            chunks.close()
        elif leave == "drop":
            del chunks
            gc.collect()
        else:
            open_calls.end_all()
        assert open_calls.drain(5.0)
        found = [attributes_of(span) for span in exporter.get_finished_spans()]
    words = {"close": "partial", "drop": "abandoned", "hold": "held"}
    assert {each[sc.LLM_STREAM_END] for each in found} == {words[leave]}
    for each in found:
        assert json.loads(each[sc.OUTPUT_MESSAGES])[0]["parts"] == [{"type": "text", "content": "a"}]
        assert each[sc.RESPONSE_TIME_TO_FIRST_CHUNK] > 0


@pytest.mark.parametrize("leave", ["close", "drop"])
def test_left_async(leave: str) -> None:
    async def main() -> None:
        chunks = Spelling().achat_stream(ChatRequest("", ()))
        assert (await anext(chunks)).text == "a"
        if leave == "close":
            await chunks.aclose()
        del chunks
        gc.collect()
        await asyncio.sleep(0.01)

    with recording() as exporter:
        asyncio.run(main())
        assert open_calls.drain(5.0)
        (span,) = exporter.get_finished_spans()
    assert attributes_of(span)[sc.LLM_STREAM_END] == {"close": "partial", "drop": "abandoned"}[leave]


def test_read_on_after_it_was_held() -> None:
    with recording() as exporter:
        chunks = Spelling().chat_stream(ChatRequest("", ()))
        next(chunks)
        open_calls.end_all()
        assert [chunk.text for chunk in chunks] == ["b", "c", ""]
        call, rest = (attributes_of(span) for span in exporter.get_finished_spans())
    assert (call[sc.LLM_STREAM_END], rest[sc.LLM_STREAM_END]) == ("held", "complete")
    assert json.loads(rest[sc.LLM_RESPONSE_BODY])["choices"][0]["message"]["content"] == "abc"


def test_keeping_a_connection_alive_is_no_first_chunk() -> None:
    plain = stream("openai")
    waiting = Answer(pieces=[b": waiting\n\n", b"\n"], headers=plain.headers)
    with world("openai", [waiting]) as here:
        assert list(here.ask(stream=True)) == []
        assert sc.RESPONSE_TIME_TO_FIRST_CHUNK not in here.attributes()
