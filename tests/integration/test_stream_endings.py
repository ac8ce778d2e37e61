"""Every way to leave a real model's stream × client × blocking or not × adapter: one span, all its facts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

import pytest
from opentelemetry.trace import StatusCode
from tests.integration.parts import services
from tests.integration.streams.real import open_flow, told
from tests.unit.telemetry.stream_ways import CHAT, Flow, Way
from tests.unit.telemetry.wire_world import attributes_of

from spanseal.genai import semconv as sc
from spanseal.telemetry.capture.streams import open_calls

TOKENS: Final = 12
LONG: Final = 400


@dataclass(frozen=True)
class Cell:
    """What the program does and what the span says."""

    does: Callable[[Flow], Awaitable[None]]
    end: str
    error: str = ""
    tokens: int = LONG


async def to_the_end(flow: Flow) -> None:
    await flow.rest()


async def held(flow: Flow) -> None:
    await flow.next()
    open_calls.end_all()  # as at the end of the process


async def dropped(flow: Flow) -> None:
    await flow.next()
    await flow.drop()
    await asyncio.sleep(0.02)
    await flow.drop()


async def closed(flow: Flow) -> None:
    await flow.next()
    await flow.next()
    await flow.close()


async def left_by_an_exception(flow: Flow) -> None:
    try:
        await flow.next()
        raise LookupError("the program's own")
    except LookupError:
        await flow.close()


async def cancelled(flow: Flow) -> None:
    async def read() -> None:
        await flow.next()
        one.set()
        await flow.rest()

    one = asyncio.Event()
    task = asyncio.create_task(read())
    await one.wait()
    await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def timed_out(flow: Flow) -> None:
    await flow.next()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await flow.rest()


CELLS: Final = {
    "to the end": Cell(to_the_end, "complete", tokens=TOKENS),
    "held": Cell(held, "held"),
    "dropped": Cell(dropped, "abandoned"),
    "closed": Cell(closed, "partial"),
    "exception": Cell(left_by_an_exception, "partial"),
    "cancelled": Cell(cancelled, "partial", "CancelledError"),
    "timed out": Cell(timed_out, "partial", "CancelledError"),
}
NEEDS_TASKS: Final = ("cancelled", "timed out")
TABLE: Final = [(way, name) for way in CHAT for name in CELLS if way.asynchronous or name not in NEEDS_TASKS]


def limit(way: Way, tokens: int) -> dict[str, Any]:
    if way.via == "adapter":
        return {"max_tokens": tokens, "temperature": 0}
    if way.server == "ollama":
        return {"options": {"num_predict": tokens}}
    return {"max_tokens": tokens, "temperature": 0, "stream_options": {"include_usage": True}}


async def run(way: Way, url: str, model: str, cell: Cell) -> None:
    async with open_flow(way, url, model, **limit(way, cell.tokens)) as flow:
        await flow.start()
        await cell.does(flow)


@pytest.mark.parametrize(("way", "name"), TABLE, ids=str)
def test_left(way: Way, name: str, openai_server: services.OpenAIServer, ollama: services.Ollama) -> None:
    cell = CELLS[name]
    url, model = (openai_server.base_url, openai_server.model) if way.server == "openai" else (ollama.url, ollama.model)
    (span,) = told(lambda: asyncio.run(run(way, url, model, cell)))
    found = attributes_of(span)
    chunks = json.loads(found[sc.LLM_RESPONSE_BODY])
    assert found[sc.LLM_STREAM_END] == cell.end
    assert found[sc.LLM_STREAM_CHUNKS] == len(chunks) > 0
    assert 0 < found[sc.RESPONSE_TIME_TO_FIRST_CHUNK] < 120
    assert found.get(sc.ERROR_TYPE, "") == cell.error
    assert span.status.status_code is (StatusCode.ERROR if cell.error else StatusCode.UNSET)
    counts(found, cell)
    if cell.end != "complete":
        assert "[DONE]" not in chunks
        assert not any(json.loads(chunk).get("done") for chunk in chunks[:-1])
        assert len(chunks) < LONG


def counts(found: dict[str, Any], cell: Cell) -> None:
    """Reported where the stream came to its end, else estimated and marked."""
    if cell.end == "complete":
        assert 0 < found[sc.USAGE_OUTPUT_TOKENS] <= TOKENS
        assert sc.USAGE_ESTIMATED_OUTPUT_TOKENS not in found
        return
    assert sc.USAGE_OUTPUT_TOKENS not in found
    assert found[sc.USAGE_ESTIMATED_INPUT_TOKENS] == 6
    assert found[sc.USAGE_ESTIMATED_OUTPUT_TOKENS] > 0


@pytest.mark.parametrize("kind", ["responses", "generate"])
@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("name", ["to the end", "closed"])
def test_other_endpoints(
    kind: str, asynchronous: bool, name: str, openai_server: services.OpenAIServer, ollama: services.Ollama
) -> None:
    way, cell = Way(kind, asynchronous, "client"), CELLS[name]
    server: Any = openai_server if way.server == "openai" else ollama
    url = server.base_url if way.server == "openai" else server.url
    more: dict[str, Any] = {"options": {"num_predict": TOKENS}}
    if kind == "responses":
        more = {"max_output_tokens": TOKENS}

    async def main() -> None:
        async with open_flow(way, url, server.model, **more) as flow:
            await flow.start()
            await cell.does(flow)

    (span,) = told(lambda: asyncio.run(main()))
    found = attributes_of(span)
    operation = sc.OP_TEXT_COMPLETION if kind == "generate" else sc.OP_CHAT
    assert span.name == f"{operation} {server.model}"
    assert found[sc.LLM_STREAM_END] == cell.end
    assert found[sc.LLM_STREAM_CHUNKS] == len(json.loads(found[sc.LLM_RESPONSE_BODY])) > 0
    assert (sc.USAGE_OUTPUT_TOKENS in found) == (cell.end == "complete")
