"""The history of heads: every batch leaf names the head before it, so an entry that is taken out is missed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.attacks.store_kit import ORIGIN, Kit, codes, document, lines, span, three_batches

from spanseal.audit.leaf import BatchLeaf, GapLeaf, decode_leaf, encode_leaf
from spanseal.audit.segment import encode_frame
from spanseal.audit.segment_build import FrameBuilder
from spanseal.audit.store import StoreWriter
from spanseal.audit.store_disk import RealDisk
from spanseal.audit.store_scan import read_frames, read_history
from spanseal.audit.tlog.checkpoint import Checkpoint
from spanseal.audit.tlog.note import Note
from spanseal.audit.verify import Verdict
from spanseal.errors import StoreError, StoreStoppedError
from spanseal.sealer.seal import Sealer

HISTORY = "checkpoints.log"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Kit:
    return three_batches(tmp_path_factory.mktemp("history"))


@pytest.fixture
def kit(sound: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kit:
    monkeypatch.setattr("spanseal.audit.verify_heads._PAUSE", 0)
    shutil.copytree(sound.base, tmp_path, dirs_exist_ok=True)
    return Kit(tmp_path)


def _notes(kit: Kit) -> list[bytes]:
    return [entry.note for entry in read_history(kit.store / HISTORY)]


def _sizes(kit: Kit) -> list[int]:
    return [Checkpoint.parse(Note.parse(note).text).size for note in _notes(kit)]


def _keep(kit: Kit, notes: list[bytes]) -> None:
    (kit.store / HISTORY).write_bytes(b"".join(note + b"\n" for note in notes))


def _batches(kit: Kit) -> list[tuple[int, BatchLeaf]]:
    frames = [placed.frame for placed in read_frames(next((kit.store / "seg").iterdir()))]
    found = [(frame.end - 1, decode_leaf(frame.entries[-1])) for frame in frames]
    return [(at, leaf) for at, leaf in found if isinstance(leaf, BatchLeaf)]


def _said(verdict: Verdict, code: str = "head-history-changed") -> str:
    return " ".join(f"{item.where} {item.meaning}" for item in verdict.findings if item.code == code)


def test_every_batch_names_the_head_before_it(kit: Kit) -> None:
    heads = [Checkpoint.parse(Note.parse(note).text) for note in _notes(kit)]
    named = [(leaf.head_size, leaf.head_root) for _, leaf in _batches(kit)]
    assert named == [(0, bytes(32)), *((head.size, head.root) for head in heads[:-1])]


def test_every_earlier_entry_taken_out_is_missed(kit: Kit) -> None:
    notes, sizes, batches = _notes(kit), _sizes(kit), _batches(kit)
    assert len(notes) == 4
    for number in range(len(notes) - 1):
        _keep(kit, notes[:number] + notes[number + 1 :])
        verdict = kit.verify()
        assert codes(verdict) == {"head-history-changed"}
        assert f"leaf {batches[number + 1][0]} " in _said(verdict)
        assert f"{sizes[number]} leaves" in _said(verdict)


def test_the_last_entry_lost_is_an_interrupted_write_and_two_are_not(kit: Kit) -> None:
    notes = _notes(kit)
    _keep(kit, notes[:-1])
    verdict = kit.verify()
    assert (codes(verdict), codes(verdict, "unknown")) == (set(), {"write-interrupted"})
    for kept in (notes[:-2], notes[:1]):
        _keep(kit, kept)
        assert codes(kit.verify()) == {"head-history-changed"}


def test_a_sealer_signs_nothing_over_a_history_with_an_entry_taken_out(kit: Kit) -> None:
    notes = _notes(kit)
    for kept in (notes[1:], notes[:1] + notes[2:], notes[:-2]):
        _keep(kit, kept)
        with pytest.raises(StoreStoppedError, match="history of heads"):
            kit.open()
    _keep(kit, notes[:-1])
    kit.open().close()
    assert _notes(kit) == notes


def _append(writer: StoreWriter, head: Checkpoint | None) -> None:
    builder = FrameBuilder(writer.size, head, {}, writer.effects)
    builder.add_leaf(GapLeaf(1, "spans.jsonl", 5, 6, "test"))
    writer.append(builder.finish())


def _last(writer: StoreWriter) -> Checkpoint:
    assert writer.head is not None
    return writer.head


WRONG: list[tuple[str, Callable[[StoreWriter], Checkpoint | None]]] = [
    ("another root", lambda writer: Checkpoint(ORIGIN, _last(writer).size, bytes(range(32)))),
    ("not in the history", lambda writer: Checkpoint(ORIGIN, _last(writer).size - 1, bytes(range(32)))),
    ("not in the history", lambda writer: Checkpoint(ORIGIN, writer.size + 2, bytes(range(32)))),
    ("after one of", lambda _: None),
]


@pytest.mark.parametrize(("words", "wrong"), WRONG)
def test_a_batch_that_names_another_head_than_the_history(
    kit: Kit, words: str, wrong: Callable[[StoreWriter], Checkpoint | None]
) -> None:
    with kit.open() as writer:
        _append(writer, wrong(writer))
        leaf = writer.size - 1
        writer.publish()
    verdict = kit.verify()
    assert codes(verdict) == {"head-history-changed"}
    assert words in _said(verdict)
    assert f"leaf {leaf} " in _said(verdict)


def test_heads_named_may_stay_but_not_go_back(kit: Kit) -> None:
    with kit.open() as writer:
        first = _last(writer)
        _append(writer, first)
        _append(writer, first)
        second = writer.publish()
        _append(writer, first)
        writer.publish()
        assert kit.verify().exit_code == 0
        _append(writer, second)
        _append(writer, first)
        writer.publish()
    assert "after one of" in _said(kit.verify())


def test_every_byte_of_a_named_head_is_held(kit: Kit) -> None:
    """With the frame's old CRC and with a new one: either way it is the leaf that is said to be changed."""
    path = next((kit.store / "seg").iterdir())
    data = path.read_bytes()
    for placed in list(read_frames(path)):
        entries, frame = placed.frame.entries, placed.frame
        for at in range(50, 90):
            changed = bytearray(entries[-1])
            changed[at] ^= 1 << at % 8
            forged = encode_frame(frame.first, (*entries[:-1], bytes(changed)), bytes(frame.body))
            start = len(forged) - len(frame.body) - len(changed)
            flipped = data[placed.offset : placed.offset + start] + changed + frame.body
            for made in (forged, flipped):
                path.write_bytes(data[: placed.offset] + made + data[placed.end :])
                verdict = kit.verify()
                assert "leaf-changed" in codes(verdict), (frame.first, at, verdict.findings)
                assert f"leaf {frame.end - 1}" in _said(verdict, "leaf-changed")
    path.write_bytes(data)
    leaf = encode_leaf(_batches(kit)[1][1])
    assert leaf[50:58] == (2).to_bytes(8), "the bytes that were changed are those of the head"


