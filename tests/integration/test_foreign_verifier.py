"""A store is what the world calls a transparency log: Go's checksum-database code proves it, while it is unharmed."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey
from tests.integration.parts.build import binary

from spanseal.audit.content_keys import ContentKeys
from spanseal.audit.store import StoreWriter
from spanseal.audit.tlog.checkpoint import Checkpoint
from spanseal.audit.tlog.hashes import leaf_hash
from spanseal.audit.tlog.note import MlDsaSigner, Note, NoteSigner
from spanseal.audit.tlog.tiles import FULL, TileName, bundle, bundle_names
from spanseal.audit.tlog.tree import Tree
from spanseal.sealer.seal import InputLine, Sealer

SIGNER = NoteSigner("example.com/log", Ed25519PrivateKey.from_private_bytes(b"k" * 32))
PQ = MlDsaSigner(SIGNER.vkey.name, MLDSA44PrivateKey.from_seed_bytes(b"p" * 32))
STRANGER = NoteSigner(SIGNER.vkey.name, Ed25519PrivateKey.from_private_bytes(b"s" * 32))
SPANS = 300


@dataclass(frozen=True)
class Judged:
    """What the Go program said: its exit code and its JSON document."""

    code: int
    report: dict[str, Any]


def judge(store: Path, key: str = SIGNER.vkey.text, *leaf: int) -> Judged:
    done = subprocess.run(
        [binary("verifier"), store, key, *map(str, leaf)], capture_output=True, timeout=60, check=False
    )
    return Judged(done.returncode, json.loads(done.stdout or b"{}"))


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of 300 spans, sealed one head after the other, so that partial tiles of many widths lie in it."""
    folder = tmp_path_factory.mktemp("sealed")
    (folder / "content").mkdir()
    writer = StoreWriter.open(folder / "store", (SIGNER, PQ), ContentKeys(folder / "content"), origin=SIGNER.vkey.name)
    sealer, at = Sealer(writer), 0
    for batch in range(0, SPANS, 60):
        lines: list[InputLine] = []
        for number in range(batch, batch + 60):
            raw = line(number)
            lines.append(InputLine("spans.jsonl", at, at + len(raw), raw))
            at += len(raw)
        sealer.seal(lines)
    writer.close()
    return folder / "store"


def line(number: int) -> bytes:
    span = {"traceId": f"{number + 1:032x}", "spanId": f"{number + 1:016x}", "name": f"span {number}"}
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}).encode() + b"\n"


def test_go_proves_a_sealed_store(sealed: Path) -> None:
    head = Checkpoint.parse(Note.parse((sealed / "checkpoint").read_bytes()).text)
    judged = judge(sealed)
    assert judged.code == 0, judged.report
    assert head.size > SPANS
    assert judged.report["origin"] == judged.report["signer"] == SIGNER.vkey.name
    assert judged.report["size"] == judged.report["entries"] == head.size
    assert judged.report["leaf"] == head.size - 1
    for leaf in (0, 255, 256, head.size - 1):
        assert judge(sealed, SIGNER.vkey.text, leaf).report["leaf"] == leaf


@pytest.mark.parametrize("key", [STRANGER.vkey.text, SIGNER.vkey.text.replace("example", "sample"), "no key"])
def test_go_believes_no_other_key(sealed: Path, key: str) -> None:
    judged = judge(sealed, key)
    assert (judged.code, judged.report["size"]) == (1, 0)


def test_go_knows_no_leaf_beyond_the_head(sealed: Path) -> None:
    assert "no leaf 9999" in judge(sealed, SIGNER.vkey.text, 9999).report["error"]


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def only(store: Path, pattern: str) -> Path:
    """The widest partial tile or bundle that matches: the one the head needs."""
    return max(store.glob(pattern), key=lambda path: int(path.name))


def swap_entries(store: Path) -> None:
    path = store / "tile/entries/000"
    data = path.read_bytes()
    first = 2 + int.from_bytes(data[:2], "big")
    second = first + 2 + int.from_bytes(data[first : first + 2], "big")
    path.write_bytes(data[first:second] + data[:first] + data[second:])


def resign(store: Path) -> None:
    """What a thief of another key would do: a valid note, in the log's name, over another size."""
    text = Checkpoint(SIGNER.vkey.name, 200, bytes(32)).text
    (store / "checkpoint").write_bytes(Note(text, (STRANGER.sign(text),)).serialise())


DAMAGES: dict[str, Callable[[Path], None]] = {
    "a byte of the head's text": lambda store: flip(store / "checkpoint", 3),
    "a byte of the head's root": lambda store: flip(store / "checkpoint", 30),
    "another signer": resign,
    "a byte of a full tile": lambda store: flip(store / "tile/0/000", 777),
    "a byte of the partial tile": lambda store: flip(only(store, "tile/0/001.p/*"), 40),
    "a byte of a higher tile": lambda store: flip(store / "tile/1/000.p/1", 0),
    "a byte of an entry": lambda store: flip(store / "tile/entries/000", 500),
    "the last byte of the last entry": lambda store: flip(only(store, "tile/entries/001.p/*"), -1),
    "two entries swapped": swap_entries,
    "a bundle cut off": lambda store: cut_off(only(store, "tile/entries/001.p/*")),
    "a bundle gone": lambda store: (store / "tile/entries/000").unlink(),
    "a tile gone": lambda store: (store / "tile/0/000").unlink(),
    "no head": lambda store: (store / "checkpoint").unlink(),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_go_refuses_a_damaged_store(sealed: Path, tmp_path: Path, damage: str) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(sealed, copy)
    DAMAGES[damage](copy)
    judged = judge(copy)
    assert judged.code == 1
    assert judged.report["error"]


@pytest.mark.parametrize("size", [0, 1, 2, 255, 256, 257, 65_537, 70_000])
def test_go_proves_trees_of_every_shape(tmp_path: Path, size: int) -> None:
    entries = [number.to_bytes(4, "big") for number in range(size)]
    tree = Tree()
    for tile in tree.grow([leaf_hash(entry) for entry in entries]):
        put(tmp_path, tile.name, tile.data)
    for name in bundle_names(size):
        put(tmp_path, name, bundle(entries[name.index * FULL : name.index * FULL + name.width]))
    text = Checkpoint(SIGNER.vkey.name, size, tree.root()).text
    (tmp_path / "checkpoint").write_bytes(Note(text, (SIGNER.sign(text),)).serialise())
    judged = judge(tmp_path)
    assert judged.code == 0, judged.report
    assert (judged.report["size"], judged.report["entries"]) == (size, size)


def put(store: Path, name: TileName, data: bytes) -> None:
    path = store / name.path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
