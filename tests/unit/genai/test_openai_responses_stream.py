"""Streams of the Responses format: put together wherever they end, for every event that the openai package knows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from hypothesis import given
from openai.types.responses import ResponseStreamEvent
from tests.unit.genai.json_values import hostile, st, texts

from spanseal.genai import openai_responses as wire

EVENTS: list[Any] = list(get_args(get_args(ResponseStreamEvent)[0]))
TYPES = sorted({get_args(event.model_fields["type"].annotation)[0] for event in EVENTS})
WITHOUT_ITEM = ("response.audio.", "response.steer.")
HEAD: dict[str, Any] = {"id": "resp_1", "object": "response", "model": "m-1", "status": "in_progress", "output": []}


def cut(text: str) -> list[str]:
    return [text[at : at + 2] for at in range(0, len(text), 2)]


def events(output: list[Any]) -> Iterator[dict[str, Any]]:
    """The events that a server sends for these items, before the last one."""
    yield {"type": "response.created", "response": HEAD}
    yield {"type": "response.in_progress", "response": HEAD}
    for number, item in enumerate(output):
        place = {"output_index": number, "item_id": item["id"]}
        empty: dict[str, Any] = {**item, **{key: [] for key in ("content", "summary") if key in item}}
        if "arguments" in item:
            empty["arguments"] = ""
        yield {"type": "response.output_item.added", "item": empty, **place}
        for kind, field, index, subject in (
            ("content_part", "content", "content_index", "output_text"),
            ("reasoning_summary_part", "summary", "summary_index", "reasoning_summary_text"),
        ):
            for at, part in enumerate(item.get(field, ())):
                there = {**place, index: at}
                yield {"type": f"response.{kind}.added", "part": {**part, "text": ""}, **there}
                for piece in cut(part["text"]):
                    yield {"type": f"response.{subject}.delta", "delta": piece, **there}
                yield {"type": f"response.{subject}.done", "text": part["text"], **there}
                yield {"type": f"response.{kind}.done", "part": part, **there}
        for piece in cut(item.get("arguments", "")):
            yield {"type": "response.function_call_arguments.delta", "delta": piece, **place}
        yield {"type": "response.output_item.done", "item": item, **place}


def message(found: Any) -> Any:
    parts = [{"type": "output_text", "text": text} for text in found]
    return {"type": "message", "id": "msg", "role": "assistant", "content": parts}


def thought(found: Any) -> Any:
    return {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": text} for text in found]}


def call(text: Any) -> Any:
    return {"type": "function_call", "id": "fc", "call_id": "c", "name": "f", "arguments": text}


items: Any = st.lists(texts, max_size=2).map(message) | st.lists(texts, max_size=2).map(thought) | texts.map(call)


@given(output=st.lists(items, max_size=3), keep=st.integers(0, 60))
def test_whole_and_cut_streams(output: list[Any], keep: int) -> None:
    sent = list(events(output))
    stream = wire.StreamAssembler()
    before = json.dumps(sent)
    heard = [stream.feed(event) for event in sent]
    assert stream.body() == {**HEAD, "output": output}
    text = "".join(chunk.text for chunk in heard if chunk is not None)
    assert text == "".join(part["text"] for item in output for part in item.get("content", ()))
    assert "ended before" in wire.cut_short((), stream.body())
    final = {**HEAD, "status": "completed", "output": output, "usage": {"input_tokens": 1}}
    stream.feed({"type": "response.completed", "response": final})
    assert stream.body() == final
    assert wire.cut_short((), stream.body()) == ""
    assert json.dumps(sent) == before  # the events are not ours to change
    partial = wire.StreamAssembler()
    for event in sent[:keep]:
        partial.feed(event)
    begun = wire.output_messages(partial.body())
    whole = wire.output_messages({"output": output})
    assert len(begun) <= len(whole)
    assert wire.parse_response(partial.body() or {**HEAD}).model in ("", "m-1")


@pytest.mark.parametrize(
    "kind", [kind for kind in TYPES if kind.endswith(".delta") and not kind.startswith(WITHOUT_ITEM)]
)
def test_every_delta_of_the_package_is_kept(kind: str) -> None:
    delta: Any = {"stdout": "abc"} if "shell_call_output" in kind else "abc"
    stream = wire.StreamAssembler()
    stream.feed(
        {"type": kind, "delta": delta, "output_index": 0, "content_index": 0, "summary_index": 0, "command_index": 0}
    )
    assert "abc" in json.dumps(stream.body())


@pytest.mark.parametrize("kind", TYPES)
def test_no_event_of_the_package_breaks_the_stream(kind: str) -> None:
    stream = wire.StreamAssembler()
    broken: list[Any] = [
        {"type": kind},
        {"type": kind, "output_index": 0, "delta": 3, "item": 1, "part": [], "response": None},
    ]
    for event in broken:
        stream.feed(event)
    json.dumps(stream.body())


@pytest.mark.parametrize(
    "event",
    [
        {"type": "error", "code": "server_error", "message": "boom", "param": None},
        {"type": "error", "error": {"message": "boom"}},
        {"error": {"message": "boom"}},
        {"type": "response.failed", "response": {**HEAD, "status": "failed", "error": {"message": "boom"}}},
    ],
)
def test_errors_keep_what_had_arrived(event: dict[str, Any]) -> None:
    stream = wire.StreamAssembler()
    stream.feed({"type": "response.output_text.delta", "output_index": 0, "content_index": 0, "delta": "part"})
    stream.feed(event)
    body = stream.body()
    assert body["status"] == "failed"
    assert "boom" in wire.fault_of(body)
    assert wire.output_messages(body)[0]["parts"] == [{"type": "text", "content": "part"}]
    assert wire.cut_short((), body) == ""


def test_an_incomplete_response_is_whole() -> None:
    stream = wire.StreamAssembler()
    final: dict[str, Any] = {
        **HEAD,
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "output": [],
    }
    stream.feed({"type": "response.incomplete", "response": final})
    assert (wire.cut_short((), stream.body()), wire.fault_of(stream.body())) == ("", "")


def test_absurd_positions_do_not_fill_the_memory() -> None:
    stream = wire.StreamAssembler()
    for index in (10**12, -1, 2**70, "0", None, 1.5):
        stream.feed({"type": "response.output_text.delta", "output_index": index, "content_index": index, "delta": "x"})
    assert len(stream.body()["output"]) < 20


@given(
    st.lists(
        hostile(["type", "response", "item", "part", "delta", "output_index", "content_index", "error"]), max_size=4
    )
)
def test_nothing_that_a_server_sends_is_a_crash(chunks: list[dict[str, Any]]) -> None:
    stream = wire.StreamAssembler()
    for chunk in chunks:
        for kind in (chunk.get("type"), *TYPES[:40]):
            stream.feed({**chunk, "type": kind})
    json.dumps(stream.body())
