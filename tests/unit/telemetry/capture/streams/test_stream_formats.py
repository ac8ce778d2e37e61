"""Streams of the other endpoints end like those of chat: responses and generate, on every client."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import httpx
import httpx2
import pytest
from opentelemetry.sdk.trace import ReadableSpan
from tests.unit.telemetry.stream_ways import OTHER, Flow, Way, flowing
from tests.unit.telemetry.wire_world import Answer, World, attributes_of, event, line

from spanseal.genai import semconv as sc
from spanseal.telemetry.capture.streams import open_calls
from spanseal.telemetry.capture.streams.open_calls import drain

ENDS: Final = ["to the end", "closed", "dropped", "cut", "error"]


def pieces_of(way: Way) -> list[bytes]:
    """Two texts and the end, as that endpoint sends them."""
    if way.kind == "generate":
        texts = [line({"model": "m", "response": text, "done": False}) for text in ("he", "llo")]
        return [*texts, line({"model": "m", "response": "", "done": True, "done_reason": "stop"})]
    part = {"type": "output_text", "text": "hello", "annotations": list[Any]()}
    message = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [part]}
    response = {"id": "r1", "object": "response", "model": "m-1", "status": "completed", "output": [message]}
    where = {"item_id": "m1", "output_index": 0, "content_index": 0}
    item = {**message, "status": "in_progress", "content": list[Any]()}
    events: Sequence[dict[str, Any]] = [
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.content_part.added", "part": {**part, "text": ""}, **where},
        {"type": "response.output_text.delta", "delta": "he", **where},
        {"type": "response.output_text.delta", "delta": "llo", **where},
        {"type": "response.completed", "response": response},
    ]
    return [event({"sequence_number": number, **each}) for number, each in enumerate(events)]


def answer_for(way: Way, end: str) -> Answer:
    form = "application/x-ndjson" if way.kind == "generate" else "text/event-stream"
    pieces = pieces_of(way)
    if end == "error":
        error = {"type": "error", "code": "server_error", "message": "overloaded", "param": None}
        said = line({"error": "overloaded"}) if way.kind == "generate" else event({"error": error, **error})
        return Answer(pieces=[*pieces[:-1], said], headers={"content-type": form})
    library = httpx if way.kind == "generate" else httpx2
    fault = library.RemoteProtocolError("peer closed connection") if end == "cut" else None
    return Answer(pieces=pieces[:-1] if fault else pieces, headers={"content-type": form}, fault=fault)


async def leave(flow: Flow, way: Way, end: str) -> Exception | None:
    await flow.start()
    try:
        if end in ("closed", "dropped"):
            for _ in range(3 if way.kind == "responses" else 1):
                await flow.next()
            if end == "closed":
                await flow.close()
        else:
            await flow.rest()
    except Exception as error:
        return error
    finally:
        await flow.drop()
    return None


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("way", OTHER, ids=str)
def test_left_or_broken(way: Way, end: str) -> None:
    with flowing(way, answer_for(way, end)) as (here, flow):
        raised = asyncio.run(leave(flow, way, end))
        span = only(here)
    found = attributes_of(span)
    operation = sc.OP_TEXT_COMPLETION if way.kind == "generate" else sc.OP_CHAT
    assert (span.name, found[sc.OPERATION_NAME]) == (f"{operation} m", operation)
    words = {"to the end": "complete", "closed": "partial", "dropped": "abandoned"}
    assert found[sc.LLM_STREAM_END] == words.get(end, "failed")
    assert (sc.ERROR_TYPE in found) == (raised is not None) == (end in ("cut", "error"))
    count = {"responses": (5, 3, 4), "generate": (3, 1, 2)}[way.kind]
    which = {"to the end": 0, "error": 0, "closed": 1, "dropped": 1, "cut": 2}[end]
    assert found[sc.LLM_STREAM_CHUNKS] == len(json.loads(found[sc.LLM_RESPONSE_BODY])) == count[which]
    messages = json.loads(found[sc.OUTPUT_MESSAGES])
    text = "".join(part["content"] for message in messages for part in message["parts"])
    assert text == ("he" if which == 1 else "hello")
    assert found[sc.RESPONSE_TIME_TO_FIRST_CHUNK] > 0
    assert found[sc.USAGE_ESTIMATED_INPUT_TOKENS] == 6
    assert found[sc.USAGE_ESTIMATED_OUTPUT_TOKENS] == 4 + (1 if which == 1 else 2)


async def held(flow: Flow) -> None:
    open_calls.end_all()  # as at the end of the process


async def left_by_a_block(flow: Flow) -> None:
    with contextlib.suppress(LookupError):
        async with contextlib.AsyncExitStack() as block:
            block.push_async_callback(flow.close)
            raise LookupError("the program's own")


async def left_by_an_exception(flow: Flow) -> None:
    async def loop(mine: Flow) -> None:
        while await mine.next() is not None:
            raise LookupError("the program's own")

    with pytest.raises(LookupError):
        await loop(flow)


LEFT: Final = {"held": held, "partial": left_by_a_block, "abandoned": left_by_an_exception}


@pytest.mark.parametrize("end", LEFT)
@pytest.mark.parametrize("way", OTHER, ids=str)
def test_left_in_other_ways(way: Way, end: str) -> None:
    async def main(flow: Flow) -> None:
        await flow.start()
        await flow.next()
        await LEFT[end](flow)
        await flow.drop()

    with flowing(way, answer_for(way, "")) as (here, flow):
        asyncio.run(main(flow))
        found = attributes_of(only(here))
    assert found[sc.LLM_STREAM_END] == end
    assert found[sc.LLM_STREAM_CHUNKS] == len(json.loads(found[sc.LLM_RESPONSE_BODY])) == 1 + (end == "abandoned")


@pytest.mark.parametrize("way", OTHER, ids=str)
def test_never_started(way: Way) -> None:
    async def main(flow: Flow) -> None:
        await flow.start()
        await flow.drop()

    with flowing(way, answer_for(way, "")) as (here, flow):
        asyncio.run(main(flow))
        assert drain(5.0)
        assert len(here.exporter.get_finished_spans()) == len(here.requests) == (0 if way.waits_for_reading else 1)
        if not way.waits_for_reading:
            assert attributes_of(only(here))[sc.LLM_STREAM_END] == "abandoned"


@pytest.mark.parametrize("way", [way for way in OTHER if way.asynchronous], ids=str)
def test_cancelled(way: Way) -> None:
    async def main(flow: Flow) -> None:
        await flow.start()
        task = asyncio.create_task(flow.rest())
        while not here.requests:
            await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await flow.drop()

    answer = replace(answer_for(way, ""), pieces=pieces_of(way)[:2], stall=True)
    with flowing(way, answer) as (here, flow):
        asyncio.run(main(flow))
        found = attributes_of(only(here))
    assert (found[sc.LLM_STREAM_END], found[sc.ERROR_TYPE]) == ("partial", "CancelledError")
    assert found[sc.LLM_STREAM_CHUNKS] == 2


def only(here: World) -> ReadableSpan:
    """The only span of a call."""
    assert drain(5.0)
    (span,) = [span for span in here.exporter.get_finished_spans() if span.name.endswith(" m")]
    return span
