"""A value over the size policy: kept in spans of its own, put back by the reader, sealed and erased with its run."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanseal.genai import semconv as sc
from spanseal.records.large_values import Mark, Values, mark_in, parts_of
from spanseal.replay.judge_files import judge_files
from spanseal.replay.reader import RunReader
from spanseal.telemetry.active import activate, active
from spanseal.telemetry.configure import configure, shutdown
from spanseal.telemetry.content.attributes import set_content
from spanseal.telemetry.run_span import run_span
from spanseal.telemetry.spans.inner import open_span
from spanseal.telemetry.spans.tracer import tracer
from spanseal.testing import capture_spans

BIG = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "größer 😀 " * 200}]}], ensure_ascii=False)


@given(st.text(st.characters(exclude_categories=["Cs"])), st.integers(4, 9))
def test_parts_are_cut_between_characters(text: str, most: int) -> None:
    parts = list(parts_of(text, most))
    assert "".join(parts) == text
    assert all(0 < len(part.encode()) <= most for part in parts)


def test_only_a_whole_mark_is_a_mark() -> None:
    mark = Mark(9, "ab", 2)
    assert mark_in(mark.text()) == mark
    assert mark_in('{"spanseal.omitted": {"bytes": 9, "sha256": "ab"}}') == Mark(9, "ab")
    broken = '{"spanseal.omitted":'
    for other in ('{"spanseal.omitted": 1}', '{"spanseal.omitted": {"bytes": 9}, "x": 1}', "", 7, None, broken):
        assert mark_in(other) is None


def exported(folder: Path, limit: int, monkeypatch: pytest.MonkeyPatch, times: int = 1) -> None:
    monkeypatch.setenv("SPANSEAL_MAX_VALUE_BYTES", str(limit))
    configure("t", export=folder)
    try:
        with run_span("a", input_messages=BIG) as run:
            for _ in range(times):
                with tracer().start_as_current_span("execute_tool t") as span:
                    span.set_attribute(sc.OPERATION_NAME, sc.OP_EXECUTE_TOOL)
                    set_content(span, sc.TOOL_CALL_RESULT, BIG)
            run.finish("completed", "answered")
    finally:
        shutdown()


def test_a_folder_holds_the_value_once_beside_the_spans_and_the_reader_puts_it_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported(tmp_path, 2000, monkeypatch, times=2)
    files = list(tmp_path.glob("values/*/*.jsonl"))
    assert len(files) == 1
    spans = next(tmp_path.glob("spans-*.jsonl"))
    assert "größer" not in spans.read_text()
    for source in (tmp_path, spans):
        run = RunReader.open(source).runs()[0]
        assert (run.grade, run.span_count, len(run.notes)) == ("complete", 4, 0)
        assert run.question[0].text == json.loads(BIG)[0]["parts"][0]["content"]
        assert [tool.result for tool in run.tools] == [json.loads(BIG)] * 2
        assert not any(node.part.name == sc.SPAN_VALUE for node in run.tree[0].children)


def test_a_lost_part_is_named_and_the_run_gapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanseal.telemetry.content.values.PART_BYTES", 1000)
    exported(tmp_path, 2000, monkeypatch)
    file = next(tmp_path.glob("values/*/*.jsonl"))
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:1] + lines[2:]))
    run = RunReader.open(tmp_path).runs()[0]
    assert run.grade == "gapped"
    size = len(BIG.encode())
    assert any(f"{sc.TOOL_CALL_RESULT} is not here: {size} bytes" in note.meaning for note in run.notes)
    assert any(f"part 2 of {len(lines)} missing" in note.meaning for note in run.notes)


def test_a_lost_value_is_told_once_with_the_place_to_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exported(tmp_path, 2000, monkeypatch)
    next(tmp_path.glob("values/*/*.jsonl")).unlink()
    notes = RunReader.open(tmp_path).runs()[0].notes
    about = [(note.where, note.meaning) for note in notes if "sha256" in note.meaning]
    assert all("values/" in meaning for _, meaning in about)
    for key in (sc.INPUT_MESSAGES, sc.TOOL_CALL_RESULT):
        places = [where for where, meaning in about if meaning.startswith(key)]
        assert places
        assert len(places) == len(set(places))


def test_parts_that_were_changed_are_not_the_value() -> None:
    values = Values()
    values.add({sc.VALUE_SHA256: "ab", sc.VALUE_PART: 1, sc.VALUE_TEXT: "x"})
    back, problems = values.put_back({"k": Mark(1, "ab", 1).text()})
    assert "do not give the value" in problems[0]
    assert "missing" in str(back["k"])


def test_a_changed_part_is_bad_in_plain_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exported(tmp_path, 2000, monkeypatch)
    assert judge_files(tmp_path).verdict == "unknown"
    file = next(tmp_path.glob("values/*/*.jsonl"))
    file.write_text(file.read_text().replace("größer", "kleiner", 1))
    verdict = judge_files(tmp_path)
    assert verdict.verdict == "bad"
    assert "value-changed" in {found.code for found in verdict.findings}


def test_a_text_that_looks_like_a_mark_is_read_as_the_text_that_it_is(tmp_path: Path) -> None:
    forged = Mark(5, "ab" * 32, 1).text()
    configure("t", export=tmp_path)
    try:
        with run_span("a") as run:
            with tracer().start_as_current_span("execute_tool t") as span:
                span.set_attribute(sc.OPERATION_NAME, sc.OP_EXECUTE_TOOL)
                set_content(span, sc.TOOL_CALL_RESULT, forged)
            run.finish("completed", "answered")
    finally:
        shutdown()
    (read,) = RunReader.open(tmp_path).runs()
    assert not read.notes
    assert [tool.result for tool in read.tools] == [json.loads(forged)]


def test_without_a_ledger_the_mark_alone_stays() -> None:
    with capture_spans(max_value_bytes=1024) as captured, open_span("s") as span:
        before = activate(replace(active(), ledger=None))
        set_content(span, "k", "x" * 2000)
        activate(before)
    found: Any = captured.one("s").attributes
    assert mark_in(found["k"]) == Mark(2000, hashlib.sha256(b"x" * 2000).hexdigest())
    assert len(captured.spans) == 1


def test_with_capture_off_there_are_no_values() -> None:
    with capture_spans(capture="off", max_value_bytes=1024) as captured, open_span("s") as span:
        set_content(span, "k", "x" * 2000)
    found: Any = captured.one("s").attributes
    assert found["spanseal.bytes.k"] == 2000
    assert len(found["spanseal.digest.k"]) == 32
    assert "k" not in found
    assert len(captured.spans) == 1