class _FullHistory(RealDisk):
    """Has no room for the history, once."""

    def __init__(self) -> None:
        self.full = False

    def append(self, descriptor: int, data: bytes) -> None:
        if self.full and data.startswith(ORIGIN.encode()):
            self.full = False
            raise OSError(28, "No space left on device")
        super().append(descriptor, data)


@pytest.mark.parametrize("again", ["publish", "seal", "reopen", "crash"])
def test_a_head_that_found_no_room_in_the_history_comes_into_it_later(kit: Kit, again: str) -> None:
    disk = _FullHistory()
    writer = kit.open(disk)
    disk.full = True
    with pytest.raises(StoreError, match="No space"):
        Sealer(writer).seal(lines([document(span(50, 9))], start=9000))
    assert not disk.full
    assert kit.verify().verdict == "unknown"
    if again == "publish":
        writer.publish()
        assert kit.verify().verdict == "ok"
    if again == "crash":
        _append(writer, writer.head)
        assert kit.verify().verdict == "unknown"
    if again in ("reopen", "crash"):
        writer.close()
        writer = kit.open()
        assert kit.verify().verdict == "ok"
    Sealer(writer).seal(lines([document(span(51, 9))], start=9900))
    writer.close()
    verdict = kit.verify()
    assert verdict.verdict == "ok", verdict.findings
    assert len(_sizes(kit)) == len(set(_sizes(kit)))
