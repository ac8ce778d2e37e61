"""From the bytes that a client sends, through capture, a run and an exported file, to the reader: every call is exact.

``SPANSEAL_SOAK`` makes it 500 runs for each way of recording histories.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from tests.unit.genai.json_values import st
from tests.unit.records.odd_json import written
from tests.unit.records.wire_bodies import FORMATS, sent

from spanseal.genai.wire import wire_format
from spanseal.records.history_read import restored
from spanseal.records.otlp import parse_line
from spanseal.records.replay_read import rebuild
from spanseal.replay.reader import RunReader
from spanseal.replay.run import Run
from spanseal.telemetry.active import History, activate, active
from spanseal.telemetry.capture.call import Target, begin
from spanseal.telemetry.content.redaction.redactor import Redactor
from spanseal.telemetry.run_span import run_span
from spanseal.testing import capture_spans

SOAK = bool(os.environ.get("SPANSEAL_SOAK"))
MANY = settings(
    max_examples=500 if SOAK else 25,
    deadline=None,
    derandomize=not SOAK,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
)


def made(bodies: list[tuple[str, bytes]], history: History, folder: Path) -> tuple[Run, list[bytes | None]]:
    """The run of these calls as a reader sees it, and the bytes that each call's record gives back."""
    with capture_spans(history=history) as captured:
        now = active()
        before = activate(
            type(now)(
                now.capture,
                now.effects,
                now.max_value_bytes,
                now.provider,
                now.ledger,
                configured=True,
                history=history,
                redactor=Redactor((), ()),
            )
        )
        with run_span("a"):
            for name, raw in bodies:
                call = begin(Target(name, wire_format(name).PROVIDER), "m")
                assert call is not None
                call.attempt(raw)
                call.settle(ValueError("nobody answers"))
        lines = captured.lines()
        activate(before)
    path = folder / "spans.jsonl"
    path.write_bytes(b"".join(lines))
    (run,) = RunReader.open(path).runs()
    told = {span.span_id: span.attributes for line in lines for span in parse_line(line)}
    whole: dict[str, Any] = {**told, **restored(told)}
    return run, [rebuild(whole[call.span_id]).body for call in run.calls]


def named(name: str) -> Any:
    return st.tuples(st.just(name), sent(name))


calls: Any = st.lists(st.sampled_from(FORMATS).flatmap(named), min_size=1, max_size=5)


@pytest.mark.parametrize("history", ["full", "delta"])
@MANY
@given(bodies=calls)
def test_every_call_is_exact(history: History, bodies: list[tuple[str, bytes]], tmp_path: Path) -> None:
    run, rebuilt = made(bodies, history, tmp_path)
    assert [(call.replayable, call.replay_reason) for call in run.calls] == [("exact", "")] * len(bodies)
    assert rebuilt == [raw for _, raw in bodies]
    assert [call.wire for call in run.calls] == [name for name, _ in bodies]
    assert run.grade == "complete"


@pytest.mark.parametrize("history", ["full", "delta"])
@pytest.mark.parametrize("depth", [60, 250, 400, 900, 5_000])
def test_deeply_nested_bodies(history: History, depth: int, tmp_path: Path) -> None:
    deep = "[" * depth + "]" * depth
    bodies = [
        ("openai.chat", f'{{"model":"m","messages":[{{"role":"user","content":{deep}}}]}}'.encode()),
        ("openai.responses", f'{{"model":"m","input":[{{"type":"new","x":{deep}}}],"more":{deep}}}'.encode()),
        ("openai.embeddings", f'{{"model":"m","input":{deep}}}'.encode()),
    ]
    run, rebuilt = made(bodies, history, tmp_path)
    assert rebuilt == [raw for _, raw in bodies]
    grades = {("exact", "")}
    if depth > 1_000:  # how deep a text Python's own parser reads differs from version to version
        grades.add(("no", "the recorded request is no JSON object that can be read"))
    assert {(call.replayable, call.replay_reason) for call in run.calls} <= grades


@pytest.mark.parametrize("name", ["openai.chat", "openai.responses"])
def test_branches_edits_summaries_and_parallel_histories(name: str, tmp_path: Path) -> None:
    """What agents do with their memory: every call is restored, and a call costs what is new in it."""
    field = wire_format(name).PLACES.history
    turns: list[Any] = [
        {"role": ("user", "assistant")[n % 2], "content": f"turn {n} " + "word " * 40} for n in range(12)
    ]
    other: list[Any] = [{"role": "user", "content": f"other {n} " + "word " * 40} for n in range(12)]
    histories = [turns[: n + 1] for n in range(8)]
    histories += [
        [*turns[:3], {"role": "user", "content": "a branch"}],
        [*turns[:3], {"role": "user", "content": "another"}],
    ]
    histories += [
        [{"role": "user", "content": "edited"}, *turns[1:6]],
        [turns[0], {"role": "user", "content": "summary"}, *turns[6:9]],
    ]
    for number in range(6):  # two conversations side by side
        histories += [turns[: 7 + number], other[: 1 + number]]
    bodies = [(name, written({"model": "m", field: history}).encode()) for history in histories]
    run, rebuilt = made(bodies, "delta", tmp_path)
    assert rebuilt == [raw for _, raw in bodies]
    assert {call.replayable for call in run.calls} == {"exact"}
