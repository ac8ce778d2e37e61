"""From spans in any order and state to a run that can be read."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.replay.recorded import QUESTION, TRACE, Span, calculator_run, chat, lines, numbered, text

from spanseal.genai import semconv as sc
from spanseal.genai.messages import Message, ToolCall, ToolResult, Usage
from spanseal.replay.reader import RunReader
from spanseal.replay.render.json import dumps, run_document
from spanseal.replay.render.tree import tree
from spanseal.replay.run import Run


def runs_of(spans: list[Span], tmp_path: Path) -> tuple[Run, ...]:
    (tmp_path / "spans.jsonl").write_bytes(lines(spans))
    found = RunReader.open(tmp_path).runs()
    for run in found:
        assert list(tree(run))
        assert dumps(run_document(run))
    return found


def only(spans: list[Span], tmp_path: Path) -> Run:
    (run,) = runs_of(spans, tmp_path)
    return run


def bare(spans: list[Span]) -> list[Span]:
    """The same spans as another framework would have made them."""
    for span in spans:
        for key in [key for key in span.attributes if key.startswith("spanseal.") and key != sc.STEP_NUMBER]:
            del span.attributes[key]
    return spans


def test_a_run_as_it_was(tmp_path: Path) -> None:
    run = only(calculator_run(), tmp_path)
    assert (run.agent, run.outcome, run.stop_reason) == ("calculator", "completed", "answered")
    assert (run.duration_ms, run.span_count) == (900.0, 9)
    assert run.question == (Message("user", "What is 17 * 23?"),)
    assert run.answer == (Message("assistant", "391"),)
    assert [step.number for step in run.steps] == [1, 2]
    first, second = run.steps
    assert [len(part) for part in (first.calls, first.tools, first.decisions, first.verifications)] == [1, 1, 1, 0]
    assert [len(part) for part in (second.calls, second.tools, second.decisions, second.verifications)] == [1, 0, 1, 1]
    assert [(check.name, check.passed, check.severity) for check in run.checks] == [
        ("not_empty", True, "error"),
        ("short", False, "warning"),
    ]
    assert [(d.seam, d.decision, d.policy) for d in run.decisions] == [
        ("before_model", "allow", ""),
        ("before_answer", "modify", "tidy"),
    ]
    (tool,) = run.tools
    assert (tool.tool, tool.call_id) == ("calculator", "c1")
    assert (tool.arguments, tool.result) == ({"expression": "17 * 23"}, "391")
    assert run.resource == {"service.name": "shop"}


def test_a_call_as_the_model_saw_it(tmp_path: Path) -> None:
    wish, answer = only(calculator_run(), tmp_path).calls
    assert wish.usage == Usage(42, 9)
    assert (wish.model, wish.provider, wish.step, wish.attempt) == ("tiny-1", "openai", 1, 1)
    assert wish.response is not None
    assert wish.response.tool_calls == (ToolCall("c1", "calculator", '{"expression":"17 * 23"}'),)
    assert wish.response.latency_ms == wish.duration_ms == 295.0
    assert [message.role for message in answer.messages] == ["user", "assistant", "tool"]
    assert answer.messages[2].parts == (ToolResult("c1", "391", "calculator"),)
    assert (answer.replayable, answer.finish_reasons) == ("semantic", ("stop",))


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_spans_does_not_matter(seed: int, tmp_path: Path) -> None:
    spans = calculator_run()
    expected = only(spans, tmp_path)
    random.Random(seed).shuffle(spans)
    assert only(spans, tmp_path) == expected


def test_two_runs_are_never_one(tmp_path: Path) -> None:
    second = calculator_run("5c" * 16, "f" * 32, shift=5000)
    found = runs_of([*calculator_run(), *second], tmp_path)
    assert [run.run_id for run in found] == ["5c" * 16, "4b" * 16]
    assert {run.grade for run in found} == {"complete"}
    assert [run.span_count for run in found] == [9, 9]


def test_one_run_id_in_two_traces_is_two_runs_and_a_conflict(tmp_path: Path) -> None:
    found = runs_of([*calculator_run(), *calculator_run(trace="f" * 32, shift=5000)], tmp_path)
    assert [(run.trace_id, run.grade, run.span_count) for run in found] == [
        ("f" * 32, "conflicting", 9),
        (TRACE, "conflicting", 9),
    ]


def test_two_roots_are_a_conflict(tmp_path: Path) -> None:
    spans = calculator_run()
    second = Span("aa" * 8, "invoke_agent calculator", 50, 60, "", dict(spans[-1].attributes))
    run = only([*spans, second], tmp_path)
    assert run.grade == "conflicting"
    assert any("2 root spans" in note.meaning for note in run.notes)


def test_another_framework_s_agent_is_found_by_its_root(tmp_path: Path) -> None:
    run = only(bare(calculator_run()), tmp_path)
    assert (run.run_id, run.grade) == (f"{TRACE}-{'a0' * 8}", "unnumbered")
    assert len(run.calls) == 2


def test_an_inner_agent_of_another_framework_is_its_own_run(tmp_path: Path) -> None:
    spans = bare(calculator_run())
    inner = Span("aa" * 8, "invoke_agent search", 311, 312, "e1" * 8, {sc.OPERATION_NAME: "invoke_agent"})
    asked = chat("ab" * 8, inner.id, 311.1, 311.9, [text("user", "find")], [text("assistant", "found")])
    found = runs_of([*spans, inner, asked], tmp_path)
    assert [(run.run_id[-16:], len(run.calls)) for run in found] == [("aa" * 8, 1), ("a0" * 8, 2)]
    assert (found[0].parent_run_id, found[1].children) == (found[1].run_id, (found[0].run_id,))


def test_calls_without_any_agent_are_a_run_by_their_trace(tmp_path: Path) -> None:
    run = only([chat("d1" * 8, "", 1, 2, [QUESTION], [text("assistant", "391")])], tmp_path)
    assert (run.run_id, run.trace_id, run.grade, len(run.calls)) == (TRACE, TRACE, "unnumbered", 1)


def test_traces_without_any_agent_or_model_are_only_counted(tmp_path: Path) -> None:
    (tmp_path / "spans.jsonl").write_bytes(lines([Span("1" * 16, "GET /", 1, 2, attributes={"http.route": "/"})]))
    reader = RunReader.open(tmp_path)
    assert reader.runs() == ()
    assert [note.meaning for note in reader.notes] == ["1 spans belong to no agent's run; not shown"]


def test_orphans_hang_under_a_parent_that_is_said_to_be_missing(tmp_path: Path) -> None:
    run = only([span for span in calculator_run() if span.id != "b1" * 8], tmp_path)
    assert any(note.kind == "orphans" for note in run.notes)
    assert [part.part.span_id for part in run.tree] == ["a0" * 8, "b1" * 8]
    assert len(run.tree[1].children) == 3


def test_a_circle_of_parents(tmp_path: Path) -> None:
    spans = calculator_run()
    spans[3].parent, spans[0].parent = spans[0].id, spans[3].id
    run = only(spans, tmp_path)
    assert any(note.kind == "circle" for note in run.notes)
    assert len(run.calls) == 2
    alone = Span("1" * 16, "chat", 1, 2, "1" * 16, {sc.OPERATION_NAME: "chat"})
    assert len(only([alone], tmp_path).calls) == 1


def test_a_chain_of_two_thousand(tmp_path: Path) -> None:
    chain = [Span(f"{n + 1:016x}", "deep", n, n + 1, f"{n:016x}" if n else "", {"gen_ai.x": 1}) for n in range(2000)]
    run = only(chain, tmp_path)
    assert run.span_count == 2000
    assert sum(1 for _ in tree(run)) > 2000


def test_times_that_are_missing_or_contradict(tmp_path: Path) -> None:
    spans = bare(calculator_run())
    spans[1].end = spans[1].start - 1
    spans[2].end = None
    spans[4].start = -1_796_041_990_000
    run = only(spans, tmp_path)
    assert sorted(note.meaning for note in run.notes if note.kind == "time") == [
        "chat tiny: ends before it starts",
        "chat tiny: no start time",
        "execute_tool calculator: no end time",
    ]
    assert run.started == spans[-1].start_ns


WRONG: list[Any] = [
    1, -0.5, True, "x", [], ["a", 1], {}, {"a": {"b": 1}}, "", None, "[", "[1]", '{"a":1}', '"x"', "[" * 900 + "]" * 900
]
KEYS = [value for name, value in vars(sc).items() if isinstance(value, str) and "." in value and name.isupper()]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_attributes_of_any_type_never_make_it_fail(tmp_path: Path, data: st.DataObject) -> None:
    spans = calculator_run()
    for span in spans:
        for key in data.draw(st.lists(st.sampled_from(KEYS), max_size=5)):
            span.attributes[key] = data.draw(st.sampled_from(WRONG))
        for event in span.events:
            event[1].update({key: data.draw(st.sampled_from(WRONG)) for key in event[1]})
    runs_of(spans, tmp_path)


def test_wrong_types_are_notes(tmp_path: Path) -> None:
    spans = calculator_run()
    spans[1].attributes[sc.USAGE_INPUT_TOKENS] = "42"
    spans[1].attributes[sc.INPUT_MESSAGES] = "[{"
    run = only(spans, tmp_path)
    told = [note.meaning for note in run.notes]
    assert f"{sc.USAGE_INPUT_TOKENS} should be a whole number, found str" in told
    assert any(meaning.startswith(f"{sc.INPUT_MESSAGES} is not JSON") for meaning in told)
    assert run.calls[0].replayable == "no"
    assert run.calls[0].usage.input_tokens is None


def test_structured_content_reads_like_its_json_text(tmp_path: Path) -> None:
    spans = calculator_run()
    expected = only(spans, tmp_path)
    for span in spans:
        for key in (sc.INPUT_MESSAGES, sc.OUTPUT_MESSAGES, sc.TOOL_CALL_ARGUMENTS):
            if key in span.attributes:
                span.attributes[key] = json.loads(span.attributes[key])
    assert only(spans, tmp_path).calls == expected.calls


def test_a_value_that_was_too_large_is_said_to_be(tmp_path: Path) -> None:
    spans = calculator_run()
    spans[1].attributes[sc.INPUT_MESSAGES] = '{"spanseal.omitted": {"bytes": 9000000, "sha256": "ab"}}'
    run = only(spans, tmp_path)
    assert run.calls[0].replayable == "no"
    assert any("9000000 bytes (sha256 ab), the value was not kept" in note.meaning for note in run.notes)


def test_a_delta_of_a_history_is_not_taken_for_the_whole(tmp_path: Path) -> None:
    spans = calculator_run()
    spans[4].attributes[sc.HISTORY_BASE] = "d1" * 8
    call = only(spans, tmp_path).calls[1]
    assert (call.replayable, call.request) == ("no", None)
    assert "new since span" in call.replay_reason


def test_steps_that_ran_side_by_side_are_marked(tmp_path: Path) -> None:
    spans = bare(calculator_run())
    told = {sc.OPERATION_NAME: "execute_tool"}
    extra = [Span(f"{n}e" * 8, "execute_tool t", 310 + n, 350 + n, "b1" * 8, told) for n in (1, 2)]
    shown = [line.plain for line in tree(only([*spans, *extra], tmp_path))]
    assert sum("∥ tool" in line for line in shown) == 2


def test_numbers_decide_between_spans_of_one_instant(tmp_path: Path) -> None:
    spans = [chat(f"{n}d" * 8, "", 1, 2, [QUESTION], [text("assistant", str(n))]) for n in (3, 1, 2)]
    numbered(spans)
    run = only(spans, tmp_path)
    assert [call.response.text for call in run.calls if call.response] == ["3", "1", "2"]
