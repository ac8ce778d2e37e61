"""What a writer finds when it opens a store: the crash table. Decides, and repairs only what was never signed.

=======================================  ==========================================================================
found                                    done
=======================================  ==========================================================================
nothing, or only a torn first frame      a new log: the frame with leaf 0 is written
torn last frame (length or CRC is off)   never signed: cut off; its input is read again
whole frames beyond the signed head      kept: they are signed and published
tiles or bundles missing or different    rebuilt from the segments, whose root is the signed one
history without its last head, or with   the head is put there
holes in it (power loss)
history with a head newer than the head  STOP: an older head was put back
history without a head that a batch      STOP: an entry was taken out; a crash takes the last one at most, which is
names                                    the head
head larger than the frames, other root  STOP: storage was lost or changed; never signed again
a whole frame with wrong content         STOP
=======================================  ==========================================================================

Imports the format modules of audit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from spanseal.audit.leaf import BatchLeaf, KeyEventLeaf, decode_leaf, scopes_of
from spanseal.audit.store_names import CHECKPOINT, HISTORY
from spanseal.audit.store_scan import (
    FrameDamageError,
    PlacedFrame,
    next_whole_frame,
    read_frames,
    read_history,
    segment_first,
    segments_of,
)
from spanseal.audit.store_tiles import TileWriter
from spanseal.audit.tlog.checkpoint import Checkpoint
from spanseal.audit.tlog.note import Note
from spanseal.errors import FormatError, StoreStoppedError


@dataclass(slots=True)
class Recovered:
    """The state a store was found in. ``torn`` is where to cut the last segment off, if its last frame is torn."""

    tiles: TileWriter
    head: Checkpoint | None = None
    head_note: bytes = b""
    opening: KeyEventLeaf | None = None
    positions: dict[str, int] = field(default_factory=dict[str, int])
    named: dict[int, int] = field(default_factory=dict[int, int])
    """Sizes of the heads that batch leaves name, and the first leaf that does."""
    scopes: set[str] = field(default_factory=set[str])
    """Scopes with content in the store: their keys exist already, or are lost."""
    segment: Path | None = None
    torn: tuple[Path, int] | None = None
    index_at: int = -1
    """The size at which the index's root was met, -1 if it never was: then it is of another tree."""


def stop(root: Path, found: str) -> StoreStoppedError:
    """The error for a store that must not be written: what was found, and that evidence is to be kept."""
    return StoreStoppedError(
        f"{root}: {found}. Nothing was changed or signed. Keep this folder as it is, run `spanseal verify` on it, "
        "and restore the lost data from a copy, or begin a new store"
    )


def recover(root: Path, tiles: TileWriter, index: tuple[int, bytes]) -> Recovered:
    """Read a store's segments and head; StoreStoppedError if it must not be written. Changes nothing.

    ``index`` is the size and root that the index claims to be of.
    """
    found = Recovered(tiles)
    _read_head(root, found)
    signed = found.head.size if found.head else 0
    for placed in _frames(root, found):
        entries = placed.frame.entries
        if placed.frame.first != tiles.size:
            raise stop(root, f"{placed.path.name} holds leaf {placed.frame.first} where {tiles.size} is due")
        if tiles.size == 0:
            found.opening = _opening(root, entries)
        _batch(root, placed, found)
        found.scopes.update(scopes_of(entries))
        tiles.check(entries)
        if tiles.size == index[0] and tiles.root() == index[1]:
            found.index_at = tiles.size
        if found.head and tiles.size == signed and tiles.root() != found.head.root:
            raise stop(root, f"the frames up to leaf {signed} have another root than the signed head")
        if found.head and tiles.size > signed > placed.frame.first:
            raise stop(root, f"the signed head ({signed} leaves) ends inside the frame at leaf {placed.frame.first}")
    if tiles.size < signed:
        raise stop(root, f"the signed head covers {signed} leaves, the segments hold {tiles.size}")
    return found


