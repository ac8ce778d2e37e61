"""Checks every tile and bundle against the leaves, and says whether the leaves or the tiles are the changed ones.

Imports ``tlog``, ``store_tiles`` and ``store_scan``.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spanseal.audit.segment_slices import common_prefix
from spanseal.audit.store_names import TILES
from spanseal.audit.store_scan import is_plain, read_at_most
from spanseal.audit.store_tiles import TileSource, edge_names, front
from spanseal.audit.tlog.hashes import HASH_SIZE
from spanseal.audit.tlog.tiles import ENTRIES, FULL, TileName, parse_path, split_tile
from spanseal.audit.tlog.tree import Tile, Tree
from spanseal.audit.verify_report import Report
from spanseal.errors import FormatError

_KEPT: Final = 1000


@dataclass(frozen=True, slots=True)
class _Difference:
    code: str
    where: str
    leaves: tuple[int, ...] = ()


class TileCheck:
    """Grows the tree by the leaves of the segments and compares what lies below ``tile/``.

    ``signed`` leaves are under the head: what they need must be there. What lies beyond must fit the unsigned frames.
    """

    def __init__(self, root: Path, signed: int, report: Report) -> None:
        self._root, self._signed, self._report = root, signed, report
        self._source = TileSource()
        self._edge: dict[tuple[int, int], Tile] = {}
        self._published: dict[tuple[int, int], set[int]] = {}
        self._differences: list[_Difference] = []
        self._counts: dict[int, int] = {}
        self._reach = self._look_around()

    @property
    def size(self) -> int:
        return self._source.size

    def root(self) -> bytes:
        return self._source.root()

    def add(self, entries: Sequence[bytes]) -> None:
        """The next leaves of the log."""
        for tile in self._source.grow(entries):
            place = (tile.name.level, tile.name.index)
            self._counts[tile.name.level] = tile.name.index * FULL + tile.name.width
            if tile.name.width == FULL:
                self._edge.pop(place, None)
                self._compare(tile)
            else:
                self._edge[place] = tile

    def published(self, size: int) -> None:
        """A head of this size was published: its partial tiles are to be there, or the full ones in their place."""
        for name in edge_names(size):
            self._published.setdefault((name.level, name.index), set()).add(name.width)

    def finish(self, signed_root: bytes | None, root_there: bytes | None) -> None:
        """Compare the edge, look for files that belong to no tile, and judge.

        ``root_there`` is the root that the leaves gave at the signed size, None if it was not reached.
        """
        for tile in self._edge.values():
            self._compare(tile)
        self._strangers()
        if signed_root is None or root_there == signed_root:
            for difference in self._differences:
                self._report.add(difference.code, difference.where)
        elif root_there is not None:
            self._blame_leaves(signed_root)

    def _blame_leaves(self, signed_root: bytes) -> None:
        """The leaves do not give the signed root: if the tiles do, they name the leaves that were changed."""
        changed = [leaf for item in self._differences if item.code == "tile-changed" for leaf in item.leaves]
        if self._root_of_tiles() != signed_root:
            self._report.add("root-mismatch", f"leaves 0 to {self._signed - 1}")
            for difference in self._differences:
                self._report.add(difference.code, difference.where)
            return
        for leaf in changed:
            self._report.add("leaf-changed", f"leaf {leaf}", "its tile has the hash that was signed")
        if not changed:
            self._report.add("root-mismatch", f"leaves 0 to {self._signed - 1}")

    def _root_of_tiles(self) -> bytes | None:
        tree = Tree()
        try:
            for index in range((self._signed + FULL - 1) // FULL):
                width = min(FULL, self._signed - index * FULL)
                name = TileName(0, index, width)
                path = self._root / name.path
                data = read_at_most(path if path.is_file() else self._root / name.full.path, FULL * HASH_SIZE)
                tree.grow(split_tile(data[: width * HASH_SIZE], width))
        except (OSError, FormatError):
            return None
        return tree.root()

    def _needed(self, name: TileName) -> int:
        """How many hashes or entries of this tile the signed head covers."""
        covered = (self._signed >> (8 * max(name.level, 0))) - name.index * FULL
        return max(0, min(FULL, covered))

    def _compare(self, tile: Tile) -> None:
        path = self._root / tile.name.full.path
        full = path.is_file()
        if full:
            self._same(tile.name.full, path, tile, FULL)
        widths: set[int] = set()
        folder = path.with_name(path.name + ".p")
        if folder.is_dir():
            for item in _names(folder):
                name = parse_path(item.relative_to(self._root).as_posix())
                if name is not None and name.width <= tile.name.width and item.is_file():
                    widths.add(name.width)
                    self._same(name, item, tile, name.width)
        needed = self._needed(tile.name)
        wanted = self._published.pop((tile.name.level, tile.name.index), set[int]()) | ({needed} - {0})
        if not full and not path.is_file():  # it is still not there
            bundle = tile.name.level == ENTRIES
            missing = sorted(width for width in wanted - widths if width <= needed)
            for width in missing:
                name = TileName(tile.name.level, tile.name.index, width)
                self._differ(_Difference("bundle-missing" if bundle else "tile-missing", name.path))

    def _same(self, name: TileName, path: Path, tile: Tile, width: int) -> None:
        expected = front(tile, width)
        try:
            data = read_at_most(path, len(expected))
        except FileNotFoundError:  # a sealer that goes on removes partial tiles once the full one is there
            return
        self._report.covered["tiles"] += 1
        if data == expected:
            return
        at = common_prefix(data, expected)
        if width > self._needed(name):
            self._differ(_Difference("write-interrupted", f"{name.path}, byte {at}"))
            return
        code = "bundle-changed" if name.level == ENTRIES else "tile-changed"
        leaves: tuple[int, ...] = ()
        if name.level == 0:
            leaves = tuple(
                name.index * FULL + number
                for number in range(width)
                if data[number * HASH_SIZE : (number + 1) * HASH_SIZE]
                != expected[number * HASH_SIZE : (number + 1) * HASH_SIZE]
            )
        self._differ(_Difference(code, f"{name.path}, byte {at}", leaves))

    def _differ(self, difference: _Difference) -> None:
        if len(self._differences) < _KEPT:
            self._differences.append(difference)

    def _look_around(self) -> dict[int, int]:
        """Name what is no tile at all; how far the tiles of each level reach. Before the frames are read, so that
        whatever a sealer adds meanwhile reaches less far than they."""
        reach: dict[int, int] = {}
        for path in files_below(self._root / TILES):
            name = parse_path(path.relative_to(self._root).as_posix())
            if name is None or not is_plain(path):
                if os.path.lexists(path):  # else a sealer removed it: the full tile is there
                    self._report.add("unknown-file", path.relative_to(self._root).as_posix())
            else:
                reach[name.level] = max(reach.get(name.level, 0), name.index * FULL + name.width)
        return reach

    def _strangers(self) -> None:
        """Name tiles that lie beyond all leaves."""
        if all(count <= self._counts.get(level, 0) for level, count in self._reach.items()):
            return
        for path in files_below(self._root / TILES):
            relative = path.relative_to(self._root).as_posix()
            name = parse_path(relative)
            if name is not None and name.index * FULL + name.width > self._counts.get(name.level, 0):
                self._report.add("unknown-file", relative)


def _names(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except FileNotFoundError:
        return []


def files_below(folder: Path) -> Iterator[Path]:
    """Everything below a folder that is no folder itself, links not followed."""
    if not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            yield from files_below(path)
        else:
            yield path
