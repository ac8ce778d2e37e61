"""Inclusion and consistency proofs: made from subtree hashes, checked as in RFC 9162 2.1.3.2 and 2.1.4.2. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from spanseal.audit.tlog.hashes import EMPTY_ROOT, node_hash, root_hash
from spanseal.audit.tlog.tiles import FULL, TileName, split_tile
from spanseal.audit.tlog.tree import ReadTile, fold

Subtree = Callable[[int, int], bytes]
"""The hash over the leaves from ``start`` up to ``end``, where the part is one that the tree's shape has."""


class TileHashes:
    """Subtree hashes of a log of ``size`` leaves, out of its tiles. Each tile is read once.

    Believes what ``read_tile`` gives: compare :meth:`root` with a signed head, or check the proofs made from here.
    Calls raise :class:`~spanseal.errors.FormatError` for a tile of the wrong length.
    """

    def __init__(self, size: int, read_tile: ReadTile) -> None:
        self.size = size
        self._read_tile = read_tile
        self._tiles: dict[tuple[int, int], list[bytes]] = {}

    def root(self) -> bytes:
        """The root of the whole tree."""
        return self.subtree(0, self.size) if self.size else EMPTY_ROOT

    def leaf(self, index: int) -> bytes:
        """The leaf hash at ``index``."""
        return self._perfect(index, 1)

    def subtree(self, start: int, end: int) -> bytes:
        """The hash over leaves ``start`` to ``end`` (not included), a part that the tree of some size has."""
        parts: list[bytes] = []
        while start < end:
            count = 1 << ((end - start).bit_length() - 1)
            parts.append(self._perfect(start, count))
            start += count
        return fold(parts)

    def _perfect(self, start: int, count: int) -> bytes:
        """The hash of a perfect, aligned subtree of ``count`` leaves, a power of two."""
        level = (count.bit_length() - 1) // 8
        first, width = start >> (8 * level), count >> (8 * level)
        hashes = self._tile(level, first // FULL)
        return root_hash(hashes[first % FULL : first % FULL + width])

    def _tile(self, level: int, index: int) -> list[bytes]:
        known = self._tiles.get((level, index))
        if known is None:
            width = min(FULL, (self.size >> (8 * level)) - index * FULL)
            known = split_tile(self._read_tile(TileName(level, index, width)), width)
            self._tiles[level, index] = known
        return known


def inclusion_proof(index: int, size: int, subtree: Subtree) -> list[bytes]:
    """The sibling hashes from the leaf at ``index`` up to the root of a tree of ``size`` (RFC 9162 2.1.3.1).

    Raises ValueError unless ``0 <= index < size``; the caller is at fault.
    """
    if not 0 <= index < size:
        raise ValueError(f"leaf {index} is not in a tree of {size}")
    start, end, proof = 0, size, list[bytes]()
    while end - start > 1:
        middle = start + _split(end - start)
        if index < middle:
            proof.append(subtree(middle, end))
            end = middle
        else:
            proof.append(subtree(start, middle))
            start = middle
    return proof[::-1]


def consistency_proof(old: int, new: int, subtree: Subtree) -> list[bytes]:
    """The hashes that show a tree of ``new`` leaves to continue one of ``old`` (RFC 9162 2.1.4.1).

    Empty for ``old`` 0 or equal sizes. Raises ValueError unless ``0 <= old <= new``; the caller is at fault.
    """
    if not 0 <= old <= new:
        raise ValueError(f"a tree of {old} leaves is no beginning of one of {new}")
    if old in (0, new):
        return []
    start, end, known, proof = 0, new, True, list[bytes]()
    while old != end:
        middle = start + _split(end - start)
        if old <= middle:
            proof.append(subtree(middle, end))
            end = middle
        else:
            proof.append(subtree(start, middle))
            start, known = middle, False
    return (proof if known else [*proof, subtree(start, end)])[::-1]


def inclusion_holds(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """Whether the proof leads from the leaf hash at ``index`` to ``root`` in a tree of ``size``.

    >>> left, right = b"l" * 32, b"r" * 32
    >>> inclusion_holds(left, 0, 2, [right], node_hash(left, right)), inclusion_holds(left, 0, 2, [], left)
    (True, False)
    """
    if not 0 <= index < size:
        return False
    position, last, found = index, size - 1, leaf
    for part in proof:
        if last == 0:
            return False
        if position & 1 or position == last:
            found = node_hash(part, found)
            while not position & 1 and position:
                position, last = position >> 1, last >> 1
        else:
            found = node_hash(found, part)
        position, last = position >> 1, last >> 1
    return last == 0 and found == root


def consistency_holds(old: int, old_root: bytes, new: int, new_root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether the proof shows the tree of ``new`` leaves to begin with the tree of ``old``.

    Equal sizes need equal roots; the empty tree begins every tree.
    """
    if not 0 <= old <= new:
        return False
    if old == new:
        return not proof and old_root == new_root
    if old == 0:
        return not proof and old_root == EMPTY_ROOT
    path = list(proof)
    if not old & (old - 1):
        path.insert(0, old_root)
    if not path:
        return False
    position, last = old - 1, new - 1
    while position & 1:
        position, last = position >> 1, last >> 1
    return _walk(path, position, last) == (old_root, new_root)


def _walk(path: Sequence[bytes], position: int, last: int) -> tuple[bytes, bytes] | None:
    """The old and the new root that a consistency path leads to; None if it is too long or too short."""
    old = new = path[0]
    for part in path[1:]:
        if last == 0:
            return None
        if position & 1 or position == last:
            old, new = node_hash(part, old), node_hash(part, new)
            while not position & 1 and position:
                position, last = position >> 1, last >> 1
        else:
            new = node_hash(new, part)
        position, last = position >> 1, last >> 1
    return (old, new) if last == 0 else None


def _split(count: int) -> int:
    """The largest power of two below ``count``, which is at least 2."""
    return 1 << ((count - 1).bit_length() - 1)
