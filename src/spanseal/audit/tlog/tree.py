"""A growing tree: what must be kept to append, its root, and the tiles that change. Pure; imports tlog only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from spanseal.audit.tlog.hashes import EMPTY_ROOT, HASH_SIZE, node_hash, root_hash
from spanseal.audit.tlog.tiles import FULL, TileName, split_tile
from spanseal.errors import FormatError

ReadTile = Callable[[TileName], bytes]
"""Gives a tile's bytes: exactly ``width`` hashes (from the full tile's front where only that one is left)."""


class Frontier:
    """The right edge of a tree: one hash per perfect subtree, largest first. Enough to append and to know the root.

    >>> edge = Frontier()
    >>> for n in range(5):
    ...     edge.add(bytes([n]) * 32)
    >>> edge.size, len(edge.edge)
    (5, 2)
    >>> Frontier(edge.size, edge.edge).root() == edge.root()
    True

    Raises :class:`FormatError` if the number of hashes does not fit the size.
    """

    def __init__(self, size: int = 0, edge: Iterable[bytes] = ()) -> None:
        self._edge = list(edge)
        self.size = size
        if size < 0 or len(self._edge) != size.bit_count() or any(len(part) != HASH_SIZE for part in self._edge):
            raise FormatError(f"a tree of {size} leaves has another number of edge hashes, of {HASH_SIZE} bytes each")

    @property
    def edge(self) -> tuple[bytes, ...]:
        """The hashes to keep: as many as ``size`` has bits set."""
        return tuple(self._edge)

    def add(self, leaf: bytes) -> None:
        """Append one leaf hash."""
        edge, rest = self._edge, self.size
        while rest & 1:
            leaf = node_hash(edge.pop(), leaf)
            rest >>= 1
        edge.append(leaf)
        self.size += 1

    def root(self) -> bytes:
        """The root of the tree so far; the hash of nothing for an empty one."""
        return fold(self._edge)


def fold(edge: Iterable[bytes]) -> bytes:
    """The root over the perfect subtrees of a right edge, largest first."""
    root = b""
    for part in reversed(tuple(edge)):
        root = node_hash(part, root) if root else part
    return root or EMPTY_ROOT


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile to write: its name and its bytes."""

    name: TileName
    data: bytes


class _Level:
    """The last, unfinished tile of one level."""

    def __init__(self) -> None:
        self.index = 0
        self.hashes: list[bytes] = []
        self.edge = Frontier()

    def add(self, part: bytes) -> None:
        self.hashes.append(part)
        self.edge.add(part)

    def tile(self, depth: int) -> Tile:
        return Tile(TileName(depth, self.index, len(self.hashes)), b"".join(self.hashes))


class Tree:
    """A tree that grows and says which tiles to write: its state is the unfinished tile of every level.

    >>> tree = Tree()
    >>> [tile.name.path for tile in tree.grow([bytes(32)] * 300)]
    ['tile/0/000', 'tile/0/001.p/44', 'tile/1/000.p/1']
    >>> [tile.name.path for tile in tree.grow([bytes(32)])]
    ['tile/0/001.p/45']
    """

    def __init__(self) -> None:
        self._levels: list[_Level] = [_Level()]
        self.size = 0

    def grow(self, leaves: Iterable[bytes]) -> list[Tile]:
        """Append leaf hashes; every tile whose bytes changed: the full ones, then the partial ones, by level."""
        full: list[Tile] = []
        touched: set[int] = set()
        for leaf in leaves:
            self.size += 1
            self._add(0, leaf, full, touched)
        levels = enumerate(self._levels)
        return full + [level.tile(depth) for depth, level in levels if depth in touched and level.hashes]

    def _add(self, depth: int, part: bytes, full: list[Tile], touched: set[int]) -> None:
        if depth == len(self._levels):
            self._levels.append(_Level())
        level = self._levels[depth]
        level.add(part)
        touched.add(depth)
        if len(level.hashes) == FULL:
            full.append(level.tile(depth))
            self._add(depth + 1, level.edge.root(), full, touched)
            level.index, level.hashes, level.edge = level.index + 1, [], Frontier()

    def root(self) -> bytes:
        """The root of the tree so far."""
        return fold(self.edge)

    @property
    def edge(self) -> tuple[bytes, ...]:
        """The right edge, as :class:`Frontier` keeps it."""
        return tuple(part for level in reversed(self._levels) for part in level.edge.edge)

    @classmethod
    def from_tiles(cls, size: int, read_tile: ReadTile) -> Tree:
        """The tree of ``size`` leaves from the tiles at its right edge. Raises :class:`FormatError` on a wrong tile.

        The tiles are believed: compare :meth:`root` with a signed head.
        """
        tree = cls()
        tree.size = size
        depth = 0
        while size >> (8 * depth):
            if depth:
                tree._levels.append(_Level())
            level = tree._levels[depth]
            level.index, width = divmod(size >> (8 * depth), FULL)
            if width:
                name = TileName(depth, level.index, width)
                for part in split_tile(read_tile(name), width):
                    level.add(part)
            depth += 1
        return tree


def tile_root(data: bytes, width: int = FULL) -> bytes:
    """The hash that a tile contributes one level of tiles up; only full tiles do."""
    return root_hash(split_tile(data, width))
