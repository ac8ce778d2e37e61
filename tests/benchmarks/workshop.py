"""A sealer with all that it needs in one folder; and lines as a tail reads them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from spanseal.audit.content_keys import ContentKeys
from spanseal.audit.store import StoreWriter
from spanseal.audit.tlog.note import NoteSigner
from spanseal.sealer.seal import InputLine, Sealer

BATCH = 256
ORIGIN = "bench.example/log"


class Workshop:
    """Store ``base/store`` signed with an Ed25519 key; trust file ``base/trust``; content keys ``base/content``."""

    def __init__(self, base: Path) -> None:
        self.base, self.store, self.trust = base, base / "store", base / "trust"
        self.signer = NoteSigner(ORIGIN, Ed25519PrivateKey.from_private_bytes(bytes(32)))
        self.trust.write_text(f"log {self.signer.vkey.text}\nquorum none\n")
        self.content = base / "content"
        self.content.mkdir(exist_ok=True)

    def open(self) -> StoreWriter:
        """The store's one writer, on the real disk."""
        return StoreWriter.open(self.store, self.signer, ContentKeys(self.content), origin=ORIGIN)

    def fill(self, lines: Iterator[bytes], count: int) -> int:
        """Seal ``count`` lines; how many bytes of input they were."""
        end = 0
        with self.open() as writer:
            sealer = Sealer(writer)
            for batch in batches(islice(lines, count)):
                sealer.seal(batch)
                end = batch[-1].end
        return end

    def bytes_of(self, *parts: str) -> int:
        """Bytes of all files of these parts of the store (``seg``, ``tile``, ``idx`` …; all where none is named)."""
        roots = [self.store / part for part in parts] or [self.store]
        return sum(path.stat().st_size for root in roots for path in root.rglob("*") if path.is_file())


def batches(lines: Iterator[bytes]) -> Iterator[list[InputLine]]:
    """The lines of one source in batches of 256."""
    at = 0
    while batch := list(islice(lines, BATCH)):
        made: list[InputLine] = []
        for raw in batch:
            made.append(InputLine("bench.jsonl", at, at + len(raw) + 1, raw))
            at += len(raw) + 1
        yield made
