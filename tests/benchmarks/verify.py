"""Verifying a store, and the first answer about one run.

The store is judged with public keys alone (every stored byte), then with content keys too (every input byte is put
together again and compared). Beside each: SHA-256 over the very bytes it speaks for. First answer: from nothing to one
run rebuilt from the store, as ``spanseal show STORE RUN`` does it, verified and unverified.
"""

from __future__ import annotations

import hashlib
import tempfile
from itertools import islice
from pathlib import Path

import orjson

from spanseal.audit.content_keys import ContentKeys
from spanseal.audit.trust import Trust
from spanseal.audit.verify import Verdict, verify_store
from spanseal.replay.reader import RunReader
from tests.benchmarks import histories
from tests.benchmarks.measure import Spent, heading, quick_asked, table
from tests.benchmarks.workshop import BATCH, Workshop

ROUNDS = 3
Row = list[str | float]


def judged(shop: Workshop, *, content: bool) -> Verdict:
    """One verification; a benchmark of a store that is not good would mean nothing."""
    verdict = verify_store(shop.store, Trust.load(shop.trust), None, ContentKeys(shop.content) if content else None)
    if verdict.verdict != "ok":
        raise RuntimeError(f"the store is {verdict.verdict}: {verdict.findings}")
    return verdict


def verifying(shop: Workshop, size: int, spans: int) -> list[Row]:
    """Public and with content, each beside SHA-256, in turn."""
    stored = b"".join(path.read_bytes() for path in shop.store.rglob("*") if path.is_file())
    line = b"x" * (size // spans)
    public, of_stored, content, of_input = Spent(), Spent(), Spent(), Spent()
    for _ in range(ROUNDS):
        public.measure(lambda: judged(shop, content=False), len(stored), spans)
        of_stored.measure(lambda: hashlib.sha256(stored), len(stored), spans)
        content.measure(lambda: judged(shop, content=True), size, spans)
        of_input.measure(lambda: [hashlib.sha256(line) for _ in range(spans)], size, spans)
    return [
        ["public keys, stored bytes", public.count / public.cpu, public.mb_cpu, public.mb_wall,
         size * ROUNDS / 1e6 / public.cpu, public.cpu / of_stored.cpu],
        ["content keys, input bytes", content.count / content.cpu, content.mb_cpu, content.mb_wall,
         size * ROUNDS / 1e6 / content.cpu, content.cpu / of_input.cpu],
    ]  # fmt: skip


def first_answer(shop: Workshop, run: str) -> list[Row]:
    """Seconds until one run is there to be shown."""
    rows: list[Row] = []
    for name, unverified in (("verified", False), ("unverified", True)):
        spent = Spent()
        found = spent.measure(
            lambda unverified=unverified: RunReader.open(
                shop.store, trust=shop.trust, content_keys=shop.content, heads=shop.base / "heads.json",
                unverified=unverified,
            ).run(run), 0,
        )  # fmt: skip
        rows.append([name, spent.cpu, spent.wall, str(len(found.calls))])
    return rows


def main() -> None:
    """Measure and print."""
    quick = quick_asked(__doc__)
    count = BATCH * (1 if quick else 40)
    lines = histories.all_lines()
    first = next(lines)
    attributes = orjson.loads(first)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["attributes"]
    run = next(item["value"]["stringValue"] for item in attributes if item["key"] == "spanseal.run.id")
    with tempfile.TemporaryDirectory() as folder:
        shop = Workshop(Path(folder))
        size = shop.fill(islice(lines, count), count)
        rows, answer = verifying(shop, size, count), first_answer(shop, run)
        stored = shop.bytes_of()
    amount = f"{count} spans of whole runs, {size / 1e6:.0f} MB, stored in {stored / 1e6:.1f}"
    heading(f"Verifying {amount}; {histories.NAME}")
    table(("", "spans/s cpu", "MB/s cpu", "MB/s wall", "input MB/s cpu", "it/sha256 cpu"), rows)
    heading("First answer for one run of that store")
    table(("", "s cpu", "s wall", "model calls"), answer)


if __name__ == "__main__":
    main()
