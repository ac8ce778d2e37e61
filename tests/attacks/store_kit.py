"""Small real stores for tests: keys, spans, a sealed store, and a way to judge a copy of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from spanseal.audit.content_keys import ContentKeys
from spanseal.audit.heads import HeadMemory
from spanseal.audit.store import StoreWriter
from spanseal.audit.store_disk import Disk
from spanseal.audit.tlog.note import NoteSigner
from spanseal.audit.trust import Trust
from spanseal.audit.verify import Verdict, verify_store
from spanseal.sealer.seal import InputLine, Sealer

ORIGIN = "example.com/log"


def signer(seed: int = 0, origin: str = ORIGIN) -> NoteSigner:
    return NoteSigner(origin, Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32))


def trust(*signers: NoteSigner) -> Trust:
    lines = "".join(f"log {item.vkey.text}\n" for item in signers or (signer(),))
    return Trust.parse(lines + "quorum none\n")


def attribute(key: str, value: str) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": value}}


def span(number: int, run: int = 0, content: str = "secret", **more: Any) -> dict[str, Any]:
    """A span of run ``run``; ``run`` 0 means a span without a run id."""
    stamped = [attribute("spanseal.run.id", f"{run:032x}")] if run else []
    return {
        "traceId": f"{max(run, 1):032x}",
        "spanId": f"{number + 1:016x}",
        "name": "chat m",
        "kind": 3,
        "startTimeUnixNano": "1700000000000000000",
        "endTimeUnixNano": "1700000000000000009",
        "attributes": [
            *stamped,
            attribute("gen_ai.operation.name", "chat"),
            attribute("gen_ai.input.messages", content),
        ],
        "status": {"code": 2, "message": content + "!"},
    } | more


def document(*spans: dict[str, Any], service: str = "shop") -> bytes:
    resource = {"attributes": [attribute("service.name", service)]}
    scopes = [{"scope": {"name": "spanseal"}, "spans": list(spans), "schemaUrl": "https://example.com/s"}]
    whole = {"resourceSpans": [{"resource": resource, "scopeSpans": scopes}]}
    return json.dumps(whole, separators=(",", ":")).encode()


def lines(raws: Iterable[bytes], source: str = "spans.jsonl", start: int = 0) -> list[InputLine]:
    """Lines as a tail hands them over: the line feed taken off."""
    found: list[InputLine] = []
    for raw in raws:
        found.append(InputLine(source, start, start + len(raw) + 1, raw))
        start += len(raw) + 1
    return found


@dataclass
class Kit:
    """A store below ``base`` with its keys, trust and memory of heads."""

    base: Path
    signer: NoteSigner = field(default_factory=signer)

    def __post_init__(self) -> None:
        (self.base / "keys" / "content").mkdir(parents=True, exist_ok=True)

    @property
    def store(self) -> Path:
        return self.base / "store"

    @property
    def content_keys(self) -> ContentKeys:
        return ContentKeys(self.base / "keys" / "content")

    @property
    def heads(self) -> HeadMemory:
        return HeadMemory(self.base / "heads.json")

    def open(self, disk: Disk | None = None) -> StoreWriter:
        return StoreWriter.open(self.store, self.signer, self.content_keys, origin=ORIGIN, disk=disk)

    def seal(self, *batches: Sequence[InputLine]) -> Kit:
        with self.open() as writer:
            for batch in batches:
                Sealer(writer).seal(batch)
        return self

    def verify(
        self, *, heads: HeadMemory | None = None, trusted: Trust | None = None, content: bool = False
    ) -> Verdict:
        keys = self.content_keys if content else None
        return verify_store(self.store, trusted or trust(self.signer), heads, keys)


def three_batches(base: Path) -> Kit:
    """Three batches of four spans each, in two runs and one without, and one line that is no OTLP."""
    first = [document(span(0, 1)), document(span(1, 1, "secret and more")), document(span(2, 1), span(3))]
    second = [document(span(number, 2, "history " * number)) for number in range(4, 8)]
    third = [document(span(8, 1), span(9, 2)), b"not json", document(span(0, 1)), document(span(10), span(11))]
    at, batches = 0, list[list[InputLine]]()
    for raws in (first, second, third):
        batches.append(lines(raws, start=at))
        at = batches[-1][-1].end
    return Kit(base).seal(*batches)


def codes(verdict: Verdict, weight: str = "bad") -> set[str]:
    return {item.code for item in verdict.findings if item.weight == weight}
