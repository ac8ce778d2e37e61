"""Trees, tiles and proofs against a naive reading of RFC 6962, and against foreign vectors."""

from __future__ import annotations

import functools
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanseal.audit.tlog.hashes import EMPTY_ROOT, leaf_hash, root_hash
from spanseal.audit.tlog.proofs import (
    TileHashes,
    consistency_holds,
    consistency_proof,
    inclusion_holds,
    inclusion_proof,
)
from spanseal.audit.tlog.tiles import ENTRIES, TileName, split_tile, tile_names
from spanseal.audit.tlog.tree import Frontier, Tree, tile_root
from spanseal.errors import FormatError

VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[3] / "vectors" / "rfc6962.json").read_text())
LEAVES = [leaf_hash(n.to_bytes(4, "big")) for n in range(70_000)]
SIZES = [0, 1, 2, 3, 7, 8, 255, 256, 257, 511, 513, 65_535, 65_536, 65_537, 70_000]


@functools.cache
def naive(start: int, end: int) -> bytes:
    """MTH(D[start:end]) as RFC 6962 2.1 writes it down."""
    if start == end:
        return sha256(b"").digest()
    if end - start == 1:
        return LEAVES[start]
    split = 1
    while split * 2 < end - start:
        split *= 2
    return sha256(b"\1" + naive(start, start + split) + naive(start + split, end)).digest()


@functools.cache
def grown(size: int) -> tuple[Tree, dict[TileName, bytes]]:
    """A tree of ``size`` leaves and all tiles written on the way, in steps as a log grows."""
    tree, tiles, at = Tree(), dict[TileName, bytes](), 0
    for step in (1, 1, 253, 2, 300, 64_000, 70_000):
        for tile in tree.grow(LEAVES[at : min(at + step, size)]):
            tiles[tile.name] = tile.data
        at += step
    return tree, tiles


def test_foreign_roots_and_proofs() -> None:
    leaves: list[bytes] = [leaf_hash(bytes.fromhex(leaf)) for leaf in VECTORS["leaves"]]
    roots: list[bytes] = [bytes.fromhex(root) for root in VECTORS["roots"]]
    assert [root_hash(leaves[:size]) for size in range(9)] == roots

    def subtree(start: int, end: int) -> bytes:
        return root_hash(leaves[start:end])

    for case in VECTORS["inclusion"]:
        index, size, proof = int(case["index"]), int(case["size"]), [bytes.fromhex(part) for part in case["proof"]]
        assert inclusion_proof(index, size, subtree) == proof
        assert inclusion_holds(leaves[index], index, size, proof, roots[size])
    for case in VECTORS["consistency"]:
        old, new, proof = int(case["old"]), int(case["new"]), [bytes.fromhex(part) for part in case["proof"]]
        assert consistency_proof(old, new, subtree) == proof
        assert consistency_holds(old, roots[old], new, roots[new], proof)


@pytest.mark.parametrize("size", SIZES)
def test_a_tree_grown_in_steps_has_the_right_root_tiles_and_state(size: int) -> None:
    tree, tiles = grown(size)
    frontier = Frontier()
    for leaf in LEAVES[:size]:
        frontier.add(leaf)
    assert tree.size == frontier.size == size
    assert tree.root() == frontier.root() == naive(0, size)
    assert tree.edge == frontier.edge
    assert len(tree.edge) == size.bit_count()
    for name in tile_names(size):
        for at, part in enumerate(split_tile(tiles[name], name.width)):
            span = 256**name.level
            first = (name.index * 256 + at) * span
            assert part == naive(first, first + span)
        if name.width == 256 and (name.index + 1) * 256 ** (name.level + 1) <= size:
            assert tile_root(tiles[name]) == naive(
                name.index * 256 ** (name.level + 1), (name.index + 1) * 256 ** (name.level + 1)
            )
    again = Tree.from_tiles(size, tiles.__getitem__)
    assert (again.root(), again.edge) == (tree.root(), tree.edge)
    more = [leaf_hash(b"more")] * 300
    assert again.grow(more) == Tree.from_tiles(size, tiles.__getitem__).grow(more)
    assert again.size == size + 300


def test_the_tiles_of_70000_leaves() -> None:
    names = list(tile_names(70_000))
    assert len(names) == 273 + 1 + 1 + 1 + 1
    assert [name.path for name in names[-4:]] == ["tile/0/273.p/112", "tile/1/000", "tile/1/001.p/17", "tile/2/000.p/1"]
    assert ENTRIES not in {name.level for name in names}


