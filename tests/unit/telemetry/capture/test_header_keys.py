"""Keys in the headers of one call, or of all: a server that quotes them in its answer has them recorded nowhere."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

import ollama
import openai
import pytest
from tests.unit.telemetry.wire_world import Answer, attributes_of, bare_client, recording, whole

from spanseal.genai import semconv as sc
from spanseal.telemetry.instrument import instrument

OWN = "own-0123456789-abcdef"
HEADERS = {"Authorization": f"Custom {OWN}-1", "X-My-Key": f"{OWN}-2", "Cookie": f"a=b; sid={OWN}-3"}
SAID = f"I was sent {OWN}-1, {OWN}-2 and sid={OWN}-3"


def made(kind: str, answer: Answer, *, asynchronous: bool) -> Any:
    if kind == "openai":
        return instrument(bare_client(kind, [answer], [], asynchronous=asynchronous))
    client = bare_client(kind, [answer], [], asynchronous=asynchronous)
    client._client.headers.update(HEADERS)
    return instrument(client)


@pytest.mark.parametrize("status", [200, 401])
@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize("kind", ["openai", "ollama"])
def test_what_a_server_quotes(kind: str, asynchronous: bool, status: int) -> None:
    answer = whole(kind, SAID) if status == 200 else Answer(401, body={"error": {"message": SAID}})
    messages = [{"role": "user", "content": "hi"}]
    with recording() as exporter:
        client = made(kind, answer, asynchronous=asynchronous)
        with suppress(openai.AuthenticationError, ollama.ResponseError):
            if kind == "openai":
                asked = client.chat.completions.create(model="m", messages=messages, extra_headers=HEADERS)
            else:
                asked = client.chat("m", messages=messages)
            if asynchronous:
                asyncio.run(finished(asked))
        (span,) = exporter.get_finished_spans()
    found = attributes_of(span)
    events = [dict(event.attributes or {}) for event in span.events]
    assert OWN not in json.dumps([found, span.status.description, events], default=str)
    assert (sc.OUTPUT_MESSAGES in found) == (status == 200)


async def finished(asked: Any) -> Any:
    return await asked


@pytest.mark.parametrize("name", ["Idempotency-Key", "X-Trace", "OpenAI-Organization"])
def test_what_is_no_key_may_be_quoted(name: str) -> None:
    with recording() as exporter:
        client = instrument(bare_client("openai", [whole("openai", SAID)], []))
        client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "hi"}], extra_headers={name: f"{OWN}-2"}
        )
        (span,) = exporter.get_finished_spans()
    assert f"{OWN}-2" in attributes_of(span)[sc.OUTPUT_MESSAGES]
