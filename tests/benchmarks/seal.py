"""Sealing: spans and MB per second for small spans and for agents' growing histories.

Everything is on: cut, commitments, encryption, delta and zstd, fdatasync, tiles, signature, index. After each batch of
256 lines the same bytes are hashed once with SHA-256, and written to a plain file with fsync: what the machine needs
for the least one could do. Then compactness: input bytes per byte of segments, and bytes per span.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from spanseal.sealer.seal import Sealer
from tests.benchmarks import histories
from tests.benchmarks.measure import Spent, heading, quick_asked, table
from tests.benchmarks.workshop import BATCH, Workshop, batches

Row = list[str | float]


def measure(name: str, lines: Iterator[bytes], count: int, base: Path) -> tuple[list[Row], Row]:
    """Seal, hash and write the same lines in turn; rows of speed and a row of compactness."""
    base.mkdir()
    shop = Workshop(base)
    sealing, hashing, writing = Spent(), Spent(), Spent()
    plain = os.open(base / "plain", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    with shop.open() as writer:
        sealer = Sealer(writer)
        for batch in batches(islice(lines, count)):
            raws = [line.raw for line in batch]
            size = sum(map(len, raws))
            sealing.measure(lambda batch=batch: sealer.seal(batch), size, len(batch))
            hashing.measure(lambda raws=raws: [hashlib.sha256(raw).digest() for raw in raws], size, len(raws))
            writing.measure(lambda raws=raws: _write(plain, b"\n".join(raws)), size, len(raws))
    os.close(plain)
    rows: list[Row] = []
    for what, spent in (("seal", sealing), ("sha256", hashing), ("write+fsync", writing)):
        rows.append([
            name, what, spent.count / spent.cpu, spent.count / spent.wall, spent.mb_cpu, spent.mb_wall,
            spent.turn_ms(0.5), spent.turn_ms(0.99), sealing.cpu / spent.cpu, sealing.wall / spent.wall,
        ])  # fmt: skip
    segments, whole = shop.bytes_of("seg"), shop.bytes_of()
    compact: Row = [
        name, sealing.size / count, sealing.size / segments, segments / count, whole / count, sealing.size / whole
    ]  # fmt: skip
    return rows, compact


def main() -> None:
    """Measure and print."""
    quick = quick_asked(__doc__)
    sides = (
        ("1 kB spans", histories.small_lines(), BATCH * (2 if quick else 80)),
        ("30 kB spans", histories.chat_lines(), BATCH * (1 if quick else 20)),
    )
    speed: list[Row] = []
    compact: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for name, lines, count in sides:
            rows, row = measure(name, lines, count, Path(folder, name.split()[0]))
            speed += rows
            compact.append(row)
    heading(f"Sealing: batches of {BATCH}, fdatasync, Ed25519, AES-GCM, index; {histories.NAME}, one span a line")
    table(
        ("", "what", "spans/s cpu", "spans/s wall", "MB/s cpu", "MB/s wall", "batch p50 ms", "p99 ms",
         "seal/it cpu", "seal/it wall"), speed,
    )  # fmt: skip
    heading("Compactness: segments hold everything, tiles and index can be rebuilt")
    table(("", "B/line", "input/segments", "segment B/span", "store B/span", "input/store"), compact)


def _write(descriptor: int, data: bytes) -> None:
    os.write(descriptor, data)
    os.fsync(descriptor)


if __name__ == "__main__":
    main()