@dataclass(frozen=True, slots=True)
class HistoryState:
    """The sizes of all published heads; how much of the file to keep, and what to append to end it with the head."""

    sizes: tuple[int, ...]
    keep: int
    append: bytes
    whole: bool


def read_history_state(root: Path, found: Recovered) -> HistoryState:
    """Follow the history of heads; StoreStoppedError if it is damaged or holds a newer head than the checkpoint."""
    path = root / HISTORY
    length = path.stat().st_size if path.exists() else 0
    end, last = 0, b""
    sizes: list[int] = []
    try:
        for entry in read_history(path) if length else ():
            if not entry.complete:
                break
            after = entry.offset + len(entry.note) + 1
            try:
                sizes.append(Checkpoint.parse(Note.parse(entry.note).text).size)
            except FormatError:
                if after < length:  # a power loss leaves holes only in what was written last
                    raise
                break
            end, last = after, entry.note
    except FormatError as error:
        raise stop(root, f"{HISTORY} is damaged at byte {end} ({error})") from error
    lost = min(found.named.keys() - {0, found.head.size if found.head else 0, *sizes}, default=0)
    if lost:
        raise stop(root, f"the history of heads lacks the one of {lost} leaves, which leaf {found.named[lost]} names")
    if last == found.head_note:
        return HistoryState(tuple(sizes), end, b"", whole=length == end)
    if sizes and found.head and sizes[-1] >= found.head.size:
        raise stop(root, "the history of heads does not end with the checkpoint: an older or another one was put back")
    return HistoryState(tuple(sizes), end, found.head_note + b"\n", whole=False)


def _read_head(root: Path, found: Recovered) -> None:
    path = root / CHECKPOINT
    if not path.exists():
        if (root / HISTORY).exists():
            raise stop(root, f"{HISTORY} is there but {CHECKPOINT} is not")
        return
    found.head_note = path.read_bytes()
    try:
        found.head = Checkpoint.parse(Note.parse(found.head_note).text)
    except FormatError as error:
        raise stop(root, f"the signed head {CHECKPOINT} is damaged ({error})") from error


def stored_entries(root: Path, size: int) -> Iterator[tuple[bytes, ...]]:
    """All entries again, frame by frame, up to ``size``."""
    for path in segments_of(root):
        for placed in read_frames(path):
            yield placed.frame.entries
            if placed.frame.end >= size:
                return


def _frames(root: Path, found: Recovered) -> Iterator[PlacedFrame]:
    segments = segments_of(root)
    for path in segments:
        found.segment = path
        if segment_first(path.name) != found.tiles.size:
            raise stop(root, f"segment {path.name} does not begin with leaf {found.tiles.size}")
        try:
            yield from read_frames(path)
        except FrameDamageError as error:
            if path != segments[-1] or next_whole_frame(path, error.offset):
                raise stop(root, f"{path.name}, byte {error.offset}: {error}") from error
            found.torn = (path, error.offset)


def _opening(root: Path, entries: tuple[bytes, ...]) -> KeyEventLeaf:
    try:
        leaf = decode_leaf(entries[0])
    except FormatError as error:
        raise stop(root, f"leaf 0 cannot be read ({error})") from error
    if not isinstance(leaf, KeyEventLeaf):
        raise stop(root, "leaf 0 is not the key event that opens a log")
    return leaf


def _batch(root: Path, placed: PlacedFrame, found: Recovered) -> None:
    try:
        batch = decode_leaf(placed.frame.entries[-1])
    except FormatError as error:
        raise stop(root, f"{placed.path.name}, byte {placed.offset}: batch leaf cannot be read ({error})") from error
    if isinstance(batch, BatchLeaf):
        found.named.setdefault(batch.head_size, placed.frame.end - 1)
        for item in batch.ranges:
            found.positions[item.source] = item.end
