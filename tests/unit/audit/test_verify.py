"""Verdicts: what is good, what is bad, what cannot be judged, and what is said about the rest."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey
from tests.attacks.store_kit import ORIGIN, Kit, codes, document, lines, span, three_batches, trust

from spanseal.audit.content_keys import ContentKeys
from spanseal.audit.findings import CODES
from spanseal.audit.read_frame import OpenFrame
from spanseal.audit.store import StoreWriter
from spanseal.audit.store_scan import is_plain, read_at_most
from spanseal.audit.tlog.checkpoint import Checkpoint
from spanseal.audit.tlog.note import MlDsaSigner
from spanseal.audit.trust import Trust
from spanseal.audit.verify import Verdict, verify_store
from spanseal.audit.verify_heads import FoundHead, read_head
from spanseal.audit.verify_report import Report
from spanseal.audit.verify_tiles import _names  # pyright: ignore[reportPrivateUsage] - the moment to write in
from spanseal.errors import NotAStoreError, TrustError
from spanseal.sealer.seal import Sealer


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Kit:
    return three_batches(tmp_path_factory.mktemp("verify"))


def test_good(kit: Kit, tmp_path: Path) -> None:
    verdict = kit.verify(content=True)
    assert (verdict.verdict, verdict.exit_code, verdict.origin) == ("ok", 0, ORIGIN)
    assert verdict.covered["leaves"] == verdict.size
    assert (verdict.covered["spans"], verdict.covered["content"], verdict.covered["duplicates"]) == (12, 13, 1)
    assert not any(verdict.unchecked.values())
    assert codes(verdict, "info") == {"no-witness", "unparsable-line"}


def test_public_keys_alone_say_what_they_left_unchecked(kit: Kit) -> None:
    verdict = kit.verify()
    assert verdict.exit_code == 0
    assert verdict.unchecked["content"] == 13
    assert "content-unchecked" in codes(verdict, "info")


def test_a_damaged_content_key_is_named_and_the_rest_is_judged(tmp_path: Path) -> None:
    own = three_batches(tmp_path)
    file = tmp_path / "keys" / "content" / f"run-{1:032x}.key"
    whole = file.read_bytes()
    for damaged in (b"", whole[:-1], whole[:20] + bytes([whole[20] ^ 1]) + whole[21:]):
        file.write_bytes(damaged)
        verdict = own.verify(content=True)
        assert (verdict.verdict, verdict.exit_code) == ("unknown", 2)
        assert codes(verdict, "unknown") == {"content-key-damaged"}
        assert any(str(file) in found.where for found in verdict.findings)
        assert verdict.unchecked["content"] > 0
        assert verdict.covered["content"] > 0
    segment = next((own.store / "seg").iterdir())
    data = bytearray(segment.read_bytes())
    data[-100] ^= 1
    segment.write_bytes(data)
    verdict = own.verify(content=True)
    assert verdict.verdict == "bad"
    assert "content-key-damaged" in codes(verdict, "unknown")


def test_no_trust_is_unknown_and_remembers_nothing(kit: Kit) -> None:
    verdict = verify_store(kit.store, None, kit.heads)
    assert (verdict.verdict, verdict.exit_code) == ("unknown", 2)
    assert codes(verdict, "unknown") == {"no-trust"}
    assert kit.heads.last(ORIGIN) is None


def test_a_good_head_is_remembered_and_a_bad_one_is_not(kit: Kit, tmp_path: Path) -> None:
    own = Kit(tmp_path).seal(lines([document(span(0, 1))]))
    assert codes(own.verify(heads=own.heads), "info") >= {"head-not-remembered"}
    assert own.heads.last(ORIGIN) is not None
    assert "head-not-remembered" not in codes(own.verify(heads=own.heads), "info")
    own.heads.path.unlink()
    (own.store / "lock").write_bytes(b"x")
    assert own.verify(heads=own.heads).exit_code == 1
    assert own.heads.last(ORIGIN) is None


def test_json_is_the_documented_document(kit: Kit) -> None:
    value = json.loads(json.dumps(kit.verify().to_json()))
    assert set(value) == {"verdict", "size", "origin", "findings", "covered", "unchecked", "rebuildable"}
    assert all({"code", "where", "meaning"} <= set(item) for item in value["findings"])
    assert {item["code"] for item in value["findings"]} <= set(CODES)


def test_not_a_store(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(NotAStoreError):
            verify_store(path, trust(), None)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotAStoreError):
        verify_store(tmp_path / "file", trust(), None)


def test_an_empty_store_cannot_be_judged(tmp_path: Path) -> None:
    (tmp_path / "seg").mkdir()
    verdict = verify_store(tmp_path, trust(), None)
    assert (verdict.exit_code, codes(verdict, "unknown")) == (2, {"empty-store"})


def test_a_damaged_memory_is_no_verdict(kit: Kit, tmp_path: Path) -> None:
    kit.heads.path.write_bytes(b"{")
    try:
        with pytest.raises(TrustError):
            kit.verify(heads=kit.heads)
    finally:
        kit.heads.path.unlink()


def test_content_keys_of_another_log_do_not_open_it(kit: Kit, tmp_path: Path) -> None:
    other = ContentKeys(tmp_path)
    other.ensure([f"run:{1:032x}", f"run:{2:032x}"])
    verdict = verify_store(kit.store, trust(), None, other)
    assert "content-unreadable" in codes(verdict)


def test_two_signatures_are_both_held(tmp_path: Path) -> None:
    """Ed25519 and ML-DSA-44: each head carries both, and a byte of either is missed."""
    own = Kit(tmp_path)
    second = MlDsaSigner(ORIGIN, MLDSA44PrivateKey.generate())
    with StoreWriter.open(own.store, [own.signer, second], own.content_keys, origin=ORIGIN) as writer:
        Sealer(writer).seal(lines([document(span(0, 1))]))
    believed = Trust.parse(
        f"log {own.signer.vkey.text}\nwitness own {second.vkey.text}\ngroup both all own\nquorum both\n"
    )
    assert own.verify(trusted=believed).exit_code == 0
    assert own.verify().exit_code == 0
    path = own.store / "checkpoint"
    sound = path.read_bytes()
    text, ed25519, ml_dsa = sound.split(b"\n\n")[0], *sound.split(b"\n\n")[1].splitlines()
    for kept in (ed25519, ml_dsa):
        path.write_bytes(text + b"\n\n" + kept + b"\n")
        assert own.verify(trusted=believed).exit_code == 1
    at = len(sound) - 2000
    changed = sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :]
    for name in ("checkpoint", "checkpoints.log"):
        before = (own.store / name).read_bytes()
        (own.store / name).write_bytes(before.replace(sound, changed) if name != "checkpoint" else changed)
        assert own.verify().exit_code == 1, "the trust file with Ed25519 alone finds it as well"
        (own.store / name).write_bytes(sound if name == "checkpoint" else before)
    with pytest.raises(TrustError, match=r"leaf 0|signed by"):
        StoreWriter.open(own.store, MlDsaSigner(ORIGIN, MLDSA44PrivateKey.generate()), own.content_keys, origin=ORIGIN)


def test_a_watcher_sees_every_frame_under_the_head(kit: Kit) -> None:
    seen: list[OpenFrame] = []
    verdict = verify_store(kit.store, trust(), None, watch=seen.append)
    assert [frame.frame.first for frame in seen] == sorted(frame.frame.first for frame in seen)
    assert seen[-1].frame.end == verdict.size


def test_a_store_that_is_being_written_is_never_called_bad(tmp_path: Path) -> None:
    live = Kit(tmp_path).seal(lines([document(span(0, 1))]))

    def write() -> None:
        for number in range(1, 40):
            live.seal(lines([document(span(number, 1))], start=number * 900))

    writer = threading.Thread(target=write)
    writer.start()
    seen: list[Verdict] = []
    while writer.is_alive():
        seen.append(live.verify(heads=live.heads, content=True))
    writer.join()
    assert seen
    assert set[str]().union(*(codes(verdict) for verdict in seen)) == set()
    assert live.verify(heads=live.heads).covered["spans"] == 40


def test_reading_it_changes_nothing(kit: Kit) -> None:
    before = {path: path.stat().st_mtime_ns for path in kit.store.rglob("*")}
    kit.verify(content=True)
    assert before == {path: path.stat().st_mtime_ns for path in kit.store.rglob("*")}


def test_what_a_sealer_renames_or_removes_while_the_folders_are_read_is_no_stranger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = Kit(tmp_path).seal(lines([document(span(0, 1))]))
    gone = (live.store / "checkpoint.tmp", live.store / "tile" / "0" / "000.p" / "2")
    gone[0].write_bytes(b"")

    def too_late(path: Path) -> bool:
        if path in gone:
            path.unlink(missing_ok=True)
        return is_plain(path)

    for module in ("verify_files", "verify_tiles"):
        monkeypatch.setattr(f"spanseal.audit.{module}.is_plain", too_late)
    assert "unknown-file" not in codes(live.verify())
    assert not any(path.exists() for path in gone)


def test_a_partial_tile_that_gave_way_to_the_full_one_meanwhile_is_not_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = Kit(tmp_path).seal(lines([document(span(0, 1))]))
    partial = live.store / "tile" / "0" / "000.p"
    (partial / "2").unlink()
    assert codes(live.verify()) == {"tile-missing"}

    def sealer_goes_on(folder: Path) -> list[Path]:
        found = _names(folder)
        if folder == partial:
            folder.with_name("000").write_bytes(b"")
        return found

    monkeypatch.setattr("spanseal.audit.verify_tiles._names", sealer_goes_on)
    assert codes(live.verify()) == set()


def test_a_head_that_another_verifier_remembers_meanwhile_makes_no_rollback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = Kit(tmp_path).seal(lines([document(span(0, 1))]))

    def look(root: Path, report: Report) -> FoundHead:
        found = read_head(root, report)
        live.seal(lines([document(span(1, 1))], start=900))
        live.heads.remember(Checkpoint(ORIGIN, 7, bytes(32)))
        return found

    monkeypatch.setattr("spanseal.audit.verify.read_head", look)
    assert codes(live.verify(heads=live.heads)) == set()


def test_head_and_history_are_read_as_of_one_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if several heads are published between the looks at the two files."""
    live = Kit(tmp_path).seal(lines([document(span(0, 1))]))
    left = [1, 2, 3]

    def look(path: Path, size: int) -> bytes:
        while left:
            number = left.pop(0)
            live.seal(lines([document(span(number, 1))], start=900 * number))
        return read_at_most(path, size)

    monkeypatch.setattr("spanseal.audit.verify_heads.read_at_most", look)
    monkeypatch.setattr("spanseal.audit.verify_heads._TRIES", 1)
    verdict = live.verify()
    assert (verdict.verdict, verdict.covered["heads"]) == ("ok", 5)
