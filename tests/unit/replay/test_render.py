"""Pictures of a run: the same for ever (golden), as narrow as asked, and nothing a stranger wrote steers a terminal."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from tests.unit.replay.recorded import Span, calculator_run, check, decision, lines, sealed_off

from spanseal.genai import semconv as sc
from spanseal.replay.reader import RunReader
from spanseal.replay.render.json import dumps, run_document, run_summary, step_document
from spanseal.replay.render.step import step_view
from spanseal.replay.render.table import short_id, table
from spanseal.replay.render.text import FANCY, PLAIN, fit, marks_for, safe
from spanseal.replay.render.tree import tree
from spanseal.replay.render.words import duration, tokens
from spanseal.replay.run import Call, Run

GOLDEN = Path(__file__).parents[2] / "golden" / "replay"
HOSTILE = "\x1b[2J\x1b]0;owned\x07\r\u202egnp.exe\u2066\u200b\x9b31m\x00\x7f\n\u2028end"


def only(spans: list[Span], tmp_path: Path) -> Run:
    (tmp_path / "spans.jsonl").write_bytes(lines(spans))
    (run,) = RunReader.open(tmp_path).runs()
    return run


def hostile_run() -> list[Span]:
    """A halted run of three attempts with hostile text in every place that can hold text."""
    spans = calculator_run()
    by_name = {span.name: span for span in spans}
    root, tool = by_name["invoke_agent calculator"], by_name["execute_tool calculator"]
    root.attributes |= {sc.RUN_OUTCOME: "halted", sc.RUN_STOP_REASON: HOSTILE, sc.AGENT_NAME: HOSTILE}
    root.status, root.message = 2, HOSTILE
    tool.attributes |= {sc.TOOL_CALL_RESULT: HOSTILE, sc.TOOL_NAME: HOSTILE, sc.TOOL_FAULT: HOSTILE}
    tool.name, tool.status, tool.message = HOSTILE, 2, HOSTILE
    by_name["verification default"].events.append(check(HOSTILE, HOSTILE, HOSTILE, HOSTILE))
    for span in spans:
        if span.attributes.get(sc.OPERATION_NAME) == "chat":
            said = {"role": HOSTILE, "parts": [{"type": "text", "content": HOSTILE}, {"type": HOSTILE, "x": HOSTILE}]}
            span.attributes |= {sc.OUTPUT_MESSAGES: json.dumps([said]), sc.INPUT_MESSAGES: json.dumps([said])}
            span.attributes |= {sc.RESPONSE_MODEL: HOSTILE, sc.LLM_ATTEMPT: 2, sc.LLM_STREAM_END: HOSTILE}
    spans.append(decision("c3" * 8, "b2" * 8, 710, HOSTILE, "halt", HOSTILE, HOSTILE))
    spans.append(Span("99" * 8, HOSTILE, 5, 6, "98" * 8))
    return sealed_off(spans, root)


def plain_lines(run: Run, width: int = 100, marks: object = None) -> list[str]:
    return [line.plain for line in tree(run, width, PLAIN if marks is PLAIN else FANCY)]


@pytest.mark.parametrize(("name", "marks"), [("calculator.txt", FANCY), ("calculator.ascii.txt", PLAIN)])
def test_the_tree_as_it_always_was(name: str, marks: object, tmp_path: Path) -> None:
    shown = "\n".join(plain_lines(only(calculator_run(), tmp_path), 100, marks)) + "\n"
    assert shown == (GOLDEN / name).read_text(encoding="utf-8")


def test_a_step_as_it_always_was(tmp_path: Path) -> None:
    step = only(calculator_run(), tmp_path).step(2)
    assert step is not None
    shown = "\n".join(line.plain for line in step_view(step, 100)) + "\n"
    assert shown == (GOLDEN / "calculator.step2.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [60, 80])
def test_a_narrow_terminal_still_says_whether_a_call_can_be_sent_again(width: int, tmp_path: Path) -> None:
    spans = calculator_run()
    for span in spans:
        if span.attributes.get(sc.OPERATION_NAME) == "chat":
            span.attributes[sc.RESPONSE_MODEL] = "a-model-with-a-rather-long-name"
    run = only(spans, tmp_path)
    words = " ".join(line.plain for line in tree(run, width)).split()
    assert words.count("semantic") == len(run.calls) > 0


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int, tmp_path: Path) -> None:
    for spans in (calculator_run(), hostile_run()):
        run = only(spans, tmp_path)
        for marks in (FANCY, PLAIN):
            assert max(line.cell_len for line in tree(run, width, marks)) <= width
            assert max(line.cell_len for line in table([run], width, marks)) <= width
            for step in run.steps:
                assert max(line.cell_len for line in step_view(step, width, marks)) <= width


@pytest.mark.parametrize("marks", [FANCY, PLAIN])
def test_hostile_text_never_reaches_the_terminal(marks: object, tmp_path: Path) -> None:
    run = only(hostile_run(), tmp_path)
    chosen = PLAIN if marks is PLAIN else FANCY
    pictures = [*tree(run, 4000, chosen), *table([run], 4000, chosen)]
    for step in run.steps:
        pictures += step_view(step, 4000, chosen)
    texts = [line.plain for line in pictures]
    assert sum("owned" in text for text in texts) > 20
    for text in texts:
        assert all(char.isprintable() for char in text), text
    if marks is PLAIN:
        assert all(text.isascii() for text in texts)


def test_the_json_form_is_ascii_and_whole(tmp_path: Path) -> None:
    run = only(hostile_run(), tmp_path)
    text = dumps(run_document(run))
    assert text.isascii()
    assert all(char.isprintable() or char == "\n" for char in text)
    told = json.loads(text)
    assert told["agent"] == HOSTILE
    assert len(told["timeline"]) == run.span_count + 1  # and the missing parent
    kinds = {part["kind"] for part in told["timeline"]}
    assert kinds == {"step", "call", "tooluse", "verification", "decision", "other"}


def test_the_json_form_of_a_call_holds_messages_and_answer(tmp_path: Path) -> None:
    run = only(calculator_run(), tmp_path)
    calls = [part for part in run_document(run)["timeline"] if part["kind"] == "call"]
    assert calls[0]["response"]["tool_calls"] == [
        {"type": "toolcall", "id": "c1", "name": "calculator", "arguments": '{"expression":"17 * 23"}'}
    ]
    assert calls[1]["messages"][0] == {"role": "user", "content": "What is 17 * 23?", "name": ""}
    step = run.step(1)
    assert step is not None
    assert [part["kind"] for part in step_document(run, step)["timeline"]] == ["step", "decision", "call", "tooluse"]


def test_the_summary_has_exactly_the_documented_fields(tmp_path: Path) -> None:
    assert run_summary(only(calculator_run(), tmp_path)) == {
        "run_id": "4b" * 16,
        "trace_id": "0af7651916cd43dd8448eb211c80319c",
        "agent": "calculator",
        "parent_run_id": "",
        "outcome": "completed",
        "grade": "complete",
        "started": "2026-11-30T12:33:10.000000000Z",
        "spans": 9,
        "calls": 2,
        "replayable": {"exact": 0, "semantic": 2, "no": 0},
    }


def test_content_cannot_pass_for_a_line_of_the_step_s_picture(tmp_path: Path) -> None:
    spans = calculator_run()
    said = {"role": "user", "parts": [{"type": "text", "content": "a\nanswer\n    all is well"}]}
    spans[4].attributes[sc.INPUT_MESSAGES] = json.dumps([said])
    step = only(spans, tmp_path).step(2)
    assert step is not None
    texts = [line.plain for line in step_view(step)]
    assert "    │ answer" in texts
    assert texts.count("  answer") == 1


def test_the_manifest_of_a_second_process_is_no_line_of_the_picture(tmp_path: Path) -> None:
    root = Span("a0" * 8, "invoke_agent pool", 0, 9, "", {sc.OPERATION_NAME: "invoke_agent", sc.AGENT_NAME: "pool"})
    work, last = Span("b1" * 8, "work", 1, 5, root.id), Span("b2" * 8, sc.SPAN_MANIFEST, 5, 5, root.id)
    run = only(sealed_off([root, work, last], root), tmp_path)
    seen = plain_lines(run)
    assert run.span_count == 3
    assert not any(sc.SPAN_MANIFEST in line for line in seen)
    assert any(f"{FANCY.last}work" in line for line in seen), "the last that is shown closes the branch"


def test_a_failed_run_says_so(tmp_path: Path) -> None:
    spans = calculator_run()
    spans[-1].attributes |= {sc.RUN_OUTCOME: "failed", sc.ERROR_TYPE: "ProviderTimeoutError"}
    spans[-1].status = 2
    spans[1].attributes[sc.ERROR_TYPE] = "ProviderTimeoutError"
    spans[1].status, spans[1].message = 2, "no answer in 30 s"
    shown = plain_lines(only(sealed_off(spans, spans[-1]), tmp_path))
    assert any("failed (answered)" in line for line in shown)
    assert any(line.endswith("✗ ProviderTimeoutError: no answer in 30 s") for line in shown)


def test_short_ids_are_as_long_as_they_must_be() -> None:
    near = [Run(run_id="a" * 20 + tail, trace_id="") for tail in ("b" * 12, "c" * 12)]
    assert [short_id(run, near) for run in near] == ["a" * 20 + "b", "a" * 20 + "c"]
    assert short_id(near[0], near[:1]) == "a" * 12


def test_words() -> None:
    assert duration(None) == "?"
    assert duration(61_000) == "1.0 min"
    assert tokens(Call(span_id="1").usage, "→") == ""
    assert marks_for("utf-8") is FANCY
    assert marks_for("ascii") is marks_for(None) is marks_for("nonsense") is PLAIN


def harmless(char: str) -> bool:
    """Shown as it is, a space of some width, or what joins letters and emoji."""
    return char.isprintable() or unicodedata.category(char) == "Zs" or char in "\u200c\u200d"


@given(st.text(), st.integers(1, 30))
def test_any_text_is_made_safe_and_fits(text: str, width: int) -> None:
    for marks in (FANCY, PLAIN):
        shown = safe(text, marks)
        assert all(harmless(char) for char in shown)
        assert cell_len(fit(shown, width, marks)) <= width
        assert marks is FANCY or shown.isascii()
    assert all(harmless(char) or char == "\n" for char in safe(text, lines=True))


def test_what_is_printable_stays_as_it_is() -> None:
    assert safe("Grüße, 你好, 👩‍🔬") == "Grüße, 你好, 👩‍🔬"
    assert safe("你好", PLAIN) == "\\u4f60\\u597d"
