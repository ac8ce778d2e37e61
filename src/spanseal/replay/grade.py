"""Hold a run's spans against its ledger: is anything missing, doubled or changed? DESIGN 5 and 10.2.

May import ``records``, ``genai`` names and the siblings. The worst finding decides: conflicting, gapped, truncated.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from spanseal.errors import FormatError
from spanseal.genai import semconv
from spanseal.records.ledger import Manifest, Row, check_rows, decode_manifest, manifest_valid
from spanseal.replay.attributes import Attributes
from spanseal.replay.gather import Group
from spanseal.replay.note import Note
from spanseal.replay.run import Grade
from spanseal.replay.sources.base import SourceSpan
from spanseal.replay.sources.seen import is_open


@dataclass(slots=True)
class Judgement:
    """The grade with its reasons, and the inner runs that the manifests name."""

    grade: Grade = "complete"
    notes: list[Note] = field(default_factory=list[Note])
    children: tuple[str, ...] = ()

    def worse(self, grade: Grade, where: str, meaning: str) -> None:
        """Add a finding; the grade only gets worse."""
        order: tuple[Grade, ...] = ("complete", "truncated", "gapped", "conflicting")
        if order.index(grade) > order.index(self.grade):
            self.grade = grade
        self.notes.append(Note(grade, where, meaning))


def judge(group: Group, roots: int) -> Judgement:
    """The grade of a run by its ledger; *unnumbered* where no span carries a number."""
    result = Judgement()
    if group.conflict:
        result.grade = "conflicting"
    rows = _rows(group.spans, result)
    manifests = _manifests(group, result)
    for span in group.spans:
        if span.conflict:
            result.worse("conflicting", span.place, f"span {span.record.span_id} is there with two contents")
    if roots > 1:
        result.worse("conflicting", f"run {group.run_id}", f"{roots} root spans claim this run")
    if not rows and not manifests:
        return Judgement("unnumbered" if result.grade == "complete" else result.grade, result.notes)
    unnumbered = len(group.spans) - sum(map(len, rows.values()))
    if unnumbered:
        meaning = f"{unnumbered} spans carry no number: another process or provider made them"
        result.notes.append(Note("unnumbered", f"run {group.run_id}", meaning))
    for writer in sorted(rows.keys() | {m.writer_id for m in manifests}):
        _check_writer(writer, rows.get(writer, []), [m for m in manifests if m.writer_id == writer], result)
    result.children = tuple(dict.fromkeys(child for manifest in manifests for child in manifest.children))
    return result


def _rows(spans: Sequence[SourceSpan], result: Judgement) -> dict[str, list[Row]]:
    rows: defaultdict[str, list[Row]] = defaultdict(list)
    for span in spans:
        of = Attributes.of(span, result.notes)
        writer, seq = of.text(semconv.WRITER_ID), of.integer(semconv.SEQ)
        if not writer or seq is None:
            continue
        record = span.record
        end, status = (None, None) if is_open(record) else (record.end, record.status_code)
        rows[writer].append(Row(seq, record.span_id, record.start, end, status))
    return dict(rows)


def _manifests(group: Group, result: Judgement) -> list[Manifest]:
    found: dict[str, Manifest] = {}
    for span in group.spans:
        text = Attributes.of(span, []).text(semconv.MANIFEST)
        if not text:
            continue
        where = f"span {span.record.span_id}"
        try:
            manifest = decode_manifest(text)
        except FormatError as error:
            result.worse("conflicting", where, str(error))
            continue
        if not manifest_valid(manifest):
            result.worse("conflicting", where, "the run manifest's signature is not its writer's")
        elif manifest.run_id != group.run_id:
            result.worse("conflicting", where, f"the run manifest belongs to run {manifest.run_id}")
        else:
            found[text] = manifest
    return list(found.values())


def _check_writer(writer: str, rows: list[Row], manifests: list[Manifest], result: Judgement) -> None:
    where = f"writer {writer}"
    for manifest in manifests:
        stop = manifest.first + manifest.count
        covered = [row for row in rows if manifest.first <= row.seq < stop]
        missing = len({row.seq for row in covered}) < manifest.count
        try:
            findings = check_rows(manifest, covered)
        except FormatError as error:
            findings = (str(error),)
        for finding in findings:
            result.worse("gapped" if missing and finding.endswith("missing") else "conflicting", where, finding)
    reach = max((m.first + m.count for m in manifests), default=0)
    after = sorted({row.seq for row in rows if row.seq >= reach})
    if not manifests:
        result.worse("truncated", where, f"no manifest: the run was cut off, or its end is not here{_holes(after)}")
    elif after:
        result.worse("truncated", where, f"no manifest covers seqs {after[0]} to {after[-1]}{_holes(after, reach)}")
    for seq in _doubled(rows) if not manifests else ():
        result.worse("conflicting", where, f"seq {seq} is there twice")


def _holes(seqs: Sequence[int], first: int = 0) -> str:
    """The numbers before the last that are not there: spans that had not ended, or that were lost."""
    holes: list[str] = []
    expected = first
    for seq in seqs:
        if seq > expected:
            holes.append(str(expected) if seq == expected + 1 else f"{expected} to {seq - 1}")
        expected = max(expected, seq + 1)
    return f"; started but not here (never ended, or lost): seq {', '.join(holes)}" if holes else ""


def _doubled(rows: Iterable[Row]) -> list[int]:
    owners: dict[int, str] = {}
    return [row.seq for row in rows if owners.setdefault(row.seq, row.span_id) != row.span_id]
