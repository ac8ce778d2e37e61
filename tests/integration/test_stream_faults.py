"""Streams that break on real connections × client × blocking or not × adapter: one span, all its facts."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import pytest
from opentelemetry.trace import StatusCode
from tests.integration.streams.breaking import breaking_server
from tests.integration.streams.real import open_flow, told
from tests.unit.telemetry.stream_ways import CHAT, Way
from tests.unit.telemetry.wire_world import attributes_of

from spanseal.genai import semconv as sc


@dataclass(frozen=True)
class Cell:
    """What the span of a broken stream says; a dict where the two clients differ."""

    end: str
    text: str
    chunks: Any
    error: Any = ""
    attempts: Sequence[int] = (200,)
    waits: float = 0.0


WHOLE: Final = "Grüße aus dem Rest"
HALF: Final = "Grüße aus"
ALL: Final = {"openai": 5, "ollama": 4}
REMOTE: Final = "RemoteProtocolError"
CELLS: Final = {
    "healthy": Cell("complete", WHOLE, ALL),
    "cut_in_a_chunk": Cell("failed", HALF, 3, REMOTE),
    "cut_in_a_character": Cell("failed", " aus", 2, REMOTE),
    "reset": Cell("failed", HALF, 2, "ReadError"),
    "silent": Cell("failed", HALF, 2, "ReadTimeout"),
    "unfinished": Cell("failed", HALF, 2, sc.ERROR_MALFORMED_RESPONSE),
    "slow": Cell("complete", WHOLE, ALL, waits=0.3),
    "malformed": Cell("failed", HALF, 3, "JSONDecodeError"),
    "error": Cell("failed", HALF, 3, {"openai": "APIError", "ollama": "ResponseError"}),
    "limited": Cell("complete", WHOLE, ALL, attempts=(429, 200)),
    "failing": Cell("complete", WHOLE, ALL, attempts=(500, 200)),
}

TABLE: Final = [  # Ollama's client does not try again
    (way, name) for way in CHAT for name, cell in CELLS.items() if way.server == "openai" or len(cell.attempts) == 1
]


@pytest.fixture(scope="module")
def server() -> Generator[str]:
    with breaking_server() as url:
        yield url


async def read(way: Way, server: str, fault: str) -> Exception | None:
    url = f"{server}/{fault}.{uuid.uuid4()}{'/v1' if way.server == 'openai' else ''}"
    async with open_flow(way, url, "m", timeout=0.5) as flow:
        try:
            await flow.start()
            await flow.rest()
        except Exception as error:
            return error
    return None


def of(value: Any, kind: str) -> Any:
    return cast("dict[str, Any]", value)[kind] if isinstance(value, dict) else value


def texts(found: dict[str, Any]) -> str:
    messages = json.loads(found.get(sc.OUTPUT_MESSAGES, "[]"))
    return "".join(part["content"] for message in messages for part in message["parts"])


@pytest.mark.parametrize(("way", "fault"), TABLE, ids=str)
def test_broken(way: Way, fault: str, server: str) -> None:
    cell, kind = CELLS[fault], way.server
    (span,) = told(lambda: asyncio.run(read(way, server, fault)))
    found = attributes_of(span)
    chunks = json.loads(found[sc.LLM_RESPONSE_BODY])
    assert found[sc.LLM_STREAM_END] == cell.end
    assert found[sc.LLM_STREAM_CHUNKS] == len(chunks) == of(cell.chunks, kind)
    assert texts(found) == cell.text
    assert found.get(sc.ERROR_TYPE, "") == of(cell.error, kind)
    assert span.status.status_code is (StatusCode.ERROR if cell.error else StatusCode.UNSET)
    assert cell.waits < found[sc.RESPONSE_TIME_TO_FIRST_CHUNK] < 60
    assert found[sc.USAGE_ESTIMATED_INPUT_TOKENS] == 6
    assert found[sc.USAGE_ESTIMATED_OUTPUT_TOKENS] == 4 + -(-len(cell.text) // 4)
    assert [dict(event.attributes or {})[sc.HTTP_STATUS] for event in span.events] == list(cell.attempts)
    assert found.get(sc.LLM_RESPONSE_TAIL, "") == ("c3" if fault == "cut_in_a_character" else "")


@pytest.mark.parametrize("way", CHAT, ids=str)
def test_a_page_instead_of_a_stream(way: Way, server: str) -> None:
    (span,) = told(lambda: asyncio.run(read(way, server, "page")))
    found = attributes_of(span)
    assert found[sc.LLM_RESPONSE_BODY] == "<html><body>It works!</body></html>"
    assert found[sc.LLM_STREAM_END] == "failed"
    assert span.status.status_code is StatusCode.ERROR


@pytest.mark.parametrize("way", CHAT, ids=str)
def test_packed_and_cut(way: Way, server: str) -> None:
    (span,) = told(lambda: asyncio.run(read(way, server, "packed_and_cut")))
    found = attributes_of(span)
    assert (found[sc.LLM_STREAM_END], found[sc.ERROR_TYPE], texts(found)) == ("failed", REMOTE, HALF)
    assert found[sc.LLM_STREAM_CHUNKS] > 2


@pytest.mark.parametrize("way", CHAT, ids=str)
def test_packed_in_an_unknown_way(way: Way, server: str) -> None:
    (span,) = told(lambda: asyncio.run(read(way, server, "unknown_packing")))
    found = attributes_of(span)
    assert "x-odd" in found[sc.LLM_RESPONSE_UNRECORDED]
    assert sc.LLM_RESPONSE_BODY not in found
    assert found[sc.LLM_RESPONSE_BYTES] > 100


@pytest.mark.parametrize(("fault", "status"), [("limited", "429"), ("failing", "500")])
@pytest.mark.parametrize("way", [way for way in CHAT if way.server == "ollama"], ids=str)
def test_refused_by_ollama(way: Way, fault: str, status: str, server: str) -> None:
    (span,) = told(lambda: asyncio.run(read(way, server, fault)))
    found = attributes_of(span)
    assert found[sc.ERROR_TYPE] == status
    assert "not now" in found[sc.LLM_RESPONSE_BODY]
