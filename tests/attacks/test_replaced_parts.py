"""What an attacker with write access to the store can try beyond single bytes; each has its own reason code."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.attacks.store_kit import Kit, codes, document, lines, signer, span, three_batches, trust

from spanseal.audit.segment import encode_frame
from spanseal.audit.store_scan import read_frames


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    return three_batches(tmp_path)


def _segment(kit: Kit) -> Path:
    return next((kit.store / "seg").iterdir())


def _old_and_new(tmp_path: Path) -> tuple[Kit, Path]:
    """A store that has grown, and a copy from before; the verifier has seen the new one."""
    kit = Kit(tmp_path).seal(lines([document(span(0, 1))]))
    old = tmp_path / "old"
    shutil.copytree(kit.store, old)
    kit.seal(lines([document(span(1, 1))], start=900))
    assert kit.verify(heads=kit.heads).exit_code == 0
    return kit, old


def test_last_frame_cut_off(kit: Kit) -> None:
    path = _segment(kit)
    last = list(read_frames(path))[-1]
    path.write_bytes(path.read_bytes()[: last.offset])
    verdict = kit.verify()
    assert verdict.exit_code == 1
    assert "size-shrunk" in codes(verdict)
    assert f"leaves {last.frame.first} to" in " ".join(item.where for item in verdict.findings)


def test_last_frame_and_its_tiles_cut_off(kit: Kit) -> None:
    path = _segment(kit)
    last = list(read_frames(path))[-1]
    path.write_bytes(path.read_bytes()[: last.offset])
    for folder in (kit.store / "tile").rglob("*.p"):
        for item in folder.iterdir():
            if int(item.name) > last.frame.first:
                item.unlink()
    assert {"size-shrunk", "leaf-removed"} <= codes(kit.verify())


def test_frame_in_the_middle_removed(kit: Kit) -> None:
    path = _segment(kit)
    middle = list(read_frames(path))[2]
    data = path.read_bytes()
    path.write_bytes(data[: middle.offset] + data[middle.end :])
    assert codes(kit.verify()) == {"frame-missing"}


def test_two_frames_swapped(kit: Kit) -> None:
    path = _segment(kit)
    frames, data = list(read_frames(path)), path.read_bytes()
    one, two = frames[2], frames[3]
    path.write_bytes(data[: one.offset] + data[two.offset : two.end] + data[one.offset : one.end] + data[two.end :])
    assert {"frame-missing", "leaf-reordered"} <= codes(kit.verify())


def test_two_spans_swapped_with_a_fresh_crc(kit: Kit) -> None:
    path = _segment(kit)
    placed = list(read_frames(path))[2]
    entries = list(placed.frame.entries)
    entries[0], entries[1] = entries[1], entries[0]
    data = path.read_bytes()
    forged = encode_frame(placed.frame.first, entries, bytes(placed.frame.body))
    path.write_bytes(data[: placed.offset] + forged + data[placed.end :])
    verdict = kit.verify()
    found = {item.where for item in verdict.findings if item.code == "leaf-changed"}
    assert {f"leaf {placed.frame.first}", f"leaf {placed.frame.first + 1}"} <= found


def test_a_whole_segment_removed(kit: Kit) -> None:
    _segment(kit).unlink()
    assert "size-shrunk" in codes(kit.verify())


def test_older_store_put_back_when_a_newer_head_was_seen(tmp_path: Path) -> None:
    kit, old = _old_and_new(tmp_path)
    shutil.rmtree(kit.store)
    old.rename(kit.store)
    verdict = kit.verify(heads=kit.heads)
    assert verdict.exit_code == 1
    assert codes(verdict) == {"rollback"}
    assert kit.verify().exit_code == 0, "without memory it cannot be noticed, which is said"


def test_older_checkpoint_put_back(tmp_path: Path) -> None:
    kit, old = _old_and_new(tmp_path)
    shutil.copy(old / "checkpoint", kit.store / "checkpoint")
    assert "rollback" in codes(kit.verify(heads=kit.heads))
    assert "rollback" in codes(kit.verify()), "the store's own history tells it as well"


def test_older_checkpoint_and_history_put_back(tmp_path: Path) -> None:
    kit, old = _old_and_new(tmp_path)
    for name in ("checkpoint", "checkpoints.log"):
        shutil.copy(old / name, kit.store / name)
    assert "rollback" in codes(kit.verify(heads=kit.heads))


def test_fork_at_the_same_size(tmp_path: Path) -> None:
    kit, old = _old_and_new(tmp_path)
    shutil.rmtree(kit.store)
    old.rename(kit.store)
    kit.seal(lines([document(span(1, 1, "another story"))], start=900))
    assert kit.verify().exit_code == 0
    assert "fork" in codes(kit.verify(heads=kit.heads))


def test_rewritten_past_below_a_larger_head(tmp_path: Path) -> None:
    kit, old = _old_and_new(tmp_path)
    shutil.rmtree(kit.store)
    old.rename(kit.store)
    kit.seal(lines([document(span(1, 1, "another story"))], start=900), lines([document(span(2, 1))], start=1900))
    assert codes(kit.verify(heads=kit.heads)) == {"inconsistent"}


def test_signed_by_another_key_in_the_logs_name(kit: Kit) -> None:
    assert "signer-unknown" in codes(kit.verify(trusted=trust(signer(7))))


def test_trust_in_another_log(kit: Kit) -> None:
    assert "origin-mismatch" in codes(kit.verify(trusted=trust(signer(0, "example.com/other"))))


def test_signature_stripped(kit: Kit) -> None:
    path = kit.store / "checkpoint"
    path.write_bytes(path.read_bytes().split(b"\n\n")[0] + b"\n\n")
    assert "head-malformed" in codes(kit.verify())


def test_own_signature_replaced_by_a_strangers(kit: Kit) -> None:
    path = kit.store / "checkpoint"
    text = path.read_bytes().split(b"\n\n")[0] + b"\n"
    stranger = signer(9, "example.com/stranger").sign(text)
    path.write_bytes(text + b"\n" + stranger.line.encode() + b"\n")
    assert "signature-missing" in codes(kit.verify())


def test_resigned_with_another_key_everywhere(kit: Kit) -> None:
    """The trust file decides: a store that is consistent in itself under a stranger's key is bad."""
    other = Kit(kit.base / "forged", signer(5)).seal(lines([document(span(0, 1, "forged"))]))
    assert other.verify().exit_code == 0
    assert "signer-unknown" in codes(other.verify(trusted=trust(signer(0))))


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("notes.txt", b"hello", "unknown-file"),
        ("seg/extra", b"", "unknown-file"),
        ("seg/deeper/00000000000000000000.seg", b"x", "unknown-file"),
        ("tile/0/001", b"x" * 8192, "unknown-file"),
        ("tile/0/000.p/0", b"", "unknown-file"),
        ("tile/5/000.p/1", b"x" * 32, "unknown-file"),
        ("other/deep/file", b"x", "unknown-file"),
        ("log.key", b"-----BEGIN PRIVATE KEY-----\n", "key-inside-store"),
        ("lock", b"x", "lock-not-empty"),
    ],
)
def test_files_that_do_not_belong(kit: Kit, name: str, content: bytes, code: str) -> None:
    path = kit.store / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    verdict = kit.verify()
    assert codes(verdict) == {code}
    assert name in {item.where for item in verdict.findings}


def test_a_link_in_the_place_of_a_file(kit: Kit) -> None:
    path = _segment(kit)
    moved = kit.base / "moved.seg"
    path.rename(moved)
    path.symlink_to(moved)
    assert "unknown-file" in codes(kit.verify())


@pytest.mark.parametrize(
    ("name", "code"),
    [("checkpoint", "head-missing"), ("checkpoints.log", "head-history-changed")],
)
def test_heads_removed(kit: Kit, name: str, code: str) -> None:
    (kit.store / name).unlink()
    assert code in codes(kit.verify())


def test_every_tile_file_is_missed(kit: Kit) -> None:
    for path in (item for item in (kit.store / "tile").rglob("*") if item.is_file()):
        sound = path.read_bytes()
        path.unlink()
        assert codes(kit.verify()) & {"tile-missing", "bundle-missing"}, path
        path.write_bytes(sound)


def test_an_empty_line_more_in_the_history(kit: Kit) -> None:
    path = kit.store / "checkpoints.log"
    path.write_bytes(path.read_bytes() + b"\n")
    assert codes(kit.verify()) == {"head-history-changed"}
