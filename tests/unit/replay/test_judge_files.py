"""Plain export files are never good: what contradicts their ledgers is bad, the rest is unknown, and each is named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.replay.recorded import RUN, Span, calculator_run, line, lines

from spanseal.audit.verify import Verdict
from spanseal.errors import ReplayError
from spanseal.replay.judge_files import judge_files


def judged(tmp_path: Path, data: bytes, name: str = "spans.jsonl") -> Verdict:
    (tmp_path / name).write_bytes(data)
    return judge_files(tmp_path)


def told(verdict: Verdict, code: str) -> str:
    return "\n".join(f"{found.where}: {found.meaning}" for found in verdict.findings if found.code == code)


def codes(verdict: Verdict) -> list[str]:
    return [found.code for found in verdict.findings]


def test_a_whole_run_is_consistent_and_still_unknown(tmp_path: Path) -> None:
    verdict = judged(tmp_path, lines(calculator_run()))
    assert (verdict.verdict, verdict.exit_code, verdict.origin, verdict.size) == ("unknown", 2, "", 9)
    assert codes(verdict) == ["not-sealed"]
    assert verdict.covered == {"spans": 9, "runs": 1, "complete_runs": 1}
    assert not any(verdict.unchecked.values())


@pytest.mark.parametrize("gone", range(1, 8))
def test_a_missing_span_is_bad_and_its_number_is_named(gone: int, tmp_path: Path) -> None:
    spans = sorted(calculator_run(), key=lambda span: span.start)
    verdict = judged(tmp_path, lines(span for span in spans if span is not spans[gone]))
    assert verdict.exit_code == 1
    assert f"run {RUN}" in told(verdict, "run-incomplete")
    assert str(gone) in told(verdict, "run-incomplete").replace(RUN, "")


def test_a_span_with_two_contents_is_bad_and_told_once(tmp_path: Path) -> None:
    spans = calculator_run()
    other = replace(spans[2], message="another", status=2)
    verdict = judged(tmp_path, lines([*spans, other]))
    assert verdict.exit_code == 1
    assert told(verdict, "run-conflicting").count("two contents") == 1


def test_a_cut_write_that_was_repeated_is_torn_not_bad(tmp_path: Path) -> None:
    whole = lines(calculator_run())
    verdict = judged(tmp_path, whole[:70] + whole)
    assert verdict.exit_code == 2
    assert set(codes(verdict)) == {"not-sealed", "line-torn"}
    assert "glued" in told(verdict, "line-torn")
    lost = whole[:70] + whole[whole.index(b"\n") + 1 :]
    assert judged(tmp_path, lost).exit_code == 1, "the cut span was not written again"


def test_a_conflict_outside_of_all_runs_is_bad(tmp_path: Path) -> None:
    first, second = (Span("1" * 16, "GET", 0, 1, trace="e" * 32, message=text) for text in ("a", "b"))
    verdict = judged(tmp_path, lines([first, second]))
    assert verdict.exit_code == 1
    assert "two contents" in told(verdict, "run-conflicting")
    assert verdict.unchecked["spans_of_no_run"] == 2


@pytest.mark.parametrize("between", [b"hello\n", b'{"resourceSp\n', bytes(30), b"\0\n"])
def test_damage_in_the_middle_is_bad_and_has_a_place(between: bytes, tmp_path: Path) -> None:
    first, *rest = calculator_run()
    at = len(line(first))
    verdict = judged(tmp_path, line(first) + between + lines(rest))
    assert verdict.exit_code == 1
    assert f"spans.jsonl, bytes {at}-" in told(verdict, "lines-damaged")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(st.integers(1, 2000))
def test_a_cut_at_the_end_is_unknown_and_said(tmp_path: Path, cut: int) -> None:
    data = lines(calculator_run())
    rest = data[: len(data) - cut]
    verdict = judged(tmp_path, rest)
    assert verdict.verdict == "unknown"
    torn = not rest.endswith(b"\n") and not data.startswith(rest + b"\n")
    assert ("line-torn" in codes(verdict)) == torn
    assert ("run-truncated" in codes(verdict)) == (cut > 1)


def test_nuls_at_the_end_and_other_files_are_said(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("x")
    verdict = judged(tmp_path, lines(calculator_run()) * 2 + bytes(100))
    assert verdict.verdict == "unknown"
    assert set(codes(verdict)) == {"not-sealed", "line-torn", "file-ignored", "span-repeated"}


def test_an_export_without_spans_cannot_be_judged(tmp_path: Path) -> None:
    verdict = judged(tmp_path, b"")
    assert (verdict.verdict, verdict.size, codes(verdict)) == ("unknown", 0, ["not-sealed"])


def test_more_damage_than_is_noted_is_counted(tmp_path: Path) -> None:
    good = [line(Span(f"{n + 1:016x}", "GET", 0, 1, trace="e" * 32)) for n in range(1300)]
    twice = line(Span(f"{1:016x}", "POST", 0, 1, trace="e" * 32))
    verdict = judged(tmp_path, b"x\n".join(good) + twice)
    assert verdict.exit_code == 1
    assert "1 more of these" in told(verdict, "run-conflicting")


def test_a_folder_without_exports_is_no_source(tmp_path: Path) -> None:
    with pytest.raises(ReplayError, match="nothing to read"):
        judge_files(tmp_path)
