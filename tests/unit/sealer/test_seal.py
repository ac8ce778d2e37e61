"""Sealing lines: each once, whatever they are, and all of them back byte for byte."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.attacks.store_kit import Kit, codes, document, lines, span

from spanseal.audit.leaf import GapLeaf, decode_leaf
from spanseal.audit.read import StoreReader
from spanseal.audit.store import StoreWriter
from spanseal.audit.store_scan import read_frames
from spanseal.errors import UsageError
from spanseal.sealer import seal as seal_module
from spanseal.sealer.seal import InputLine, Sealer, SealReport


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    return Kit(tmp_path)


@pytest.fixture
def writer(kit: Kit) -> Iterator[StoreWriter]:
    with kit.open() as opened:
        yield opened


def _raws(kit: Kit) -> list[bytes | None]:
    return [item.raw for item in StoreReader(kit.store, kit.content_keys).lines()]


def test_report(writer: StoreWriter) -> None:
    batch = lines([document(span(0, 1), span(1, 1)), document(span(0, 1)), b"nonsense"])
    assert Sealer(writer).seal(batch) == SealReport(spans=2, duplicates=1, unparsable=1, size=6)
    assert Sealer(writer).seal(batch[:2]) == SealReport(spans=0, duplicates=3, unparsable=0, size=7)
    assert Sealer(writer).seal([]) == SealReport(0, 0, 0, 7)
    assert writer.position("spans.jsonl") == batch[1].end, "where reading goes on is where the last range ended"


def test_what_is_returned_is_published(kit: Kit, writer: StoreWriter) -> None:
    report = Sealer(writer).seal(lines([document(span(0, 1))]))
    verdict = kit.verify()
    assert (verdict.exit_code, verdict.size) == (0, report.size)


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"\x00" * 50, b"{", b"[]", b"null", b'{"resourceSpans":[{"scopeSpans":[{"spans":[{}]}]}]}',
        b'{"resourceSpans":[]}', b'{"resourceSpans":[{"scopeSpans":[{"spans":[]}]}]} ', b"\xff\xfe", b"{" * 5000,
        b"[" * 100_000, document(span(0, 1))[:-3], b'{"resourceSp' + document(span(0, 1)),
        document(span(0, 1)).replace(b"spanId", b"traceId"), document(span(0, 1)) + b"\r",
    ],
    ids=range(15),
)  # fmt: skip
def test_no_line_holds_up_those_behind_it(kit: Kit, raw: bytes) -> None:
    batch = lines([document(span(1, 1)), raw, document(span(2, 1))])
    kit.seal(batch)
    verdict = kit.verify(content=True)
    assert verdict.exit_code == 0
    assert verdict.covered["spans"] >= 2
    assert _raws(kit) == [item.raw for item in batch]


def test_a_fault_of_the_cutter_is_no_fault_of_the_line_behind(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    real = seal_module.cut_line

    def cut(line: bytes):
        if b"poison" in line:
            raise RecursionError
        return real(line)

    monkeypatch.setattr(seal_module, "cut_line", cut)
    kit.seal(lines([document(span(0, 1, "poison")), document(span(1, 1))]))
    assert (kit.verify(content=True).covered["spans"], len(_raws(kit))) == (1, 2)


def test_an_unparsable_line_can_be_erased_alone(kit: Kit) -> None:
    kit.seal(lines([b"my telephone number", b"another line"]))
    scopes = [path for path in kit.content_keys.directory.iterdir() if path.name.startswith("raw-")]
    assert len(scopes) == 2
    stored = b"".join(path.read_bytes() for path in kit.store.rglob("*") if path.is_file())
    assert b"telephone" not in stored


def test_lines_with_and_without_their_line_feed(kit: Kit) -> None:
    with_feed, without = document(span(0, 1)) + b"\n", document(span(1, 1))
    first = InputLine("a", 0, len(with_feed), with_feed)
    second = InputLine("a", first.end, first.end + len(without) + 1, without)
    kit.seal([first, second])
    assert _raws(kit) == [with_feed, without]
    assert kit.verify(content=True).covered["ranges"] == 1


def test_offsets_that_do_not_fit_are_the_callers_fault(writer: StoreWriter) -> None:
    for end in (1, 12, 99):
        with pytest.raises(UsageError, match="cannot stand at bytes 0 to"):
            Sealer(writer).seal([InputLine("a", 0, end, b"0123456789")])
    assert writer.size == 2


def test_glue_of_a_line_with_many_scopes_needs_all_their_keys(kit: Kit) -> None:
    raw = document(*(span(number, number + 1) for number in range(40)))
    kit.seal(lines([raw]))
    assert _raws(kit) == [raw]
    kit.content_keys.forget(f"run:{7:032x}")
    assert _raws(kit) == [None]
    spans = list(StoreReader(kit.store, kit.content_keys).spans())
    assert [item.content for item in spans].count("open") == 39


def test_big_work_is_cut_into_frames(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seal_module, "FRAME_BYTES", 5000)
    monkeypatch.setattr(seal_module, "FRAME_LINES", 20)
    others = [document(span(100 + number)) for number in range(200)]
    batch = lines(document(span(number, 1)) for number in range(30))
    kit.seal(batch + [InputLine(f"source {number}", 0, len(raw), raw) for number, raw in enumerate(others)])
    frames = list(read_frames(next((kit.store / "seg").iterdir())))
    assert len(frames) > 10
    assert kit.verify(content=True).covered["spans"] == 230
    assert len(_raws(kit)) == 230


def test_more_sources_than_one_batch_leaf_holds(kit: Kit) -> None:
    raws = [document(span(number)) for number in range(300)]
    kit.seal([InputLine(f"source {number}", 0, len(raw), raw) for number, raw in enumerate(raws)])
    with kit.open() as writer:
        assert len(writer.sources()) == 300
    assert kit.verify(content=True).exit_code == 0


def test_a_gap_is_sealed(kit: Kit, writer: StoreWriter) -> None:
    Sealer(writer).note_gap("spans.jsonl", 5, 90, "the file shrank")
    assert codes(kit.verify(), "info") >= {"input-gap"}
    frame = list(read_frames(next((kit.store / "seg").iterdir())))[-1].frame
    assert isinstance(decode_leaf(frame.entries[0]), GapLeaf)


EXAMPLES = 300 if os.environ.get("SPANSEAL_SOAK") else 15
texts = st.text(st.characters(codec="utf-8"), max_size=60)
documents = st.lists(
    st.builds(span, st.integers(0, 30), st.integers(0, 3), texts, name=texts), max_size=3
).map(lambda spans: document(*spans))  # fmt: skip


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(st.one_of(documents, st.binary(max_size=80)), max_size=5), max_size=4))
def test_whatever_comes_in_comes_back_and_verifies(batches: list[list[bytes]]) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as base:
        kit = Kit(Path(base))
        at, made = 0, list[list[InputLine]]()
        for raws in batches:
            made.append(lines(raws, start=at))
            at = made[-1][-1].end if raws else at
        kit.seal(*made)
        assert _raws(kit) == [raw for raws in batches for raw in raws]
        verdict = kit.verify(content=True)
        assert verdict.exit_code == 0
        assert not any(verdict.unchecked.values())
        spans = list(StoreReader(kit.store, kit.content_keys).spans())
        assert len({item.raw for item in spans}) == len(spans), "each span once"
