"""Names of tiles and bytes of entry bundles (C2SP tlog-tiles). Pure; imports errors.

::

    tile/<L>/<N>[.p/<W>]         hashes of level 8*L, 256 x 32 bytes, or W of them at the right edge
    tile/entries/<N>[.p/<W>]     (u16be length || entry), 256 or W of them

N is written in groups of three digits, all but the last with an ``x`` in front: 1234067 is ``x001/x234/067``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from spanseal.audit.tlog.hashes import HASH_SIZE
from spanseal.errors import FormatError

FULL = 256
MAX_LEVEL = 63
MAX_ENTRY = 65_535
ENTRIES = -1
"""The level of an entry bundle in a :class:`TileName`."""
_PATH = re.compile(r"tile/(entries|0|[1-9][0-9]?)/((?:x[0-9]{3}/)*)([0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class TileName:
    """Which tile: ``level`` 0..63 or :data:`ENTRIES`, ``index`` from 0, ``width`` 1..256 hashes or entries.

    >>> TileName(0, 1234067, 256).path
    'tile/0/x001/x234/067'
    >>> TileName(ENTRIES, 5, 17).path
    'tile/entries/005.p/17'
    """

    level: int
    index: int
    width: int = FULL

    @property
    def path(self) -> str:
        """The path below the log's root, with forward slashes."""
        groups = [f"{self.index % 1000:03d}"]
        rest = self.index // 1000
        while rest:
            groups.insert(0, f"x{rest % 1000:03d}")
            rest //= 1000
        level = "entries" if self.level == ENTRIES else str(self.level)
        partial = "" if self.width == FULL else f".p/{self.width}"
        return f"tile/{level}/{'/'.join(groups)}{partial}"

    @property
    def full(self) -> TileName:
        """The name of the full tile at this place, which may stand for a partial one."""
        return TileName(self.level, self.index)


def parse_path(path: str) -> TileName | None:
    """The tile that a path names, or None if it is not exactly a name that :attr:`TileName.path` writes.

    >>> parse_path("tile/1/x001/002"), parse_path("tile/1/x000/002")
    (TileName(level=1, index=1002, width=256), None)
    """
    found = _PATH.fullmatch(path)
    if not found:
        return None
    level, groups, last, width = found.groups()
    index = int(groups.replace("x", "").replace("/", "") + last)
    name = TileName(ENTRIES if level == "entries" else int(level), index, int(width) if width else FULL)
    return name if name.level <= MAX_LEVEL and name.width <= FULL and name.path == path else None


def width_at(size: int, level: int) -> int:
    """How many hashes the last, partial tile of a level has at a tree size; 0 where every tile is full."""
    return (size >> (8 * max(level, 0))) % FULL


def tile_names(size: int) -> Iterator[TileName]:
    """Every hash tile that a tree of ``size`` needs, partial ones at the right edge included.

    >>> [name.path for name in tile_names(70_000) if name.index > 272 or name.level]
    ['tile/0/273.p/112', 'tile/1/000', 'tile/1/001.p/17', 'tile/2/000.p/1']
    """
    level = 0
    while size >> (8 * level):
        yield from _row(level, size >> (8 * level))
        level += 1


def bundle_names(size: int) -> Iterator[TileName]:
    """Every entry bundle of a log of ``size`` entries."""
    return _row(ENTRIES, size)


def _row(level: int, count: int) -> Iterator[TileName]:
    yield from (TileName(level, index) for index in range(count // FULL))
    if count % FULL:
        yield TileName(level, count // FULL, count % FULL)


def bundle(entries: Sequence[bytes]) -> bytes:
    """The bytes of an entry bundle.

    >>> bundle([b"ab", b""])
    b'\\x00\\x02ab\\x00\\x00'

    Raises ValueError if there are more than 256 entries or one is over 65,535 bytes; the caller is at fault.
    """
    if len(entries) > FULL or any(len(entry) > MAX_ENTRY for entry in entries):
        raise ValueError("a bundle holds at most 256 entries of at most 65,535 bytes")
    return b"".join([len(entry).to_bytes(2, "big") + entry for entry in entries])


def parse_bundle(data: bytes, width: int) -> tuple[bytes, ...]:
    """The ``width`` entries of a bundle. Raises :class:`FormatError` unless exactly that many fill the bytes."""
    entries: list[bytes] = []
    at = 0
    while at < len(data):
        end = at + 2 + int.from_bytes(data[at : at + 2], "big")
        if at + 2 > len(data) or end > len(data):
            raise FormatError(f"entry bundle ends inside its entry {len(entries)}, at byte {at}")
        entries.append(data[at + 2 : end])
        at = end
    if len(entries) != width:
        raise FormatError(f"entry bundle has {len(entries)} entries, not {width}")
    return tuple(entries)


def split_tile(data: bytes, width: int) -> list[bytes]:
    """The ``width`` hashes of a tile. Raises :class:`FormatError` if the length is another one."""
    if len(data) != width * HASH_SIZE:
        raise FormatError(f"tile has {len(data)} bytes, not {width} hashes of {HASH_SIZE}")
    return [data[at : at + HASH_SIZE] for at in range(0, len(data), HASH_SIZE)]
