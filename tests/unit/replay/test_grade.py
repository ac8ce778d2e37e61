"""What the ledger says about a record: whole, cut off, with holes, or contradicting itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.unit.replay.recorded import KEY, RUN, WRITER, Span, calculator_run, lines, numbered, sealed_off

from spanseal.genai import semconv as sc
from spanseal.records.ledger import Row, encode_manifest, manifest_digest, sign_manifest
from spanseal.replay.reader import RunReader
from spanseal.replay.run import Run


def only(spans: list[Span], tmp_path: Path) -> Run:
    (tmp_path / "spans.jsonl").write_bytes(lines(spans))
    (run,) = RunReader.open(tmp_path).runs()
    return run


def reasons(run: Run, kind: str) -> list[str]:
    return [note.meaning for note in run.notes if note.kind == kind]


def test_a_whole_run_is_complete(tmp_path: Path) -> None:
    run = only(calculator_run(), tmp_path)
    assert (run.grade, run.notes) == ("complete", ())


@pytest.mark.parametrize("lost", [0, 2, 5])
def test_a_lost_span_is_named(lost: int, tmp_path: Path) -> None:
    spans = calculator_run()
    seq = spans.pop(lost).attributes[sc.SEQ]
    run = only(spans, tmp_path)
    assert run.grade == "gapped"
    assert reasons(run, "gapped") == [f"seq {seq} is missing"]


def test_without_its_root_a_run_is_truncated_and_says_what_had_not_ended(tmp_path: Path) -> None:
    spans = [span for span in calculator_run() if span.name not in ("invoke_agent calculator", "step")]
    run = only(spans, tmp_path)
    assert run.grade == "truncated"
    (reason,) = reasons(run, "truncated")
    assert "no manifest" in reason
    assert reason.endswith("seq 0 to 1, 5")
    assert len(run.calls) == 2


@pytest.mark.parametrize("field", ["start", "end", "status"])
def test_a_changed_span_contradicts_the_manifest(field: str, tmp_path: Path) -> None:
    spans = calculator_run()
    setattr(spans[1], field, {"start": 6, "end": 301, "status": 2}[field])
    run = only(spans, tmp_path)
    assert run.grade == "conflicting"
    assert "differs" in reasons(run, "conflicting")[0]


def test_a_manifest_signed_by_another_key(tmp_path: Path) -> None:
    spans = calculator_run()
    root = spans[-1]
    told = json.loads(root.attributes[sc.MANIFEST])
    told["signature"] = KEY.sign(b"something else").hex()
    root.attributes[sc.MANIFEST] = json.dumps(told, separators=(",", ":"))
    run = only(spans, tmp_path)
    assert run.grade == "conflicting"
    assert "signature" in reasons(run, "conflicting")[0]


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", "x", '{"v":1}'])
def test_a_manifest_that_is_none(text: str, tmp_path: Path) -> None:
    spans = calculator_run()
    spans[-1].attributes[sc.MANIFEST] = text
    assert only(spans, tmp_path).grade == ("conflicting" if text else "truncated")


def test_the_manifest_of_another_run(tmp_path: Path) -> None:
    spans, other = calculator_run(), calculator_run(run_id="99" * 16)
    spans[-1].attributes[sc.MANIFEST] = other[-1].attributes[sc.MANIFEST]
    run = only(spans, tmp_path)
    assert run.grade == "conflicting"
    assert reasons(run, "conflicting") == [f"the run manifest belongs to run {'99' * 16}"]


def test_two_spans_with_one_number(tmp_path: Path) -> None:
    spans = calculator_run()
    del spans[-1].attributes[sc.MANIFEST]
    spans[0].attributes[sc.SEQ] = spans[1].attributes[sc.SEQ]
    assert only(spans, tmp_path).grade == "conflicting"


def test_two_contents_of_one_span(tmp_path: Path) -> None:
    spans = calculator_run()
    again = calculator_run()[1]
    again.attributes["x"] = "y"
    run = only([*spans, again], tmp_path)
    assert run.grade == "conflicting"
    assert run.span_count == len(spans) + 1
    assert any("two contents" in reason for reason in reasons(run, "conflicting"))


def test_spans_of_another_framework_are_unnumbered(tmp_path: Path) -> None:
    spans = calculator_run()
    for span in spans:
        for key in (sc.RUN_ID, sc.WRITER_ID, sc.SEQ, sc.MANIFEST):
            span.attributes.pop(key, None)
    assert only(spans, tmp_path).grade == "unnumbered"


def test_a_second_writer_without_a_manifest_leaves_the_run_truncated(tmp_path: Path) -> None:
    key = Ed25519PrivateKey.from_private_bytes(bytes(32))
    late = numbered([Span("77" * 8, "in a child process", 350, 360, "b1" * 8)], key=key)
    run = only([*calculator_run(), *late], tmp_path)
    assert run.grade == "truncated"
    assert len(reasons(run, "truncated")) == 1


def test_a_late_child_with_a_manifest_span_of_its_own_completes_the_run(tmp_path: Path) -> None:
    spans = calculator_run()
    late = Span("77" * 8, "late", 350, 950, "b1" * 8, {sc.RUN_ID: RUN, sc.WRITER_ID: WRITER, sc.SEQ: len(spans)})
    assert only([*spans, late], tmp_path).grade == "truncated"
    rows = [Row(len(spans), late.id, late.start_ns, late.end_ns, 0)]
    told = sign_manifest(KEY, run_id=RUN, first=len(spans), count=1, digest=manifest_digest(rows))
    late.attributes[sc.MANIFEST] = encode_manifest(told)
    assert only([*spans, late], tmp_path).grade == "complete"


def test_a_span_that_never_ended_is_said(tmp_path: Path) -> None:
    spans = calculator_run()[:3]
    still = Span("b1" * 8, "step", 1, None, "a0" * 8, {sc.OPEN: True, sc.STEP_NUMBER: 1})
    run = only(numbered([*spans, still]), tmp_path)
    assert run.grade == "truncated"
    assert [step.ended for step in run.steps] == [None]
    assert any(note.kind == "open" for note in run.notes)


def test_inner_runs_are_named_by_the_manifest(tmp_path: Path) -> None:
    spans = calculator_run()
    rows = [Row(s.attributes[sc.SEQ], s.id, s.start_ns, s.end_ns, s.status) for s in spans]
    told = sign_manifest(
        KEY, run_id=RUN, first=0, count=len(rows), digest=manifest_digest(rows), children=("88" * 16,)
    )
    spans[-1].attributes[sc.MANIFEST] = encode_manifest(told)
    run = only(spans, tmp_path)
    assert run.children == ("88" * 16,)
    assert [(note.kind, note.where) for note in run.notes] == [("child", f"run {'88' * 16}")]


def test_unstamped_spans_inside_a_numbered_run_are_counted(tmp_path: Path) -> None:
    run = only([*calculator_run(), Span("77" * 8, "GET", 10, 20, "d1" * 8)], tmp_path)
    assert (run.grade, run.span_count) == ("complete", 10)
    assert reasons(run, "unnumbered") == ["1 spans carry no number: another process or provider made them"]


def test_the_helper_numbers_in_order_of_start() -> None:
    spans = sealed_off([Span("11" * 8, "b", 2, 3), Span("22" * 8, "a", 1, 4)], Span("22" * 8, "a", 1, 4))
    assert [span.attributes[sc.SEQ] for span in spans] == [1, 0]
