"""A long agent run recorded as deltas reads like the same run recorded in full, for a fraction of the bytes."""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import linear_regression
from typing import Any

import orjson
import pytest
from tests.unit.replay.recorded import Span, lines, text
from tests.unit.replay.test_store import sealed
from tests.unit.telemetry.wire_world import Answer, bare_client, whole

from spanseal.adapters.ollama import OllamaAdapter
from spanseal.adapters.openai import OpenAIAdapter
from spanseal.agent.build import VerifiableAgent
from spanseal.genai import semconv as sc
from spanseal.replay.reader import RunReader
from spanseal.replay.run import Call, Run
from spanseal.telemetry.active import History
from spanseal.testing import capture_spans
from spanseal.tools.tool import tool

BOTH = pytest.mark.parametrize("kind", ["openai", "ollama"])


@tool
def look_up(number: int) -> str:
    """Look up what is known about a number."""
    return f"{number} is " + "a number of which much can be told; " * 12


def asks(kind: str, number: int) -> Answer:
    """The model asks for the tool."""
    arguments: Any = {"number": number}
    if kind == "ollama":
        called = {"role": "assistant", "content": "", "tool_calls": [
            {"function": {"name": "look_up", "arguments": arguments}}]}
        return Answer(body={"model": "m", "message": called, "done": True, "done_reason": "stop"})
    function = {"name": "look_up", "arguments": json.dumps(arguments)}
    called = {"role": "assistant", "content": None, "tool_calls": [
        {"id": f"call_{number}", "type": "function", "function": function}]}
    choice = {"index": 0, "message": called, "finish_reason": "tool_calls"}
    return Answer(body={"id": "r1", "model": "m-1", "choices": [choice]})


@functools.cache
def export(kind: str, turns: int, history: History) -> tuple[bytes, ...]:
    """The lines of an agent's run of so many model calls."""
    client = bare_client(kind, [*(asks(kind, number) for number in range(turns - 1)), whole(kind, "done")], [])
    adapter = OllamaAdapter("m", client=client) if kind == "ollama" else OpenAIAdapter("m", client=client)
    with capture_spans(history=history) as captured:
        result = VerifiableAgent(adapter, tools=[look_up], name="reader", max_steps=turns + 1).run("Tell me all.")
    assert (result.answer, result.steps) == ("done", turns)
    return tuple(captured.lines())


def spans_of(line: bytes) -> dict[str, Any]:
    return orjson.loads(line)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]


def size(exported: tuple[bytes, ...]) -> int:
    """Bytes of the chat spans."""
    return sum(len(line) for line in exported if spans_of(line)["name"].startswith("chat"))


def of_history(line: bytes) -> int:
    """Bytes of what a chat span tells of its history."""
    keys = (sc.INPUT_MESSAGES, sc.LLM_REQUEST_PARAMS)
    span = spans_of(line)
    told = [item["value"]["stringValue"] for item in span["attributes"] if item["key"] in keys]
    return sum(map(len, told)) if span["name"].startswith("chat") else 0


def misfit(counts: Sequence[int], sizes: Sequence[int]) -> float:
    """How far the sizes lie off the best straight line, as a share of the last one."""
    slope, base = linear_regression(counts, sizes)
    return max(abs(slope * count + base - size) for count, size in zip(counts, sizes, strict=True)) / sizes[-1]


def read(exported: tuple[bytes, ...], folder: Path) -> Run:
    (folder / "spans.jsonl").write_bytes(b"".join(exported))
    (run,) = RunReader.open(folder).runs()
    return run


def told(call: Call) -> tuple[Any, ...]:
    """What must not depend on how the history was recorded; the time it took does."""
    answer = None if call.response is None else (call.response.text, call.response.tool_calls, call.response.raw)
    return call.messages, call.request, answer, call.tools, call.replayable, call.replay_reason, call.step, call.usage


@BOTH
def test_the_reader_sees_no_difference(kind: str, tmp_path: Path) -> None:
    full, delta = (read(export(kind, 40, history), tmp_path) for history in ("full", "delta"))
    assert [told(call) for call in delta.calls] == [told(call) for call in full.calls]
    assert [call.replayable for call in delta.calls] == ["exact"] * 40
    assert [len(call.messages) for call in delta.calls] == list(range(1, 80, 2))
    assert (delta.grade, delta.notes) == ("complete", full.notes)


