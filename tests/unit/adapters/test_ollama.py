"""OllamaAdapter on in-process servers."""

from __future__ import annotations

import asyncio
import gc
from typing import Any, cast

import httpx
import ollama
import pytest
from tests.unit.telemetry.wire_world import Answer, attributes_of, bare_client, line, recording, stream, whole

from spanseal.adapters.ollama import OllamaAdapter
from spanseal.errors import (
    AuthenticationError,
    MalformedResponseError,
    ProviderError,
    ProviderTimeoutError,
    ProviderUnavailableError,
    RequestRejectedError,
    UsageError,
)
from spanseal.genai import semconv as sc
from spanseal.genai.messages import Chunk, LLMResponse
from spanseal.genai.wire_json import loads


def adapter(*answers: Answer, seen: list[Any] | None = None, asynchronous: bool = False) -> OllamaAdapter:
    made = bare_client("ollama", answers, [] if seen is None else seen, asynchronous=asynchronous)
    return OllamaAdapter("m", async_client=made) if asynchronous else OllamaAdapter("m", client=made)


def test_an_answer() -> None:
    seen: list[Any] = []
    schema = {"type": "object", "properties": {"x": {"type": "number", "minimum": 2}}}
    with recording() as exporter:
        asked = adapter(whole("ollama", prompt_eval_count=4), seen=seen)
        got = asked.complete("hi", temperature=0, max_tokens=9, response_format=schema, keep_alive="1m")
        (span,) = exporter.get_finished_spans()
    assert (got.text, got.prompt_tokens, got.finish_reason, asked.calls) == ("hello", 4, "stop", 1)
    body = loads(seen[0].content)
    assert body["format"] == schema
    assert (body["options"], body["keep_alive"], body["stream"]) == ({"temperature": 0, "num_predict": 9}, "1m", False)
    assert attributes_of(span)[sc.PROVIDER_NAME] == "ollama"


def test_the_callers_client_is_left_alone() -> None:
    client = bare_client("ollama", [whole("ollama")], [])
    before = client.__class__, client._client.__class__
    with recording() as exporter:
        OllamaAdapter("m", client=client).complete("hi")
        client.chat(model="m", messages=[])
        assert len(exporter.get_finished_spans()) == 1
    assert (client.__class__, client._client.__class__) == before


def test_stream_and_async() -> None:
    async def main() -> tuple[LLMResponse, list[Chunk]]:
        asked = adapter(whole("ollama"), stream("ollama"), asynchronous=True)
        got = await asked.acomplete("hi")
        return got, [chunk async for chunk in asked.astream("hi")]

    with recording() as exporter:
        got, chunks = asyncio.run(main())
        chunks += list(adapter(stream("ollama")).stream("hi"))
        marks = [attributes_of(span).get(sc.LLM_STREAM_END) for span in exporter.get_finished_spans()]
    assert got.text == "hello"
    assert [chunk.text for chunk in chunks] == ["he", "llo", ""] * 2
    assert chunks[-1].response is not None
    assert chunks[-1].response.text == "hello"
    assert marks == [None, "complete", "complete"]


CUT = httpx.RemoteProtocolError("cut")
ERRORS: list[tuple[Answer, type[ProviderError], str]] = [
    (Answer(404, {"error": "model 'm' not found"}), RequestRejectedError, "not found"),
    (Answer(401, {"error": "x"}), AuthenticationError, "OLLAMA_API_KEY"),
    (Answer(500, {"error": "runner died"}), ProviderError, "runner died"),
    (Answer(body={"error": "the quota is used up"}), MalformedResponseError, "error: the quota is used up$"),
    (Answer(body={"error": {"message": "the quota is used up"}}), MalformedResponseError, "error: the quota is used"),
    (Answer(refuse=httpx.ConnectError("no")), ProviderUnavailableError, "start the server"),
    (Answer(refuse=httpx.ReadTimeout("slow")), ProviderTimeoutError, "fewer tokens"),
    (Answer(200, b"<html>"), MalformedResponseError, "not the protocol"),
    (Answer(200, b"[1]"), MalformedResponseError, "http://ollama.test:11434"),
    (Answer(200, {"x": 1}), MalformedResponseError, "Ollama server"),
]


@pytest.mark.parametrize(("answer", "kind", "says"), ERRORS)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_each_error_is_its_own(answer: Answer, kind: type[ProviderError], says: str, asynchronous: bool) -> None:
    asked = adapter(answer, asynchronous=asynchronous)
    with pytest.raises(kind, match=says) as caught:
        asyncio.run(asked.acomplete("hi")) if asynchronous else asked.complete("hi")
    assert type(caught.value) is kind


STREAM_ERRORS: list[tuple[Answer, type[ProviderError]]] = [
    (stream("ollama", done=False, fault=CUT), ProviderUnavailableError),
    (stream("ollama", done=False), MalformedResponseError),
    (Answer(pieces=[b"{broken\n"]), MalformedResponseError),
    (Answer(pieces=[line({"error": "runner died"})]), ProviderError),
    (Answer(404, {"error": "no model"}), RequestRejectedError),
    (Answer(refuse=httpx.ConnectError("no")), ProviderUnavailableError),
]


@pytest.mark.parametrize(("answer", "kind"), STREAM_ERRORS)
def test_errors_of_a_stream(answer: Answer, kind: type[ProviderError]) -> None:
    with pytest.raises(kind):
        list(adapter(answer).stream("hi"))


def test_usage() -> None:
    with pytest.raises(UsageError, match="not both"):
        OllamaAdapter("m", host="http://x.test", client=bare_client("ollama", [], []))
    with pytest.raises(UsageError, match="async client only"):
        adapter(whole("ollama"), asynchronous=True).complete("hi")
    assert asyncio.run(adapter(whole("ollama")).acomplete("hi")).text == "hello"


def test_an_own_client_is_closed_with_its_adapter(monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[ollama.Client] = []

    def close(client: ollama.Client) -> None:
        closed.append(client)

    monkeypatch.setattr(ollama.Client, "close", close)
    theirs = ollama.Client("http://127.0.0.1:1")
    for arguments in ({"client": theirs}, {"host": "http://127.0.0.1:1"}):
        OllamaAdapter("m", **cast("Any", arguments))
    gc.collect()
    assert len(closed) == 1
    assert theirs not in closed
