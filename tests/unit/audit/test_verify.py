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
from spanseal.audit.tlog.note import MlDsaSigner
from spanseal.audit.trust import Trust
from spanseal.audit.verify import Verdict, verify_store
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
