"""What the seal is for: on copies, a byte is changed, a span removed, and each is found and named.

May import audit and replay; works on copies only, never on what was sealed.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from spanseal.audit.findings import Finding
from spanseal.audit.heads import HeadMemory
from spanseal.audit.trust import Trust
from spanseal.audit.verify import Verdict, verify_store
from spanseal.replay.reader import RunReader


@dataclass(frozen=True, slots=True)
class Attack:
    """One tampering: what was done, whether it was found, and what the finder said."""

    deed: str
    found: bool
    said: tuple[str, ...]


def attack_all(out: Path) -> tuple[Attack, ...]:
    """Tamper with copies of ``out/store`` and ``out/spans`` below ``out/attacked``."""
    return (_flip_byte(out), _remove_sealed_span(out), _remove_exported_span(out))


def _flip_byte(out: Path) -> Attack:
    copy = _copy(out / "store", out / "attacked" / "one-byte-changed")
    segment = max(copy.glob("seg/*"), key=lambda path: path.stat().st_size)
    data = bytearray(segment.read_bytes())
    place = len(data) // 2
    data[place] ^= 0x01
    segment.write_bytes(data)
    return _judged(out, copy, f"one bit of byte {place} of {segment.relative_to(copy)} flipped")


def _remove_sealed_span(out: Path) -> Attack:
    copy = _copy(out / "store", out / "attacked" / "last-span-removed")
    bundle = max((path for path in copy.glob("tile/entries/**/*") if path.is_file()), key=lambda path: path.as_posix())
    data = bundle.read_bytes()
    start = last = 0
    while start < len(data):
        last, start = start, start + 2 + int.from_bytes(data[start : start + 2])
    bundle.write_bytes(data[:last])
    return _judged(out, copy, f"the last entry cut from {bundle.relative_to(copy)}")


def _remove_exported_span(out: Path) -> Attack:
    copy = _copy(out / "spans", out / "attacked" / "span-removed-before-sealing")
    file = sorted(copy.glob("*.jsonl"))[0]
    lines = file.read_bytes().splitlines(keepends=True)
    del lines[len(lines) // 2]
    file.write_bytes(b"".join(lines))
    broken = [run for run in RunReader.open(copy).runs() if run.grade == "gapped"]
    said = tuple(f"run {run.run_id[:8]} is gapped: {note.meaning}" for run in broken for note in run.notes)
    return Attack(f"one line taken out of {file.name} before it is sealed", bool(said), said)


def _judged(out: Path, copy: Path, deed: str) -> Attack:
    verdict = _verdict(out, copy)
    said = tuple(str(found) for found in _loud(verdict))
    return Attack(deed, verdict.verdict == "bad", said)


def _verdict(out: Path, store: Path) -> Verdict:
    return verify_store(store, Trust.load(out / "keys" / "trust"), HeadMemory(out / "attacked" / "heads"))


def _loud(verdict: Verdict) -> tuple[Finding, ...]:
    return tuple(found for found in verdict.findings if found.weight == "bad")


def _copy(source: Path, target: Path) -> Path:
    shutil.copytree(source, target)
    return target
