"""What can be judged of plain export files: whether each run's spans fit its ledger and manifests. Nothing seals them,
so that the best verdict is *unknown*: whoever could write the files could have rewritten them.

May import the siblings and ``audit`` (verdict and reason codes).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from spanseal.audit.findings import verdict_of
from spanseal.audit.verify import Verdict
from spanseal.audit.verify_report import Report
from spanseal.replay.reader import RunReader
from spanseal.replay.run import Run
from spanseal.replay.sources.files import FileSource

_OF_SOURCE: Final = {
    "conflict": "run-conflicting",
    "malformed": "lines-damaged",
    "nul": "lines-damaged",
    "torn": "line-torn",
    "glued": "line-torn",
    "unread": "file-unread",
    "ignored": "file-ignored",
    "duplicate": "span-repeated",
}
_OF_RUN: Final = {
    "conflicting": "run-conflicting",
    "conflict": "run-conflicting",
    "gapped": "run-incomplete",
    "truncated": "run-truncated",
    "child": "run-missing",
    "value-changed": "value-changed",
}
_BAD_GRADE: Final = {"conflicting": "run-conflicting", "gapped": "run-incomplete"}


def judge_files(path: str | Path) -> Verdict:
    """The verdict on an export file or a folder of them: *bad* or *unknown*, never *ok*.

    ``size`` is the number of spans, ``origin`` is empty. Raises :class:`spanseal.errors.ReplayError` if there is
    nothing to read, or nothing of it is OTLP.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "spans.jsonl").write_text("")
    >>> verdict = judge_files(folder)
    >>> verdict.verdict, [found.code for found in verdict.findings]
    ('unknown', ['not-sealed'])
    """
    reader, report = RunReader(FileSource(Path(path))), Report()
    runs = reader.runs()
    report.add("not-sealed")
    told = {where for run in runs for where in _run(run, report)}
    _source(reader, report, told)
    spans = sum(run.span_count for run in runs) + reader.strangers
    report.covered.update({"spans": spans, "runs": len(runs), "complete_runs": _graded(runs, "complete")})
    unchecked = {"spans_of_no_run": reader.strangers, "unnumbered_runs": _graded(runs, "unnumbered")}
    report.unchecked.update(unchecked)
    findings = report.findings()
    word = verdict_of(findings)
    return Verdict(word, spans, "", findings, dict(report.covered), dict(report.unchecked), ())


def _run(run: Run, report: Report) -> list[str]:
    """Findings of one run; the places that they name."""
    name = f"run {run.run_id}"
    codes: set[str] = set()
    for note in run.notes:
        code = _OF_RUN.get(note.kind)
        if code is not None:
            codes.add(code)
            report.add(code, name if note.where == name else f"{name}, {note.where}", note.meaning)
    worst = _BAD_GRADE.get(run.grade)
    if worst is not None and worst not in codes:
        report.add(worst, name)
    return [note.where for note in run.notes]


def _source(reader: RunReader, report: Report, told: set[str]) -> None:
    """Findings of the files; a conflict that its run has told already is not told again."""
    shown: dict[str, int] = {}
    for note in reader.source.notes:
        code = _OF_SOURCE.get(note.kind)
        shown[note.kind] = shown.get(note.kind, 0) + 1
        if code is not None and not (note.kind == "conflict" and note.where in told):
            report.add(code, note.where, note.meaning)
    for kind, count in reader.source.note_counts.items():
        if kind in _OF_SOURCE and count > shown.get(kind, 0):
            report.add(_OF_SOURCE[kind], "", f"{count - shown.get(kind, 0)} more of these")


def _graded(runs: tuple[Run, ...], grade: str) -> int:
    return sum(run.grade == grade for run in runs)
