"""Any single byte of any file of a sealed store, changed, is found with public keys alone, and its file is named.

``SPANSEAL_SOAK`` tries every byte instead of a seeded sample.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from tests.attacks.store_kit import Kit, codes, three_batches

from spanseal.audit.verify import verify_store

_SAMPLE = 1 << 30 if os.environ.get("SPANSEAL_SOAK") else 12


@pytest.fixture(scope="module")
def kit(tmp_path_factory: pytest.TempPathFactory) -> Kit:
    return three_batches(tmp_path_factory.mktemp("flips"))


@pytest.fixture(autouse=True)
def _no_pause(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction] - pytest finds it
    """Nobody writes this store: what does not fit now will not fit in a moment."""
    monkeypatch.setattr("spanseal.audit.verify_heads._PAUSE", 0)


def _files(kit: Kit, part: str) -> list[Path]:
    root = kit.store / part
    found = [root] if root.is_file() else sorted(path for path in root.rglob("*") if path.is_file())
    assert found
    return found


def _flip_each(kit: Kit, path: Path, offsets: list[int], seed: int) -> None:
    chance = random.Random(seed)
    sound = path.read_bytes()
    name = path.relative_to(kit.store).as_posix()
    for offset in offsets:
        changed = bytearray(sound)
        changed[offset] ^= 1 << chance.randrange(8)
        path.write_bytes(changed)
        verdict = kit.verify()
        assert verdict.exit_code == 1, f"{name}, byte {offset}: {verdict.findings}"
        places = " ".join(item.where for item in verdict.findings if item.weight == "bad")
        assert name in places or "checkpoint" in places, f"{name}, byte {offset}: {places}"
    path.write_bytes(sound)
    assert kit.verify().exit_code == 0


def test_every_byte_of_the_head(kit: Kit) -> None:
    path = kit.store / "checkpoint"
    _flip_each(kit, path, list(range(path.stat().st_size)), seed=1)


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("part", ["checkpoints.log", "seg", "tile/0", "tile/entries"])
def test_bytes_of_the_other_files(kit: Kit, part: str) -> None:
    for path in _files(kit, part):
        size = path.stat().st_size
        count = min(size, _SAMPLE)
        offsets = sorted({*range(min(size, 12)), size - 1, *random.Random(str(path.name)).sample(range(size), count)})
        _flip_each(kit, path, offsets, seed=2)


def test_a_flip_is_placed_at_its_leaf(kit: Kit) -> None:
    path = next((kit.store / "seg").iterdir())
    sound = path.read_bytes()
    leaf = (1).to_bytes(16) + (2).to_bytes(8) + b"\x24run:"  # span 1 of run 1: leaf 3
    at = sound.index(b"\x01\x01" + leaf) + 20
    path.write_bytes(sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :])
    try:
        found = [item for item in kit.verify().findings if item.weight == "bad"]
    finally:
        path.write_bytes(sound)
    assert [item.code for item in found] == ["leaf-changed"]
    assert "leaf 3" in found[0].where


def test_without_trust_a_flip_is_bad_and_not_only_unknown(kit: Kit) -> None:
    assert verify_store(kit.store, None, None).exit_code == 2
    for path in (item for item in kit.store.rglob("*") if item.is_file() and item.stat().st_size):
        if path.parent.name == "idx":
            continue
        sound = path.read_bytes()
        for at in {0, len(sound) // 2, len(sound) - 1}:
            path.write_bytes(sound[:at] + bytes([sound[at] ^ 4]) + sound[at + 1 :])
            verdict = verify_store(kit.store, None, None)
            assert verdict.exit_code == 1, f"{path.name}, byte {at}"
        path.write_bytes(sound)


def test_the_index_alone_is_a_cache(kit: Kit) -> None:
    path = kit.store / "idx" / "spans.sqlite"
    sound = path.read_bytes()
    path.write_bytes(b"\x00" + sound[1:])
    try:
        verdict = kit.verify()
        assert verdict.exit_code == 0
        assert verdict.rebuildable == ("idx/spans.sqlite",)
        with kit.open() as writer:
            assert len(writer.find(f"{1:032x}", f"{1:016x}")) == 1
    finally:
        assert codes(kit.verify()) == set()