@BOTH
def test_bytes_grow_with_the_turns_and_not_with_their_square(kind: str) -> None:
    counts = (5, 10, 20, 30, 40)
    full, delta = ([size(export(kind, n, history)) for n in counts] for history in ("full", "delta"))
    content = [sum(map(of_history, export(kind, 40, history))) for history in ("full", "delta")]
    print(f"{kind}, {counts} turns: full {full}, delta {delta}, ratio at 40 {full[-1] / delta[-1]:.1f}")
    print(f"messages and params alone at 40: {content}, ratio {content[0] / content[1]:.1f}")
    assert misfit(counts, delta) < 0.05  # of what 40 turns cost: keyframes come at some turns and not at others
    assert misfit(counts, full) > 0.05
    assert full[-1] / delta[-1] > 3
    assert content[0] / content[1] > 6


@BOTH
def test_a_sealed_run_is_read_back_exactly(kind: str, tmp_path: Path) -> None:
    exported = export(kind, 10, "delta")
    (run,) = RunReader.open(sealed(tmp_path, *exported)).runs()
    assert [call.replayable for call in run.calls] == ["exact"] * 10
    (tmp_path / "plain").mkdir()
    assert [told(call) for call in run.calls] == [told(call) for call in read(exported, tmp_path / "plain").calls]


def test_a_lost_call_is_named_and_costs_those_that_build_on_it_only(tmp_path: Path) -> None:
    exported = export("openai", 40, "delta")
    chats = [spans_of(line) for line in exported if spans_of(line)["name"].startswith("chat")]
    bases = [
        {item["key"]: item["value"] for item in span["attributes"]}.get(sc.HISTORY_BASE, {}).get("stringValue", "")
        for span in chats
    ]
    keyframes = [number for number, base in enumerate(bases) if not base]
    assert keyframes[-1] >= 16
    lost = keyframes[-2]
    gone = chats[lost]["spanId"]
    run = read(tuple(line for line in exported if spans_of(line)["spanId"] != gone), tmp_path)
    assert run.grade == "gapped"
    after = range(lost + 1, keyframes[-1])
    assert len(after) > 3
    for number, call in zip([*range(lost), *range(lost + 1, 40)], run.calls, strict=True):
        assert call.replayable == ("no" if number in after else "exact")
        assert (call.request is None) == (number in after)
        if number in after:
            assert call.replay_reason == (
                f"only the messages new since span {bases[number]} were recorded, and span {gone} is missing"
            )


def delta(span_id: str, start: float, base: str, kept: int, content: str) -> Span:
    params = {
        "v": 1, "body": {"model": "m", "messages": {"$": "messages"}}, "messages": [0], "tools": [],
        "shapes": [{"role": {"$": "role"}, "content": {"$": "0.content"}}],
    }
    attributes = {
        sc.OPERATION_NAME: "chat", sc.LLM_FORMAT: "openai.chat", sc.LLM_REQUEST_SHA256: "0" * 64,
        sc.LLM_REQUEST_PARAMS: json.dumps(params), sc.INPUT_MESSAGES: json.dumps([text("user", content)]),
    }
    if base:
        attributes |= {sc.HISTORY_BASE: base, sc.HISTORY_KEPT: kept}
    return Span(span_id, "chat m", start, start + 1, "", attributes)


def test_what_is_restored_is_held_against_the_digest(tmp_path: Path) -> None:
    spans = [delta("a1" * 8, 1, "", 0, "one"), delta("b2" * 8, 2, "a1" * 8, 1, "two")]
    (tmp_path / "spans.jsonl").write_bytes(lines(spans))
    (run,) = RunReader.open(tmp_path).runs()
    assert [message.text for message in run.calls[1].messages] == ["one", "two"]
    assert run.calls[1].replayable == "semantic"


def test_nothing_is_built_on_a_span_that_is_there_with_two_contents(tmp_path: Path) -> None:
    first, other = delta("a1" * 8, 1, "", 0, "one"), delta("a1" * 8, 1, "", 0, "another")
    (tmp_path / "spans.jsonl").write_bytes(lines([first, other, delta("b2" * 8, 2, "a1" * 8, 1, "two")]))
    (run,) = RunReader.open(tmp_path).runs()
    call = next(call for call in run.calls if call.span_id == "b2" * 8)
    assert (call.replayable, [message.text for message in call.messages]) == ("no", ["two"])
    assert call.replay_reason.endswith(f"span {'a1' * 8} is there with two contents")
