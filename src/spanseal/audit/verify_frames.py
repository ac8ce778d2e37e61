"""Walks over all frames of a store, past damage: what cannot be read is named, its leaves come from the bundles.

So one changed byte is one finding, and everything behind it is still checked. Imports the format modules of audit.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from spanseal.audit.leaf import BatchLeaf, decode_leaf
from spanseal.audit.segment import HEADER, Frame, decode_header, decode_payload
from spanseal.audit.store_names import SEGMENTS
from spanseal.audit.store_scan import (
    FrameDamageError,
    PlacedFrame,
    next_whole_frame,
    read_at_most,
    read_frames,
    segment_first,
)
from spanseal.audit.tlog.tiles import ENTRIES, FULL, MAX_ENTRY, TileName, parse_bundle
from spanseal.audit.verify_named import ends_frame
from spanseal.audit.verify_report import Report
from spanseal.errors import FormatError


@dataclass(frozen=True, slots=True)
class Piece:
    """Leaves ``first``.. of the log; ``placed`` is their frame, None if they had to be taken from the bundles."""

    first: int
    entries: tuple[bytes, ...]
    placed: PlacedFrame | None

    @property
    def end(self) -> int:
        return self.first + len(self.entries)


class FrameWalk:
    """Iterates over :class:`Piece` values without a hole, as far as that is possible.

    ``signed`` is the number of leaves under the signed head. ``broken`` is set if leaves were missing everywhere.
    """

    def __init__(self, root: Path, segments: list[Path], signed: int, report: Report) -> None:
        self._root, self._segments, self._signed, self._report = root, segments, signed, report
        self._at = 0
        self.broken = False

    def __iter__(self) -> Iterator[Piece]:
        for number, path in enumerate(self._segments):
            following = self._segments[number + 1 :]
            until = (segment_first(following[0].name) or 0) if following else self._signed
            yield from self._segment(path, until, last=not following)
            if self.broken:
                return
        if self._at < self._signed:
            where = f"leaves {self._at} to {self._signed - 1}"
            self._report.add("size-shrunk", where, f"the segments hold {self._at}, {self._signed} are signed")
            yield from self._fill(self._signed)

    def _segment(self, path: Path, until: int, *, last: bool) -> Iterator[Piece]:
        offset, size = 0, path.stat().st_size
        if segment_first(path.name) != self._at:
            self._report.add("frame-missing", f"{SEGMENTS}/{path.name}", f"leaf {self._at} is due here")
        while offset < size and not self.broken:
            try:
                placed = next(read_frames(path, offset))
            except FrameDamageError as error:
                offset, first = next_whole_frame(path, offset) or (size, None)
                yield from self._damaged(path, error, first, until, last=last)
                continue
            offset = placed.end
            yield from self._whole(placed)

    def _whole(self, placed: PlacedFrame) -> Iterator[Piece]:
        where, frame = place(placed), placed.frame
        if frame.first < self._at:
            self._report.add("leaf-reordered", where, f"leaf {frame.first} stands where {self._at} is due")
            return
        if frame.first > self._at:
            self._report.add("frame-missing", where, f"leaves {self._at} to {frame.first - 1} are not before it")
            yield from self._fill(frame.first)
            if self.broken:
                return
        if frame.first < self._signed < frame.end:
            self._report.add("size-shrunk", where, f"the signed head ends inside this frame, at leaf {self._signed}")
        self._at = frame.end
        yield Piece(frame.first, frame.entries, placed)

    def _damaged(
        self, path: Path, error: FrameDamageError, first: int | None, until: int, *, last: bool
    ) -> Iterator[Piece]:
        end = until if first is None else first
        if self._at >= self._signed and last and first is None:
            self._report.add("torn-tail", f"{SEGMENTS}/{path.name}, byte {error.offset}", str(error))
            return
        self._describe(path, error)
        if end > self._at:
            yield from self._fill(end)

    def _describe(self, path: Path, error: FrameDamageError) -> None:
        """Name what of a damaged frame differs, as narrowly as the bundles allow."""
        name, offset = f"{SEGMENTS}/{path.name}", error.offset
        frame = _despite_crc(path, offset)
        if frame is None or frame.first != self._at:
            self._report.add("frame-malformed", f"{name}, byte {offset}, leaf {self._at}", str(error))
            return
        known = self._reference(frame.first, frame.end)
        position = offset + HEADER.size + 12
        found = False
        for number, entry in enumerate(frame.entries):
            if known is not None and entry != known[number]:
                where = f"{name}, bytes {position} to {position + len(entry) + 1}, leaf {frame.first + number}"
                self._report.add("leaf-changed", where)
                found = True
            position += 2 + len(entry)
        if found:
            return
        leaves = f"leaves {frame.first} to {frame.end - 1}"
        if _body_differs(frame):
            self._report.add("payload-changed", f"{name}, from byte {position}, {leaves}", "by its CRC and batch leaf")
        else:
            self._report.add("frame-changed", f"{name}, byte {offset + 8}, {leaves}", "its CRC-32 field")

    def _fill(self, end: int) -> Iterator[Piece]:
        """Leaves up to ``end`` from the bundles, so that the tree can go on."""
        while self._at < end:
            stop = min(end, (self._at // FULL + 1) * FULL)
            entries = self._reference(self._at, stop)
            if entries is None:
                self._report.add("leaf-removed", f"leaves {self._at} to {end - 1}", "no bundle has them either")
                self.broken = True
                return
            for part in _frame_by_frame(entries):
                piece = Piece(self._at, part, None)
                self._at = piece.end
                yield piece

    def _reference(self, first: int, end: int) -> tuple[bytes, ...] | None:
        """Leaves as the bundles have them; None if any is not there."""
        found: list[bytes] = []
        for index in range(first // FULL, (end - 1) // FULL + 1):
            entries = self._bundle(index)
            start, stop = max(first - index * FULL, 0), min(end - index * FULL, FULL)
            if len(entries) < stop:
                return None
            found += entries[start:stop]
        return tuple(found)

    def _bundle(self, index: int) -> tuple[bytes, ...]:
        path = self._root / TileName(ENTRIES, index).path
        candidates = [(FULL, path)] if path.is_file() else []
        partial = path.with_name(path.name + ".p")
        if partial.is_dir():
            candidates += [
                (int(item.name), item) for item in partial.iterdir() if item.name.isdecimal() and item.is_file()
            ]
        for width, item in sorted(candidates, reverse=True):
            try:
                return parse_bundle(read_at_most(item, FULL * (2 + MAX_ENTRY)), width)
            except (FormatError, OSError):
                continue
        return ()


def _frame_by_frame(entries: tuple[bytes, ...]) -> Iterator[tuple[bytes, ...]]:
    """Cut behind every batch leaf, where heads may have been published."""
    start = 0
    for at, entry in enumerate(entries, 1):
        if ends_frame(entry) or at == len(entries):
            yield entries[start:at]
            start = at


def place(placed: PlacedFrame) -> str:
    """Where a frame lies, for people."""
    last = placed.frame.end - 1
    return f"{SEGMENTS}/{placed.path.name}, byte {placed.offset}, leaves {placed.frame.first} to {last}"


def _despite_crc(path: Path, offset: int) -> Frame | None:
    with path.open("rb") as file:
        file.seek(offset)
        try:
            length, _ = decode_header(file.read(HEADER.size))
            payload = file.read(length)
            return decode_payload(payload, zlib.crc32(payload)) if len(payload) == length else None
        except FormatError:
            return None


def _body_differs(frame: Frame) -> bool:
    try:
        batch = decode_leaf(frame.entries[-1])
    except FormatError:
        return True
    return not isinstance(batch, BatchLeaf) or sha256(frame.body).digest() != batch.body
