"""A server that answers a stream request with an error in JSON: its own words reach the caller and the span."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.unit.telemetry.wire_world import KEY, Answer, bare_client, event, line, recording, whole

from spanseal.adapters.base import LLMAdapter
from spanseal.adapters.ollama import OllamaAdapter
from spanseal.adapters.openai import OpenAIAdapter
from spanseal.errors import MalformedResponseError, ProviderError
from spanseal.genai.wire_json import dumps


def asked_of(kind: str, answer: Answer, asynchronous: bool = False) -> LLMAdapter:
    """An adapter whose server gives this answer."""
    adapter: Any = OpenAIAdapter if kind == "openai" else OllamaAdapter
    client = bare_client(kind, [answer], [], asynchronous=asynchronous)
    return adapter("m", **{"async_client" if asynchronous else "client": client})


@pytest.mark.parametrize("form", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "the quota is used up"}}, {"error": "the quota is used up"},
        {"message": "the quota is used up"}, {"detail": "the quota is used up"},
    ],
)
def test_an_error_in_json_instead_of_a_stream_is_told_in_the_servers_words(
    body: dict[str, Any], asynchronous: bool, form: str
) -> None:
    sent = dumps(body)
    answer = Answer(pieces=[sent[:9], sent[9:]], headers={"content-type": form})

    async def read(asked: LLMAdapter) -> None:
        async for _ in asked.astream("hi"):
            pass

    with recording() as exporter:
        asked = asked_of("openai", answer, asynchronous)
        with pytest.raises(MalformedResponseError, match="the quota is used up"):
            asyncio.run(read(asked)) if asynchronous else list(asked.stream("hi"))
    (span,) = exporter.get_finished_spans()
    assert not span.status.is_ok
    assert "the quota is used up" in str(span.status.description)


def test_no_stream_at_all_says_so_and_shows_no_key() -> None:
    plain = Answer(pieces=[dumps(whole("openai").body)], headers={"content-type": "application/json"})
    with pytest.raises(MalformedResponseError, match="no event of a stream"):
        list(asked_of("openai", plain).stream("hi"))
    leak = Answer(pieces=[dumps({"error": f"bad key {KEY}"})], headers={"content-type": "application/json"})
    with pytest.raises(MalformedResponseError, match="bad key") as caught:
        list(asked_of("openai", leak).stream("hi"))
    assert KEY not in str(caught.value)


@pytest.mark.parametrize("error", ["out of order", {"message": "out of order"}])
def test_an_error_event_is_told_in_the_servers_words(error: object) -> None:
    answer = Answer(pieces=[event({"error": error})], headers={"content-type": "text/event-stream"})
    with pytest.raises(ProviderError, match="out of order"):
        list(asked_of("openai", answer).stream("hi"))


@pytest.mark.parametrize("form", ["application/json", "application/x-ndjson"])
@pytest.mark.parametrize("before", [[], [line({"message": {"content": "a"}, "done": False})]])
def test_an_error_line_is_told_in_the_servers_words(before: list[bytes], form: str) -> None:
    answer = Answer(pieces=[*before, line({"error": "the quota is used up"})], headers={"content-type": form})
    with recording() as exporter:
        with pytest.raises(ProviderError, match=r"the quota is used up$"):
            list(asked_of("ollama", answer).stream("hi"))
        (span,) = exporter.get_finished_spans()
    assert not span.status.is_ok
    assert "the quota is used up" in str(span.status.description)
