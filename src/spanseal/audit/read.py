"""Reads a store: spans in the order of their leaves, with content as far as keys are there; original lines whole.

Verify first (``verify_store``): this reader checks each frame against its batch leaf, not the log against its head.
May import the modules of audit.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from spanseal.audit.content_keys import ContentKeys
from spanseal.audit.leaf import KIND_REDACTION, RedactionLeaf, SpanLeaf, decode_leaf
from spanseal.audit.read_frame import OpenFrame
from spanseal.audit.segment import HEADER, LINE_UNPARSABLE, decode_header
from spanseal.audit.segment_slices import ContentKeyMismatchError, split_context
from spanseal.audit.store_names import CHECKPOINT
from spanseal.audit.store_scan import PlacedFrame, read_frames, segment_first, segments_of
from spanseal.audit.tlog.checkpoint import Checkpoint
from spanseal.audit.tlog.note import Note
from spanseal.errors import NotAStoreError

Content = Literal["open", "withheld", "erased", "missing"]
_HELD: Final = 8


@dataclass(frozen=True, slots=True)
class StoredSpan:
    """A sealed span. ``raw``, ``resource`` and ``scope`` are raw JSON.

    ``content``: *open* (everything is exact), *withheld* (no content keys were given, or not this one), *erased* (a
    sealed redaction says so), *missing* (the key is gone and nothing says why). Unless open, private values in
    ``raw`` are placeholders, ``resource`` and ``scope`` are empty and ``complete`` is false.
    """

    leaf_index: int
    trace_id: str
    span_id: str
    run_id: str
    raw: bytes
    resource: bytes
    scope: bytes
    resource_schema_url: bytes
    scope_schema_url: bytes
    complete: bool
    content: Content
    conflict: bool
    sealed_at: int


@dataclass(frozen=True, slots=True)
class StoredLine:
    """An input line: its place, and its exact bytes, or None where a key that it needs is not there."""

    source: str
    start: int
    end: int
    raw: bytes | None


class StoreReader:
    """Reads what the published head covers (or the first ``size`` leaves).

    Raises NotAStoreError for another folder or a store without a head, FormatError for damage.
    """

    def __init__(self, root: str | Path, content_keys: ContentKeys | None = None, *, size: int | None = None) -> None:
        self.root = Path(root)
        self._content_keys = content_keys
        self._segments = segments_of(self.root)
        self._firsts = [segment_first(path.name) or 0 for path in self._segments]
        self._tables: OrderedDict[Path, list[tuple[int, int]]] = OrderedDict()
        self._frames: OrderedDict[int, OpenFrame] = OrderedDict()
        self._erased: frozenset[str] | None = None
        self.size = _signed_size(self.root) if size is None else size

    def spans(self) -> Iterator[StoredSpan]:
        """Every span once, in the order it was sealed; one frame in memory at a time."""
        for frame in self._open_frames():
            for at, leaf in enumerate(frame.leaves):
                if isinstance(leaf, SpanLeaf):
                    yield self._span(frame, at, leaf)

    def span_at(self, leaf_index: int) -> StoredSpan | None:
        """The span of one leaf; None if the leaf is of another kind or not there."""
        frame = self._frame_of(leaf_index)
        leaf = frame.leaves[leaf_index - frame.frame.first] if frame is not None else None
        if frame is None or not isinstance(leaf, SpanLeaf):
            return None
        return self._span(frame, leaf_index - frame.frame.first, leaf)

    def lines(self) -> Iterator[StoredLine]:
        """The original input lines (without line feeds that had been taken off), in the order they were sealed."""
        for frame in self._open_frames():
            ranges = _ranges(frame)
            for number, line in enumerate(frame.body.lines):
                yield StoredLine(ranges[line.range], line.start, line.end, self.line_raw(frame, number))

    def line_raw(self, frame: OpenFrame, number: int) -> bytes | None:
        """Line ``number`` of a frame put together again; duplicates are fetched from where they were sealed first."""
        line = frame.body.lines[number]
        if line.state == LINE_UNPARSABLE:
            slices = frame.slices(line.leaves[0] - frame.frame.first)
            return slices[0] if slices is not None else None
        glue = frame.glue(number)
        if glue is None:
            return None
        parts = [glue[0]]
        for leaf_index, piece in zip(line.leaves, glue[1:], strict=True):
            raw = self._raw_of(frame, leaf_index)
            if raw is None:
                return None
            parts += (raw, piece)
        return b"".join(parts)

    def open_frame(self, placed: PlacedFrame) -> OpenFrame:
        """A frame with its content openable by this reader's keys."""
        return OpenFrame(placed.frame, self._key)

    def redacted(self) -> frozenset[str]:
        """The scopes that sealed redactions name."""
        if self._erased is None:
            self._erased = frozenset(
                leaf.scope
                for placed in self._placed()
                for entry in placed.frame.entries
                if entry[1] == KIND_REDACTION and isinstance(leaf := decode_leaf(entry), RedactionLeaf)
            )
        return self._erased

    def _span(self, frame: OpenFrame, at: int, leaf: SpanLeaf) -> StoredSpan:
        content: Content = "open"
        try:
            slices = frame.slices(at)
        except ContentKeyMismatchError:
            slices = None
        if slices is None:
            content = self._why_closed(leaf)
        context = split_context(slices[0]) if slices is not None else (b"", b"", b"", b"")
        return StoredSpan(
            leaf_index=frame.frame.first + at,
            trace_id=leaf.trace_id.hex(),
            span_id=leaf.span_id.hex(),
            run_id=leaf.scope.removeprefix("run:") if leaf.scope.startswith("run:") else "",
            raw=frame.raw(at, slices),
            resource=context[0],
            scope=context[1],
            resource_schema_url=context[2],
            scope_schema_url=context[3],
            complete=slices is not None,
            content=content,
            conflict=leaf.conflict,
            sealed_at=frame.batch.time,
        )

    def _why_closed(self, leaf: SpanLeaf) -> Content:
        if not leaf.has_content or (self._content_keys is not None and leaf.scope in self.redacted()):
            return "erased"
        if self._content_keys is None or not self._content_keys.whole:
            return "withheld"
        return "missing"

    def _key(self, scope: str) -> bytes | None:
        return self._content_keys.key_for(scope) if self._content_keys is not None else None

    def _raw_of(self, frame: OpenFrame, leaf_index: int) -> bytes | None:
        if not frame.frame.first <= leaf_index < frame.frame.end:
            other = self._frame_of(leaf_index)
            if other is None:
                return None
            frame = other
        at = leaf_index - frame.frame.first
        slices = frame.slices(at) if isinstance(frame.leaves[at], SpanLeaf) else None
        return frame.raw(at, slices) if slices is not None else None

    def _placed(self) -> Iterator[PlacedFrame]:
        for path in self._segments:
            for placed in read_frames(path):
                if placed.frame.end > self.size:
                    return
                yield placed

    def _open_frames(self) -> Iterator[OpenFrame]:
        for placed in self._placed():
            yield self.open_frame(placed)

    def _frame_of(self, leaf_index: int) -> OpenFrame | None:
        segment = bisect_right(self._firsts, leaf_index) - 1
        if segment < 0 or leaf_index >= self.size:
            return None
        table = self._table(self._segments[segment])
        place = bisect_right(table, (leaf_index, 1 << 62)) - 1
        if place < 0:
            return None
        first, offset = table[place]
        frame = self._frames.get(first)
        if frame is None:
            frame = self.open_frame(next(read_frames(self._segments[segment], offset)))
            self._frames[first] = frame
            if len(self._frames) > _HELD:
                self._frames.popitem(last=False)
        self._frames.move_to_end(first)
        return frame if leaf_index < frame.frame.end else None

    def _table(self, path: Path) -> list[tuple[int, int]]:
        """(first leaf, offset) of each frame of a segment, by its headers alone."""
        table = self._tables.get(path)
        if table is None:
            table = list[tuple[int, int]]()
            with path.open("rb") as file:
                size, offset = path.stat().st_size, 0
                while offset + HEADER.size + 8 <= size:
                    file.seek(offset)
                    head = file.read(HEADER.size + 8)
                    length, _ = decode_header(head[: HEADER.size])
                    table.append((int.from_bytes(head[HEADER.size :]), offset))
                    offset += HEADER.size + length
            self._tables[path] = table
            if len(self._tables) > _HELD:
                self._tables.popitem(last=False)
        return table


def _signed_size(root: Path) -> int:
    path = root / CHECKPOINT
    if not path.is_file():
        raise NotAStoreError(f"{root} has no {CHECKPOINT}: nothing in it is sealed yet")
    return Checkpoint.parse(Note.parse(path.read_bytes()).text).size


def _ranges(frame: OpenFrame) -> list[str]:
    return [item.source for item in frame.batch.ranges]
