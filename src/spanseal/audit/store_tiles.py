"""Writes the tiles and entry bundles of a growing log (C2SP tlog-tiles), and checks them when a store is opened.

None of them needs a sync: all can be rebuilt from the segments. Imports ``tlog`` and ``store_disk``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from spanseal.audit.store_disk import Disk
from spanseal.audit.tlog.hashes import HASH_SIZE, leaf_hash
from spanseal.audit.tlog.tiles import ENTRIES, FULL, TileName, bundle, width_at
from spanseal.audit.tlog.tree import Tile, Tree


class TileSource:
    """Grows a tree by entries and gives the tiles and bundles that changed, full ones first."""

    def __init__(self) -> None:
        self._tree = Tree()
        self._bundle: list[bytes] = []
        self.leaf_hashes: list[bytes] = []
        """Hashes of the entries added last."""

    @property
    def size(self) -> int:
        return self._tree.size

    def root(self) -> bytes:
        return self._tree.root()

    def grow(self, entries: Sequence[bytes]) -> list[Tile]:
        """Append entries; every tile and bundle whose bytes changed."""
        first = self._tree.size // FULL
        self.leaf_hashes = [leaf_hash(entry) for entry in entries]
        tiles = self._tree.grow(self.leaf_hashes)
        self._bundle += entries
        while len(self._bundle) >= FULL:
            tiles.insert(0, Tile(TileName(ENTRIES, first), bundle(self._bundle[:FULL])))
            del self._bundle[:FULL]
            first += 1
        if self._bundle:
            tiles.append(Tile(TileName(ENTRIES, first, len(self._bundle)), bundle(self._bundle)))
        return tiles


class TileWriter:
    """Keeps the tiles below ``root`` in step with the tree.

    ``check`` and ``mend`` are for opening: entries that lie in segments already. ``append`` is for new ones: their
    tiles are written by ``flush``, which may be called again after a failure.
    """

    def __init__(self, root: Path, disk: Disk) -> None:
        self._root = root
        self._disk = disk
        self._source = TileSource()
        self._edge: dict[tuple[int, int], Tile] = {}
        self._wrong: set[TileName] = set()
        self._unwritten: dict[TileName, bytes] = {}
        self._superseded: list[Path] = []

    @property
    def size(self) -> int:
        return self._source.size

    def root(self) -> bytes:
        return self._source.root()

    def check(self, entries: Sequence[bytes]) -> None:
        """Grow by stored entries; changes no file, only notes which full tiles are missing or different."""
        for tile in self._source.grow(entries):
            place = (tile.name.level, tile.name.index)
            if tile.name.width == FULL:
                self._edge.pop(place, None)
                self._look(tile.name, tile.data)
                self._superseded.append(self._root / (tile.name.path + ".p"))
                del self._superseded[:-FULL]  # older ones were removed when they were new
            else:
                self._edge[place] = tile

    def mend(self, published: Iterable[int], stored: Iterable[Sequence[bytes]]) -> tuple[str, ...]:
        """After the last ``check``, when the root is known to be right: rewrite what is missing or different.

        ``published`` are the sizes of all heads: the partial tiles at today's edge that they need are looked at too.
        ``stored`` gives all entries again, and is only asked if full tiles are to be made. Names what was rewritten.
        """
        again = TileSource()
        full = {name for name in self._wrong if name.width == FULL}
        if full:
            for entries in stored:
                for tile in again.grow(entries):
                    if tile.name in full:
                        self._disk.write(self._root / tile.name.path, tile.data)
        self._wrong.clear()
        for size in (*published, self.size):
            for name in edge_names(size):
                tile = self._edge.get((name.level, name.index))
                if tile is not None:
                    self._mend_partial(name, front(tile, name.width))
        self._edge.clear()
        mended = tuple(sorted(name.path for name in full | self._wrong))
        self._wrong.clear()
        return mended

    def _mend_partial(self, name: TileName, data: bytes) -> None:
        if name not in self._wrong and self._look(name, data):
            self._disk.write(self._root / name.path, data)

    def _look(self, name: TileName, data: bytes) -> bool:
        try:
            wrong = (self._root / name.path).read_bytes() != data
        except OSError:
            wrong = True
        if wrong:
            self._wrong.add(name)
        return wrong

    def append(self, entries: Sequence[bytes]) -> None:
        """Grow by new entries; nothing is written yet."""
        for tile in self._source.grow(entries):
            self._unwritten[tile.name] = tile.data
            if tile.name.width == FULL:
                self._superseded.append(self._root / (tile.name.path + ".p"))

    def flush(self) -> None:
        """Write what ``append`` changed; OSError if the disk is full, then call it again."""
        for name in list(self._unwritten):
            self._disk.write(self._root / name.path, self._unwritten[name])
            del self._unwritten[name]

    def tidy(self) -> None:
        """Remove partial tiles whose full tile is there; to be called after the head that needs it is published."""
        for folder in self._superseded:
            self._disk.remove_folder(folder)
        self._superseded.clear()


def edge_names(size: int) -> Iterator[TileName]:
    """The partial tiles and the partial bundle that a head of this size needs.

    >>> [name.path for name in edge_names(300)]
    ['tile/0/001.p/44', 'tile/entries/001.p/44', 'tile/1/000.p/1']
    """
    level = 0
    while size >> (8 * level):
        width, index = width_at(size, level), size >> (8 * level + 8)
        if width:
            yield TileName(level, index, width)
            if level == 0:
                yield TileName(ENTRIES, index, width)
        level += 1


def front(tile: Tile, width: int) -> bytes:
    """The bytes of a narrower tile or bundle at the same place."""
    if tile.name.level != ENTRIES:
        return tile.data[: width * HASH_SIZE]
    at = 0
    for _ in range(min(width, tile.name.width)):
        at += 2 + int.from_bytes(tile.data[at : at + 2])
    return tile.data[:at]
