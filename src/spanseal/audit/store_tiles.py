"""Writes the tiles and entry bundles of a growing log (C2SP tlog-tiles), and checks them when a store is opened.

None of them needs a sync: all can be rebuilt from the segments. Imports ``tlog`` and ``store_disk``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from spanseal.audit.store_disk import Disk
from spanseal.audit.tlog.hashes import leaf_hash
from spanseal.audit.tlog.tiles import ENTRIES, FULL, TileName, bundle
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

    ``check`` is for opening: entries that lie in segments already. ``append`` is for new ones: their tiles are
    written by ``flush``, which may be called again after a failure.
    """

    def __init__(self, root: Path, disk: Disk) -> None:
        self._root = root
        self._disk = disk
        self._source = TileSource()
        self._edge: dict[tuple[int, int], Tile] = {}
        self._unwritten: dict[TileName, bytes] = {}
        self._superseded: list[Path] = []

    @property
    def size(self) -> int:
        return self._source.size

    def root(self) -> bytes:
        return self._source.root()

    def check(self, entries: Sequence[bytes]) -> list[str]:
        """Grow by stored entries; rewrite full tiles that are missing or different and name them."""
        repaired: list[str] = []
        for tile in self._source.grow(entries):
            place = (tile.name.level, tile.name.index)
            if tile.name.width == FULL:
                self._edge.pop(place, None)
                repaired += self._mend(tile)
            else:
                self._edge[place] = tile
        return repaired

    def check_edge(self) -> list[str]:
        """The same for the partial tiles at the right edge, after the last ``check``."""
        repaired = [name for tile in self._edge.values() for name in self._mend(tile)]
        self._edge.clear()
        return repaired

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

    def _mend(self, tile: Tile) -> list[str]:
        path = self._root / tile.name.path
        try:
            same = path.read_bytes() == tile.data
        except OSError:
            same = False
        if same:
            return []
        self._disk.write(path, tile.data)
        return [tile.name.path]
