"""The writer: what it refuses, what it survives, and what it does when the disk fails."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from tests.attacks.store_kit import ORIGIN, Kit, codes, document, lines, signer, span, three_batches

from spanseal.audit.store import StoreWriter
from spanseal.audit.store_disk import RealDisk
from spanseal.audit.store_scan import read_frames, read_history
from spanseal.errors import NotAStoreError, StoreError, StoreLockedError, StoreStoppedError, TrustError
from spanseal.sealer.seal import InputLine, Sealer


class FaultyDisk(RealDisk):
    """Fails at one kind of call while ``fault`` is set; a failing write leaves half of its bytes."""

    def __init__(self) -> None:
        self.fault = ""

    def _full(self) -> OSError:
        return OSError(errno.ENOSPC, "No space left on device")

    def append(self, descriptor: int, data: bytes) -> None:
        if self.fault == "append":
            super().append(descriptor, data[: len(data) // 2])
            raise self._full()
        super().append(descriptor, data)

    def write(self, path: Path, data: bytes) -> None:
        if self.fault == "write":
            super().write(path, data[: len(data) // 2])
            raise self._full()
        super().write(path, data)

    def truncate(self, descriptor: int, size: int) -> None:
        if self.fault in ("truncate", "append"):
            raise OSError(errno.EIO, "Input/output error")
        super().truncate(descriptor, size)

    def replace(self, path: Path, data: bytes) -> None:
        if self.fault == "replace":
            raise self._full()
        super().replace(path, data)

    def sync(self, descriptor: int) -> None:
        if self.fault == "sync":
            raise StoreStoppedError("the disk could not make data durable")
        super().sync(descriptor)


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    return Kit(tmp_path)


def _one(number: int, start: int = 0) -> list[InputLine]:
    return lines([document(span(number, 1))], start=start)


def test_a_new_log_begins_with_its_key_event(kit: Kit) -> None:
    with kit.open() as writer:
        assert writer.size == 2
        assert writer.head is not None
        assert writer.head.origin == ORIGIN
    assert (kit.store / "lock").stat().st_size == 0
    assert kit.verify().exit_code == 0


def test_a_second_writer_is_refused(kit: Kit) -> None:
    with kit.open(), pytest.raises(StoreLockedError, match="another sealer"):
        kit.open()
    kit.open().close()


def test_other_keys_and_other_origins_are_refused(kit: Kit) -> None:
    kit.open().close()
    with pytest.raises(TrustError, match="leaf 0 does not name the key"):
        StoreWriter.open(kit.store, signer(3), kit.content_keys, origin=ORIGIN)
    other = signer(0, "example.com/other")
    with pytest.raises(TrustError, match=r"is the log example\.com/log"):
        StoreWriter.open(kit.store, other, kit.content_keys, origin="example.com/other")
    with pytest.raises(TrustError, match="at least one key"):
        StoreWriter.open(kit.store, [], kit.content_keys, origin=ORIGIN)
    assert kit.verify().exit_code == 0


def test_a_folder_of_other_things_is_refused(kit: Kit) -> None:
    kit.store.mkdir()
    (kit.store / "holiday.jpg").write_bytes(b"x")
    with pytest.raises(NotAStoreError, match=r"holiday\.jpg"):
        kit.open()
    assert [path.name for path in kit.store.iterdir()] == ["holiday.jpg"]


def test_positions_come_back(kit: Kit) -> None:
    batch = lines([document(span(0, 1)), document(span(1, 1))])
    kit.seal(batch, lines([document(span(2, 1))], source="other", start=7))
    with kit.open() as writer:
        assert writer.position("spans.jsonl") == batch[-1].end
        assert writer.sources().keys() == {"spans.jsonl", "other"}
        assert writer.position("never seen") == 0


def test_disk_full_while_appending(kit: Kit) -> None:
    disk = FaultyDisk()
    with kit.open(disk) as writer:
        sealer = Sealer(writer)
        sealer.seal(_one(0))
        disk.fault = "append"
        with pytest.raises(StoreError, match="nothing of this batch is acknowledged"):
            sealer.seal(_one(1, 900))
        assert writer.position("spans.jsonl") == _one(0)[0].end
        assert codes(kit.verify(), "unknown") == {"torn-tail"}
        disk.fault = ""
        sealer.seal(_one(1, 900))
    verdict = kit.verify(content=True)
    assert (verdict.exit_code, verdict.covered["spans"]) == (0, 2)


@pytest.mark.parametrize("fault", ["write", "replace"])
def test_disk_full_while_publishing(kit: Kit, fault: str) -> None:
    disk = FaultyDisk()
    with kit.open(disk) as writer:
        sealer = Sealer(writer)
        disk.fault = fault
        with pytest.raises(StoreError, match="make room"):
            sealer.seal(_one(0))
        assert kit.verify().verdict == "unknown", "stored, not signed"
        disk.fault = ""
        report = sealer.seal(_one(0))
        assert (report.spans, report.duplicates) == (0, 1), "what was stored is recognised"
    verdict = kit.verify(content=True)
    assert (verdict.exit_code, verdict.covered["spans"]) == (0, 1)


def test_a_failed_sync_ends_the_writer_for_good(kit: Kit) -> None:
    disk = FaultyDisk()
    writer = kit.open(disk)
    disk.fault = "sync"
    with pytest.raises(StoreStoppedError):
        Sealer(writer).seal(_one(0))
    disk.fault = ""
    with pytest.raises(StoreStoppedError):
        Sealer(writer).seal(_one(0))
    writer.close()
    kit.seal(_one(0))
    assert kit.verify().exit_code == 0


def test_a_torn_last_frame_is_cut_off(kit: Kit) -> None:
    kit.seal(_one(0))
    path = next((kit.store / "seg").iterdir())
    sound = path.read_bytes()
    frame = list(read_frames(path))[-1]
    for cut in (1, 5, 11, 12, 40, frame.end - frame.offset - 1):
        path.write_bytes(sound + sound[frame.offset : frame.offset + cut])
        assert codes(kit.verify(), "unknown") == {"torn-tail"}
        kit.open().close()
        assert path.read_bytes() == sound
    path.write_bytes(sound + bytes(100))
    kit.open().close()
    assert path.read_bytes() == sound


def test_whole_frames_beyond_the_head_are_kept_and_signed(kit: Kit) -> None:
    disk = FaultyDisk()
    with kit.open(disk) as writer:
        disk.fault = "replace"
        with pytest.raises(StoreError):
            Sealer(writer).seal(_one(0))
    assert codes(kit.verify(), "unknown") >= {"unsigned-tail"}
    kit.open().close()
    assert kit.verify().covered["spans"] == 1


def test_a_changed_signed_frame_stops_the_writer_and_nothing_is_touched(kit: Kit) -> None:
    three_batches(kit.base)
    path = next((kit.store / "seg").iterdir())
    for offset in (40, path.stat().st_size - 5):
        sound = path.read_bytes()
        path.write_bytes(sound[:offset] + bytes([sound[offset] ^ 1]) + sound[offset + 1 :])
        before = {item: item.read_bytes() for item in kit.store.rglob("*") if item.is_file() and "idx" not in str(item)}
        with pytest.raises(StoreStoppedError, match="spanseal verify"):
            kit.open()
        assert before == {item: item.read_bytes() for item in before}
        path.write_bytes(sound)
    kit.open().close()


def test_a_checkpoint_larger_than_the_frames_stops_the_writer(kit: Kit) -> None:
    kit.seal(_one(0))
    path = next((kit.store / "seg").iterdir())
    path.write_bytes(path.read_bytes()[: list(read_frames(path))[-1].offset])
    with pytest.raises(StoreStoppedError, match="covers 4 leaves, the segments hold 2"):
        kit.open()


def test_an_older_checkpoint_put_back_stops_the_writer(kit: Kit) -> None:
    kit.seal(_one(0))
    old = (kit.store / "checkpoint").read_bytes()
    kit.seal(_one(1, 900))
    (kit.store / "checkpoint").write_bytes(old)
    with pytest.raises(StoreStoppedError, match="put back"):
        kit.open()


def test_tiles_are_rebuilt_from_the_segments(kit: Kit) -> None:
    kit.seal(*(lines([document(span(number, 1)) for number in range(at, at + 100)], start=at * 9999)
               for at in (0, 100, 200)))  # fmt: skip
    sound = {path: path.read_bytes() for path in (kit.store / "tile").rglob("*") if path.is_file()}
    assert len(sound) == 5
    for path in sound:
        path.write_bytes(b"")
    with kit.open() as writer:
        assert set(writer.repaired) == {path.relative_to(kit.store).as_posix() for path in sound}
    assert {path: path.read_bytes() for path in sound} == sound
    assert kit.verify().exit_code == 0


def test_history_keeps_every_head_and_is_completed(kit: Kit) -> None:
    kit.seal(_one(0), _one(1, 900))
    path = kit.store / "checkpoints.log"
    sound = path.read_bytes()
    entries = list(read_history(path))
    assert [entry.complete for entry in entries] == [True, True, True]
    assert entries[-1].note == (kit.store / "checkpoint").read_bytes()
    for cut in (entries[-1].offset, entries[-1].offset + 10, len(sound) - 1):
        path.write_bytes(sound[:cut])
        assert codes(kit.verify(), "unknown") == {"write-interrupted"}
        kit.open().close()
        assert path.read_bytes() == sound


def test_a_new_segment_is_begun_when_the_last_is_full(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanseal.audit.store_files.SEGMENT_ROLL", 1000)
    kit.seal(*(_one(number, number * 900) for number in range(5)))
    assert len(list((kit.store / "seg").iterdir())) >= 3
    kit.seal(_one(9, 9000))
    verdict = kit.verify(content=True)
    assert (verdict.exit_code, verdict.covered["spans"]) == (0, 6)


def test_the_index_is_rebuilt_when_it_is_gone_or_of_another_tree(kit: Kit, tmp_path: Path) -> None:
    kit.seal(_one(0), _one(1, 900))
    other = Kit(tmp_path / "other").seal(_one(5))
    index = kit.store / "idx" / "spans.sqlite"
    for replacement in (None, b"garbage", (other.store / "idx" / "spans.sqlite").read_bytes()):
        index.unlink()
        if replacement is not None:
            index.write_bytes(replacement)
        with kit.open() as writer:
            report = Sealer(writer).seal(_one(0, 2000))
            assert (report.spans, report.duplicates) == (0, 1)