@given(st.lists(st.integers(0, 400), max_size=5))
def test_growing_gives_every_tile_that_changed_and_only_those(steps: list[int]) -> None:
    tree, disk = Tree(), dict[TileName, bytes]()
    for step in steps:
        before = set(tile_names(tree.size))
        written = {tile.name: tile.data for tile in tree.grow(LEAVES[tree.size : tree.size + step])}
        after = set(tile_names(tree.size))
        assert after - before <= set(written) <= after
        assert not set(written) & before
        disk |= written
    assert TileHashes(tree.size, disk.__getitem__).root() == tree.root() == naive(0, tree.size)


@pytest.mark.parametrize(("size", "edge"), [(1, []), (0, [bytes(32)]), (3, [bytes(32)]), (1, [bytes(31)]), (-1, [])])
def test_an_edge_that_does_not_fit_its_size_is_refused(size: int, edge: list[bytes]) -> None:
    with pytest.raises(FormatError):
        Frontier(size, edge)


def test_a_tile_of_the_wrong_length_is_refused() -> None:
    with pytest.raises(FormatError, match="tile"):
        Tree.from_tiles(3, lambda name: bytes(32 * 2))
    with pytest.raises(FormatError, match="tile"):
        TileHashes(3, lambda name: bytes(32 * 3 + 1)).root()


@pytest.mark.parametrize("size", [s for s in SIZES if s])
def test_proofs_out_of_tiles_hold(size: int) -> None:
    tree, tiles = grown(size)
    hashes = TileHashes(size, tiles.__getitem__)
    for index in {0, 1, size // 3, size // 2, size - 2, size - 1} & set(range(size)):
        proof = inclusion_proof(index, size, hashes.subtree)
        assert hashes.leaf(index) == LEAVES[index]
        assert inclusion_holds(LEAVES[index], index, size, proof, tree.root())
    for old in {0, 1, 2, size // 3, size // 2, size - 1, size, 256, 257, 65_536} & set(range(size + 1)):
        proof = consistency_proof(old, size, hashes.subtree)
        assert consistency_holds(old, naive(0, old), size, tree.root(), proof)


SMALL = st.integers(1, 40)


@given(SMALL, st.data())
def test_every_tampered_inclusion_proof_is_refused(size: int, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, size - 1))
    root, leaf = naive(0, size), LEAVES[index]
    proof = inclusion_proof(index, size, naive)
    assert inclusion_holds(leaf, index, size, proof, root)
    assert not inclusion_holds(LEAVES[index + 1], index, size, proof, root)
    assert not inclusion_holds(leaf, index, size, proof, LEAVES[0] if size > 1 else EMPTY_ROOT)
    for other in {*range(size), -1, size, size + 1} - {index}:
        assert not inclusion_holds(leaf, other, size, proof, root)
    for changed in tampered(proof, data):
        assert not inclusion_holds(leaf, index, size, changed, root)


@given(SMALL, st.data())
def test_every_tampered_consistency_proof_is_refused(new: int, data: st.DataObject) -> None:
    old = data.draw(st.integers(1, new))
    before, after = naive(0, old), naive(0, new)
    proof = consistency_proof(old, new, naive)
    assert consistency_holds(old, before, new, after, proof)
    wrong = LEAVES[77]
    assert not consistency_holds(old, wrong, new, after, proof)
    assert not consistency_holds(old, before, new, wrong, proof)
    assert not consistency_holds(new + 1, before, new, after, proof)
    assert not consistency_holds(0, before, new, after, proof)
    for other in set(range(1, new + 1)) - {old}:
        assert not consistency_holds(other, before, new, after, proof)
    for changed in tampered(proof, data):
        assert not consistency_holds(old, before, new, after, changed)


def tampered(proof: list[bytes], data: st.DataObject) -> list[list[bytes]]:
    """Proofs with a hash more, a hash less, two swapped, a bit flipped."""
    changed = [[*proof, EMPTY_ROOT], [EMPTY_ROOT, *proof]]
    for at in range(len(proof)):
        flipped = bytearray(proof[at])
        flipped[data.draw(st.integers(0, 31))] ^= 1 << data.draw(st.integers(0, 7))
        changed += [proof[:at] + proof[at + 1 :], [*proof[:at], bytes(flipped), *proof[at + 1 :]]]
        changed += [[*proof[:at], proof[at], *proof[at:]]]
        if at and proof[at] != proof[at - 1]:
            changed.append([*proof[: at - 1], proof[at], proof[at - 1], *proof[at + 1 :]])
    return changed


@pytest.mark.parametrize(("index", "size"), [(-1, 5), (5, 5), (0, 0)])
def test_no_proof_is_made_of_what_is_not_there(index: int, size: int) -> None:
    with pytest.raises(ValueError, match="not in a tree"):
        inclusion_proof(index, size, naive)
    with pytest.raises(ValueError, match="no beginning"):
        consistency_proof(size + 1, size, naive)
