"""A store that is taken away down to its opening frame, or to nothing: who remembers a head of it calls that bad."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.attacks.store_kit import ORIGIN, Kit, codes, document, lines, signer, span, three_batches, trust

from spanseal.audit.belief import belief_about
from spanseal.audit.pins import write_pin
from spanseal.audit.segment import encode_frame
from spanseal.audit.store import StoreWriter
from spanseal.audit.store_scan import read_frames
from spanseal.audit.verify import Verdict, verify_store
from spanseal.audit.verify_heads import FoundHead
from spanseal.audit.verify_report import Report
from spanseal.errors import NotAStoreError

OTHER = "example.com/other"


@pytest.fixture
def kit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kit:
    monkeypatch.setattr("spanseal.audit.verify_heads._PAUSE", 0)
    kit = three_batches(tmp_path)
    assert kit.verify(heads=kit.heads).exit_code == 0
    return kit


def _segment(kit: Kit) -> Path:
    return next((kit.store / "seg").iterdir())


def _wipe(kit: Kit, *kept: str) -> None:
    for path in kit.store.iterdir():
        if path.name in kept:
            continue
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def _to_opening(kit: Kit) -> None:
    _wipe(kit, "seg", "lock")
    path = _segment(kit)
    path.write_bytes(path.read_bytes()[: next(read_frames(path)).end])


def _rollback(verdict: Verdict) -> str:
    assert verdict.exit_code == 1
    assert "empty-store" not in codes(verdict, "unknown")
    return " ".join(item.meaning for item in verdict.findings if item.code == "rollback")


def test_down_to_its_opening_frame(kit: Kit) -> None:
    _to_opening(kit)
    assert codes(kit.verify(), "unknown") == {"empty-store"}, "nobody remembers: it may just have been begun"
    for verdict in (kit.verify(heads=kit.heads), verify_store(kit.store, None, kit.heads)):
        assert codes(verdict) == {"rollback"}
        assert f"18 leaves of {ORIGIN}" in _rollback(verdict)


def test_down_to_the_head_of_its_opening(kit: Kit) -> None:
    _to_opening(kit)
    kit.open().close()
    assert kit.verify().exit_code == 0
    assert "18 were seen before" in _rollback(kit.verify(heads=kit.heads))


def test_begun_anew_by_who_has_no_key(kit: Kit, tmp_path: Path) -> None:
    _wipe(kit)
    other = Kit(tmp_path / "other")
    other.open().close()
    shutil.copytree(other.store / "seg", kit.store / "seg")
    assert codes(kit.verify(heads=kit.heads)) == {"rollback"}


def test_down_to_an_empty_store_of_the_log_that_is_trusted(kit: Kit) -> None:
    for kept in ((), ("lock",), ("idx", "lock"), ("tile",)):
        _wipe(kit, *kept)
        with pytest.raises(NotAStoreError):
            kit.verify()
        with pytest.raises(NotAStoreError):
            verify_store(kit.store, None, kit.heads)
        assert f"18 leaves of {ORIGIN}" in _rollback(kit.verify(heads=kit.heads))
    _wipe(kit)
    (kit.store / "seg").mkdir()
    assert codes(kit.verify(heads=kit.heads)) == {"rollback"}
    assert codes(verify_store(kit.store, None, kit.heads), "unknown") == {"empty-store"}, "it may be any log"


def test_an_empty_store_of_one_of_several_logs(kit: Kit) -> None:
    both = trust(kit.signer, signer(1, OTHER))
    _wipe(kit)
    (kit.store / "seg").mkdir()
    assert codes(kit.verify(heads=kit.heads, trusted=both), "unknown") == {"empty-store"}, "it may be the other one"
    other = Kit(kit.base / "other", signer(1, OTHER))
    with StoreWriter.open(other.store, other.signer, other.content_keys, origin=OTHER):
        pass
    assert verify_store(other.store, both, kit.heads).exit_code == 0
    verdict = kit.verify(heads=kit.heads, trusted=both)
    assert f"18 leaves of {ORIGIN}" in _rollback(verdict)
    assert f"2 leaves of {OTHER}" in _rollback(verdict)


def test_a_folder_of_other_things_is_no_store(kit: Kit) -> None:
    _wipe(kit)
    (kit.store / "notes.txt").write_bytes(b"hello")
    with pytest.raises(NotAStoreError):
        kit.verify(heads=kit.heads)


def test_its_checkpoint_gone(kit: Kit) -> None:
    (kit.store / "checkpoint").unlink()
    assert codes(kit.verify()) == {"head-missing"}
    assert codes(kit.verify(heads=kit.heads)) == {"head-missing", "rollback"}
    path = _segment(kit)
    path.write_bytes(b"\x00" + path.read_bytes()[1:])
    assert "rollback" in codes(kit.verify(heads=kit.heads)), "the trust file says which log it is"


def test_the_opening_of_another_log_without_a_head(kit: Kit) -> None:
    _to_opening(kit)
    path = _segment(kit)
    placed = next(read_frames(path))
    entry = placed.frame.entries[0].replace(ORIGIN.encode(), b"example.com/leg", 1)
    entries = (entry, *placed.frame.entries[1:])
    path.write_bytes(encode_frame(0, entries, bytes(placed.frame.body)))
    assert "origin-mismatch" in codes(kit.verify())


def test_a_store_that_is_begun_while_it_is_looked_at(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing_yet(root: Path, report: Report) -> FoundHead:
        return FoundHead(b"", None, 0)

    monkeypatch.setattr("spanseal.audit.verify.read_head", nothing_yet)
    for heads in (None, kit.heads):
        verdict = kit.verify(heads=heads)
        assert (codes(verdict), codes(verdict, "unknown")) == (set(), {"unsigned-tail"})


@pytest.mark.parametrize("kept", [("seg",), ("lock",)])
def test_a_pin_says_which_log_it_was(kit: Kit, tmp_path: Path, kept: tuple[str, ...]) -> None:
    """By its first leaf, and where even that is gone, by the folder: another folder is nobody's wiped store."""
    state = tmp_path / "state"
    (kit.base / "keys" / "trust").write_text(f"log {kit.signer.vkey.text}\nquorum none\n")
    write_pin(ORIGIN, kit.base / "keys" / "trust", kit.base / "keys", state)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPANSEAL_STATE_DIR", str(state))
        _wipe(kit, *kept)
        belief = belief_about(kit.store, heads=kit.heads.path)
        assert belief.trust == trust(kit.signer)
        assert "rollback" in codes(verify_store(kit.store, belief.trust, belief.heads))
        write_pin(OTHER, kit.base / "keys" / "trust", kit.base / "keys", state)
        assert belief_about(kit.store, heads=kit.heads.path).trust == trust(kit.signer)
        elsewhere = tmp_path / "elsewhere"
        shutil.copytree(kit.store, elsewhere)
        assert (belief_about(elsewhere, heads=kit.heads.path).trust is None) == (kept == ("lock",))


def test_an_interrupted_begin_is_completed_and_never_bad(tmp_path: Path) -> None:
    kit = Kit(tmp_path).seal(lines([document(span(0, 1))]))
    _to_opening(kit)
    assert codes(kit.verify(heads=kit.heads)) == set()
    kit.open().close()
    assert kit.verify(heads=kit.heads).exit_code == 0
