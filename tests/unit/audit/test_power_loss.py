"""The power goes at any write: what was synced is there, of the rest any part, holes included; nothing else is assumed.

Tiles and the index are never synced: they may be gone, empty, cut or zeroed. ``SPANSEAL_SOAK=n`` multiplies the tries.
"""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.attacks.store_kit import Kit, codes, document, lines, span

from spanseal.audit.read import StoreReader
from spanseal.audit.store_disk import RealDisk
from spanseal.sealer.seal import Sealer

_SOAK = os.environ.get("SPANSEAL_SOAK", "1")
TRIES = 20 if _SOAK == "all" else int(_SOAK)
RAWS = [document(span(number, number // 3 + 1, f"content {number} " * (number % 9))) for number in range(16)]
LINES = lines(RAWS)


@dataclass(frozen=True)
class Moment:
    """A copy of store and keys right after a call of the disk; how much of each file was synced, and acknowledged."""

    base: Path
    call: str
    synced: dict[str, int]
    acknowledged: int


class Camera(RealDisk):
    """A disk that keeps a copy of everything after each call."""

    def __init__(self, base: Path, copies: Path) -> None:
        self._base, self._copies = base, copies
        self._synced: dict[str, int] = {}
        self.acknowledged = 0
        self.moments: list[Moment] = []

    def append(self, descriptor: int, data: bytes) -> None:
        super().append(descriptor, data)
        self._keep("append")

    def sync(self, descriptor: int) -> None:
        super().sync(descriptor)
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        if path.is_relative_to(self._base):
            self._synced[str(path.relative_to(self._base))] = os.fstat(descriptor).st_size
        self._keep("sync")

    def write(self, path: Path, data: bytes) -> None:
        super().write(path, data)
        self._keep("write")

    def replace(self, path: Path, data: bytes) -> None:
        super().replace(path, data)
        self._keep("replace")

    def _keep(self, call: str) -> None:
        copy = self._copies / str(len(self.moments))
        shutil.copytree(self._base, copy)
        self.moments.append(Moment(copy, call, dict(self._synced), self.acknowledged))


@pytest.fixture(scope="module")
def moments(tmp_path_factory: pytest.TempPathFactory) -> list[Moment]:
    base, chance = tmp_path_factory.mktemp("power"), random.Random(1)
    disk = Camera(base / "whole", base / "moments")
    with Kit(base / "whole").open(disk) as writer:
        at = 0
        while at < len(LINES):
            count = chance.randrange(1, 8)
            Sealer(writer).seal(LINES[at : at + count])
            at = min(at + count, len(LINES))
            disk.acknowledged = LINES[at - 1].end
    return disk.moments


def lose(data: bytes, synced: int, chance: random.Random) -> bytes:
    """What may be left of a file of which so many bytes were synced."""
    start = chance.randrange(synced, len(data) + 1)
    end = chance.randrange(start, len(data) + 1)
    hole = data[:start] + bytes(end - start) + data[end:]
    return chance.choice((data, data[:start], data[:synced] + bytes(len(data) - synced), hole))


def lose_power(base: Path, synced: dict[str, int], chance: random.Random) -> None:
    for path in sorted(item for item in (base / "store").rglob("*") if item.is_file()):
        name, data = str(path.relative_to(base)), path.read_bytes()
        if path.parent.name == "seg" or path.name in ("checkpoints.log", "checkpoint.tmp"):
            path.write_bytes(lose(data, min(synced.get(name, 0), len(data)), chance))
        elif path.name not in ("checkpoint", "lock"):
            path.unlink() if chance.random() < 0.2 else path.write_bytes(lose(data, 0, chance))


def test_between_any_two_writes_of_a_sealer_its_store_is_never_bad(moments: list[Moment]) -> None:
    for number, moment in enumerate(moments):
        verdict = Kit(moment.base).verify(content=True)
        assert codes(verdict) == set(), (number, moment.call)


def test_whatever_the_power_took_is_mended_and_nothing_acknowledged_is_lost(
    moments: list[Moment], tmp_path: Path
) -> None:
    assert {moment.call for moment in moments} == {"append", "sync", "write", "replace"}
    for seed in range(TRIES):
        for number, moment in enumerate(moments):
            kit = Kit(tmp_path / f"{seed}-{number}")
            shutil.copytree(moment.base, kit.base, dirs_exist_ok=True)
            lose_power(kit.base, moment.synced, random.Random(f"{seed} {number}"))
            with kit.open() as writer:
                sealed = writer.position("spans.jsonl")
                assert sealed >= moment.acknowledged
                Sealer(writer).seal([line for line in LINES if line.end > sealed])
            assert kit.verify(content=True).verdict == "ok", (seed, number, moment.call)
            assert [item.raw for item in StoreReader(kit.store, kit.content_keys).lines()] == RAWS
            shutil.rmtree(kit.base)


def test_a_hole_in_the_head_written_last_to_the_history_is_mended(tmp_path: Path) -> None:
    kit = Kit(tmp_path).seal(LINES[:3], LINES[3:6])
    path = kit.store / "checkpoints.log"
    sound = path.read_bytes()
    last = sound.rindex(b"example.com/log\n")
    for start in range(last, len(sound) - 2, 5):
        path.write_bytes(sound[:start] + bytes(2) + sound[start + 2 :])
        kit.open().close()
        assert path.read_bytes() == sound
    assert kit.verify().verdict == "ok"
