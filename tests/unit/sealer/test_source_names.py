"""What a file is called in the log: the same as long as it grows, and no way to confirm a guess of its content."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from tests.attacks.store_kit import Kit, document, span

from spanseal.audit.content_keys import ContentKeys
from spanseal.audit.leaf import BatchLeaf
from spanseal.audit.read import StoreReader
from spanseal.audit.store_scan import read_frames, segments_of
from spanseal.sealer.seal import Sealer
from spanseal.sealer.service_tail import Totals, seal_once
from spanseal.sealer.source_names import fingerprint, naming_key
from spanseal.sealer.tail import Tail

KEY = bytes(range(32))
SPANS = document(span(1, 1, "diagnosis: measles")) + b"\n"


def test_of_spans_only_ids_and_times_make_the_name() -> None:
    other = document(span(1, 1, "diagnosis: mumps")) + b"\n"
    assert fingerprint(SPANS, KEY, whole=False) == fingerprint(other, KEY, whole=False)
    assert fingerprint(SPANS, KEY, whole=False) != fingerprint(document(span(2, 1)) + b"\n", KEY, whole=False)


@pytest.mark.parametrize("first", [SPANS, b"no spans, a diagnosis\n", b"cut off: measles", b'{"resourceSpans":[]}\n'])
def test_without_the_key_no_guess_can_be_confirmed(first: bytes) -> None:
    name = fingerprint(first, KEY, whole=True)
    assert name is not None
    assert name != fingerprint(first, bytes(32), whole=True)
    for guess in (first, first.rstrip(b"\n")):
        assert name not in hashlib.sha256(guess).hexdigest()


def test_the_key_stays_until_it_is_destroyed(tmp_path: Path) -> None:
    key = naming_key(ContentKeys(tmp_path))
    assert naming_key(ContentKeys(tmp_path)) == key
    ContentKeys(tmp_path).forget("sources:0")
    fresh = naming_key(ContentKeys(tmp_path))
    assert fresh != key
    assert naming_key(ContentKeys(tmp_path)) == fresh


def test_with_another_naming_key_everything_is_recognised_as_sealed(tmp_path: Path) -> None:
    kit = Kit(tmp_path)
    file = tmp_path / "spans.jsonl"
    file.write_bytes(SPANS + document(span(2, 1)) + b"\n")
    seal_all(kit, file)
    kit.content_keys.forget("sources:0")
    assert seal_all(kit, file).duplicates == 2
    assert len(list(StoreReader(kit.store, kit.content_keys).spans())) == 2
    assert kit.verify(content=True).verdict == "ok"


def test_a_sealed_store_names_no_file_and_no_digest_of_one(tmp_path: Path) -> None:
    kit = Kit(tmp_path)
    file = tmp_path / "spans-of-anna.jsonl"
    file.write_bytes(b"not a span but a diagnosis\n" + SPANS)
    seal_all(kit, file)
    file.write_bytes(b"begun anew\n")
    seal_all(kit, file)
    ranges = [
        item.source
        for path in segments_of(kit.store)
        for placed in read_frames(path)
        for leaf in StoreReader(kit.store).open_frame(placed).leaves
        if isinstance(leaf, BatchLeaf)
        for item in leaf.ranges
    ]
    assert len(set(ranges)) == 2
    stored = b"".join(path.read_bytes() for path in kit.store.rglob("*") if path.is_file())
    assert b"anna" not in stored
    for guess in (b"not a span but a diagnosis\n", SPANS, b"begun anew\n"):
        digest = hashlib.sha256(guess)
        assert digest.hexdigest()[:16].encode() not in stored
        assert digest.digest()[:8] not in stored


def seal_all(kit: Kit, file: Path) -> Totals:
    totals = Totals()
    with kit.open() as writer:
        tail = Tail([file], writer.position, naming_key(writer.content_keys))
        seal_once(tail, Sealer(writer), totals)
        tail.close()
    return totals
