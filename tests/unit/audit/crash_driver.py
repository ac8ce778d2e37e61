"""Kills a writing sealer again and again, and judges what is left each time. Run as a process of its own.

``python -m tests.unit.audit.crash_driver BASE SEED KILLS``: prints one JSON object with what was observed.
Every child seals a stream of lines (a quarter of them sent again) from where the store says, and dies at a seeded
call of the disk: before it, in the middle of a write, or after it. Forks, hence alone in its process.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from tests.attacks.store_kit import Kit, document, lines, span

from spanseal.audit.read import StoreReader
from spanseal.audit.store_disk import RealDisk
from spanseal.errors import NotAStoreError
from spanseal.sealer.seal import InputLine, Sealer

_DIED = 9


class DyingDisk(RealDisk):
    """Ends the process at one call; ``manner`` 0 before, 1 in the middle (of a write), 2 after it."""

    def __init__(self, at: int, manner: int) -> None:
        self._left, self._manner = at, manner

    def _step(self, name: str, *args: Any) -> None:
        self._left -= 1
        last = self._left == 0
        if last and self._manner == 0:
            os._exit(_DIED)
        real = getattr(RealDisk, name)
        if last and self._manner == 1 and name in ("append", "write"):
            real(self, args[0], args[1][: len(args[1]) // 2])
            os._exit(_DIED)
        real(self, *args)
        if last:
            os._exit(_DIED)

    def append(self, descriptor: int, data: bytes) -> None:
        self._step("append", descriptor, data)

    def truncate(self, descriptor: int, size: int) -> None:
        self._step("truncate", descriptor, size)

    def sync(self, descriptor: int) -> None:
        self._step("sync", descriptor)

    def sync_folder(self, folder: Path) -> None:
        self._step("sync_folder", folder)

    def write(self, path: Path, data: bytes) -> None:
        self._step("write", path, data)

    def replace(self, path: Path, data: bytes) -> None:
        self._step("replace", path, data)

    def remove_folder(self, folder: Path) -> None:
        self._step("remove_folder", folder)


def stream(chance: random.Random, unique: int) -> list[InputLine]:
    """The whole input: every span at least once, a quarter of the lines twice."""
    raws = [document(span(number, number // 20 + 1, "history " * (number % 7))) for number in range(unique)]
    for _ in range(unique // 4):
        at = chance.randrange(len(raws))
        raws.insert(min(len(raws), at + chance.randrange(1, 30)), raws[at])
    return lines(raws)


def child(kit: Kit, everything: list[InputLine], chance: random.Random, acknowledged: Path) -> None:
    disk = DyingDisk(chance.randrange(1, 45), chance.randrange(3))
    with kit.open(disk) as writer, acknowledged.open("ab", buffering=0) as answers:
        sealer = Sealer(writer)
        left = [line for line in everything if line.end > writer.position(line.source)]
        while left:
            count = chance.randrange(1, 9)
            batch, left = left[:count], left[count:]
            report = sealer.seal(batch)
            answers.write(f"{batch[-1].end} {report.size}\n".encode())


def judge(kit: Kit, sizes: list[int]) -> str:
    """The verdict between two lives; heads only grow, and each continues the one before."""
    try:
        verdict = kit.verify(heads=kit.heads, content=True)
    except NotAStoreError:
        return "none"
    if verdict.verdict == "bad":
        print(json.dumps(verdict.to_json(), indent=1), file=sys.stderr)
    sizes.append(verdict.size)
    return verdict.verdict


def main(base: Path, seed: int, kills: int) -> dict[str, Any]:
    chance = random.Random(seed)
    kit, acknowledged = Kit(base), base / "acknowledged"
    unique = 12 * kills
    everything = stream(chance, unique)
    outcomes: Counter[str] = Counter()
    verdicts: Counter[str] = Counter()
    sizes: list[int] = []
    for _ in range(kills):
        life = random.Random(chance.random())
        pid = os.fork()
        if pid == 0:
            child(kit, everything, life, acknowledged)
            os._exit(0)
        outcomes[str(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))] += 1
        verdicts[judge(kit, sizes)] += 1
    promised = [line.split() for line in acknowledged.read_text().splitlines()] if acknowledged.exists() else []
    with kit.open() as writer:
        kept = writer.position("spans.jsonl") >= max((int(item[0]) for item in promised), default=0)
        left = [line for line in everything if line.end > writer.position(line.source)]
        Sealer(writer).seal(left)
    final = judge(kit, sizes)
    reader = StoreReader(kit.store, kit.content_keys)
    spans = Counter(item.span_id for item in reader.spans())
    return {
        "outcomes": outcomes, "verdicts": verdicts, "final": final, "acknowledged": len(promised), "kept": kept,
        "monotone": sizes == sorted(sizes), "spans": len(spans), "most": max(spans.values()), "unique": unique,
        "lines": [item.raw for item in reader.lines()] == [item.raw for item in everything],
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
