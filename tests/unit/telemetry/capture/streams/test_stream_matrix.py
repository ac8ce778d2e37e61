"""Every way a program can leave a healthy stream × client × blocking or not × adapter: one span, all its facts."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import pytest
from opentelemetry.trace import StatusCode
from tests.unit.telemetry.stream_ways import CHAT, Flow, Way, flowing
from tests.unit.telemetry.wire_world import World, attributes_of, stream

from spanseal.genai import semconv as sc
from spanseal.telemetry.active import activate, active
from spanseal.telemetry.capture.streams import open_calls


@dataclass(frozen=True)
class Cell:
    """What a program does with a stream of ``he`` and ``llo``, and what its span must say."""

    does: Callable[[Flow, World], Awaitable[None]]
    end: str
    text: str = "he"
    error: str = ""


async def to_the_end(flow: Flow, here: World) -> None:
    assert await flow.rest() >= 2


async def held_until_the_watchdog_comes(flow: Flow, here: World) -> None:
    assert await flow.next() is not None
    await flow_is_held(here)


async def held_until_the_end(flow: Flow, here: World) -> None:
    assert await flow.next() is not None
    assert here.spans() == []
    open_calls.end_all()


async def broken_off_and_dropped(flow: Flow, here: World) -> None:
    assert await flow.next() is not None
    await flow.drop()


async def closed(flow: Flow, here: World) -> None:
    assert await flow.next() is not None
    await flow.close()


async def closed_twice(flow: Flow, here: World) -> None:
    await closed(flow, here)
    await flow.close()
    await flow.drop()


async def left_by_a_block(flow: Flow, here: World) -> None:
    with contextlib.suppress(LookupError):
        async with contextlib.AsyncExitStack() as block:
            block.push_async_callback(flow.close)
            await flow.next()
            raise LookupError("the program's own")


async def left_by_an_exception(flow: Flow, here: World) -> None:
    async def loop(mine: Flow) -> None:
        while await mine.next() is not None:
            raise LookupError("the program's own")

    with pytest.raises(LookupError):
        await loop(flow)
    await flow.drop()


async def closed_while_handling_an_error(flow: Flow, here: World) -> None:
    try:
        raise LookupError("handled by asking again")
    except LookupError:
        await closed(flow, here)


async def read_after_the_end(flow: Flow, here: World) -> None:
    await flow.rest()
    assert await flow.next() is None
    await flow.close()
    await flow.drop()


async def flow_is_held(here: World) -> None:
    before = activate(replace(active(), stream_idle_seconds=0.08))
    try:
        open_calls.keep(Nobody())  # the worker hears of the new limit
        for _ in range(400):
            await asyncio.sleep(0.01)
            if here.exporter.get_finished_spans():
                return
        raise AssertionError("the watchdog did not come")
    finally:
        activate(before)


class Nobody:
    """A call that is always being read."""

    def progress(self) -> tuple[int, bool]:
        open_calls.forget(self)
        return 0, True

    def end_held(self) -> None: ...
    def end_dropped(self) -> None: ...


CELLS: Final = {
    "to the end": Cell(to_the_end, "complete", "hello"),
    "watchdog": Cell(held_until_the_watchdog_comes, "held"),
    "process end": Cell(held_until_the_end, "held"),
    "dropped": Cell(broken_off_and_dropped, "abandoned"),
    "closed": Cell(closed, "partial"),
    "closed twice": Cell(closed_twice, "partial"),
    "with block": Cell(left_by_a_block, "partial"),
    "exception in the loop": Cell(left_by_an_exception, "abandoned"),
    "in an except": Cell(closed_while_handling_an_error, "partial"),
    "read after the end": Cell(read_after_the_end, "complete", "hello"),
}


@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("way", CHAT, ids=str)
def test_left(way: Way, name: str) -> None:
    cell = CELLS[name]

    async def main(flow: Flow, here: World) -> None:
        await flow.start()
        await cell.does(flow, here)
        await flow.drop()

    with flowing(way, stream(way.server)) as (here, flow):
        asyncio.run(main(flow, here))
        facts(here, cell, way)


def facts(here: World, cell: Cell, way: Way) -> None:
    """One span, and everything that it must say."""
    span = here.span()
    found = attributes_of(span)
    whole = 4 if way.server == "openai" else 3
    assert found[sc.LLM_STREAM_END] == cell.end
    assert found[sc.LLM_STREAM_CHUNKS] == (whole if cell.end == "complete" else 1)
    assert len(json.loads(found[sc.LLM_RESPONSE_BODY])) == found[sc.LLM_STREAM_CHUNKS]
    assert texts(found) == cell.text
    assert 0 < found[sc.RESPONSE_TIME_TO_FIRST_CHUNK] < 60
    assert sc.USAGE_INPUT_TOKENS not in found
    assert sc.USAGE_OUTPUT_TOKENS not in found
    assert found[sc.USAGE_ESTIMATED_INPUT_TOKENS] == 4 + 2
    assert found[sc.USAGE_ESTIMATED_OUTPUT_TOKENS] == 4 + -(-len(cell.text) // 4)
    assert found.get(sc.ERROR_TYPE, "") == cell.error
    assert span.status.status_code is (StatusCode.ERROR if cell.error else StatusCode.UNSET)
    assert len(here.requests) == 1


def texts(found: dict[str, Any]) -> str:
    messages = json.loads(found.get(sc.OUTPUT_MESSAGES, "[]"))
    return "".join(part["content"] for message in messages for part in message["parts"])


@pytest.mark.parametrize("way", CHAT, ids=str)
def test_never_started(way: Way) -> None:
    async def main(flow: Flow) -> None:
        await flow.start()
        await flow.drop()

    with flowing(way, stream(way.server)) as (here, flow):
        asyncio.run(main(flow))
        if way.waits_for_reading:  # nothing was asked of anybody, so there is no call to tell of
            assert here.spans() == []
            assert here.requests == []
            return
        found = here.attributes()
    assert (found[sc.LLM_STREAM_END], found[sc.LLM_STREAM_CHUNKS]) == ("abandoned", 0)
    assert sc.RESPONSE_TIME_TO_FIRST_CHUNK not in found


@pytest.mark.parametrize("where", ["reading", "elsewhere"])
@pytest.mark.parametrize("way", [way for way in CHAT if way.asynchronous], ids=str)
def test_cancelled(way: Way, where: str) -> None:
    async def read(flow: Flow, one: asyncio.Event) -> None:
        await flow.start()
        while await flow.next() is not None:
            one.set()
            if where == "elsewhere":
                await asyncio.sleep(60)

    async def main(flow: Flow) -> None:
        one = asyncio.Event()
        task = asyncio.create_task(read(flow, one))
        await one.wait()
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await flow.drop()

    answer = replace(stream(way.server, ["he"], done=False), stall=True)
    with flowing(way, answer) as (here, flow):
        asyncio.run(main(flow))
        error = "CancelledError" if where == "reading" else ""
        facts(here, Cell(closed, "partial" if where == "reading" else "abandoned", "he", error), way)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("way", [way for way in CHAT if not way.asynchronous], ids=str)
def test_interrupted_while_reading(way: Way, stop: type[BaseException]) -> None:
    async def main(flow: Flow) -> None:
        await flow.start()
        with pytest.raises(stop):
            await flow.rest()
        await flow.drop()

    answer = replace(stream(way.server, ["he"], done=False), fault=stop())
    with flowing(way, answer) as (here, flow):
        asyncio.run(main(flow))
        facts(here, Cell(closed, "partial", "he", stop.__name__), way)
