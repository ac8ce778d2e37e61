"""Seals export lines: cut, recognise duplicates, commit, encrypt, append, sign. Durable and published on return.

Nothing blocks: a line that is no OTLP is sealed as raw bytes under a key of its own and acknowledged like any other.
May import audit, records and below.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from spanseal.audit.commitments import dedup_digest, scope_of
from spanseal.audit.leaf import MAX_RANGES, GapLeaf
from spanseal.audit.segment_build import FrameBuilder, IndexRow, skeleton_record
from spanseal.audit.store import StoreWriter
from spanseal.errors import OtlpError, UsageError
from spanseal.records.otlp import CutLine, CutSpan, cut_line
from spanseal.sealer.seal_limits import MAX_EXPANDED, expanded, sealable, worth_cutting

FRAME_BYTES: Final = 8 << 20
FRAME_LINES: Final = 4096
MAX_LINE: Final = 512 << 20


@dataclass(frozen=True, slots=True)
class InputLine:
    """One line of a source: ``raw`` are the bytes ``start``..``end`` of it, with or without their final line feed.

    ``source`` names the input for good (at most 255 bytes of UTF-8), so that sealing goes on where it ended;
    ``end - start`` is ``len(raw)``, or one more where the line feed was taken off.
    """

    source: str
    start: int
    end: int
    raw: bytes


@dataclass(frozen=True, slots=True)
class SealReport:
    """What one call sealed: new spans, duplicates skipped, unparsable lines; ``size`` of the log afterwards."""

    spans: int
    duplicates: int
    unparsable: int
    size: int


@dataclass(frozen=True, slots=True)
class _Cut:
    line: InputLine
    document: CutLine | None
    offset: int
    span_scopes: tuple[str, ...]
    scopes: tuple[str, ...]
    expanded: int = 0


class _Earlier:
    """What is sealed already under one span's ids: the oldest leaf of each content, and of each readable part."""

    __slots__ = ("contents", "readable")

    def __init__(self, rows: Iterable[IndexRow]) -> None:
        self.contents: dict[bytes, int] = {}
        self.readable: dict[bytes, int] = {}
        for row in rows:
            self.add(row)

    def add(self, row: IndexRow) -> None:
        self.readable.setdefault(row.skeleton, row.leaf)
        if row.digest:
            self.contents.setdefault(row.digest, row.leaf)


class Sealer:
    """The one way into a store. Not thread-safe: one thread seals (``group_commit`` collects for it)."""

    def __init__(self, writer: StoreWriter) -> None:
        self._writer = writer

    def seal(self, lines: Sequence[InputLine]) -> SealReport:
        """Seal ``lines``, in order; on return they are durable and under the published head.

        Raises StoreError if the disk is full (nothing of this call may be acknowledged; sealing it again is safe:
        what was stored is recognised), StoreStoppedError if the store may not be written any more, UsageError for
        lines whose offsets do not fit their bytes.
        """
        spans = duplicates = unparsable = 0
        for part in _parts(lines):
            new, again, bad = self._seal_frame(part)
            spans, duplicates, unparsable = spans + new, duplicates + again, unparsable + bad
        return SealReport(spans, duplicates, unparsable, self._writer.publish().size)

    def note_gap(self, source: str, start: int, end: int, reason: str) -> None:
        """Seal that bytes ``start``..``end`` of a source could not be read; published with the next head."""
        builder = self._writer.frame({})
        builder.add_leaf(GapLeaf(self._writer.effects.clock.time_ns(), source, start, end, reason))
        self._writer.append(builder.finish())
        self._writer.publish()

    def _seal_frame(self, lines: Sequence[InputLine]) -> tuple[int, int, int]:
        cuts = [self._cut(line) for line in lines]
        if len(cuts) > 1 and sum(cut.expanded for cut in cuts) > MAX_EXPANDED:
            halves = lines[: len(lines) // 2], lines[len(lines) // 2 :]
            first, second = (self._seal_frame(half) for half in halves)
            return first[0] + second[0], first[1] + second[1], first[2] + second[2]
        keys = self._writer.keys_for(sorted({scope for cut in cuts for scope in cut.scopes}))
        builder = self._writer.frame(keys)
        found = self._writer.find_all(
            (span.trace_id, span.span_id) for cut in cuts if cut.document for span in cut.document.spans
        )
        seen = {ids: _Earlier(rows) for ids, rows in found.items()}
        spans = unparsable = 0
        for cut in cuts:
            line = cut.line
            if cut.document is None:
                builder.add_unparsable(line.source, line.start, line.end, line.raw, cut.scopes[0], cut.offset)
                unparsable += 1
                continue
            leaves: list[int] = []
            for span, scope in zip(cut.document.spans, cut.span_scopes, strict=True):
                before = builder.next_leaf
                leaves.append(_seal_span(builder, span, scope, keys[scope], seen[span.trace_id, span.span_id]))
                spans += builder.next_leaf - before
            builder.add_line(line.source, line.start, line.end, line.raw, cut.document.glue, tuple(leaves), cut.scopes)
        self._writer.append(builder.finish())
        return spans, builder.duplicates, unparsable

    def _cut(self, line: InputLine) -> _Cut:
        if line.end - line.start - len(line.raw) not in (0, 1):
            raise UsageError(
                f"{line.source}: a line of {len(line.raw)} bytes cannot stand at bytes {line.start} to {line.end}"
            )
        if not worth_cutting(line.raw):
            return _Cut(line, None, 0, (), self._own_scope())
        try:
            document = cut_line(line.raw)
        except OtlpError as error:
            return _Cut(line, None, min(error.offset, len(line.raw)), (), self._own_scope())
        except Exception:  # noqa: BLE001 - whatever a line does to the cutter, it must not hold up the lines behind it
            return _Cut(line, None, 0, (), self._own_scope())
        span_scopes = tuple([scope_of(span.run_id, span.trace_id) for span in document.spans])
        scopes = tuple(sorted(set(span_scopes))) or self._own_scope()
        size = expanded(document)
        if not sealable(document, len(scopes), size):
            return _Cut(line, None, 0, (), self._own_scope())
        return _Cut(line, document, 0, span_scopes, scopes, size)

    def _own_scope(self) -> tuple[str, ...]:
        """A scope for one line alone."""
        return (f"raw:{self._writer.effects.random.bytes(16).hex()}",)


def _seal_span(builder: FrameBuilder, span: CutSpan, scope: str, key: bytes | None, earlier: _Earlier) -> int:
    record = skeleton_record(span)
    digest = dedup_digest(key, span.raw) if key is not None else b""
    leaf = earlier.contents.get(digest) if digest else earlier.readable.get(builder.skeleton_digest(record))
    if leaf is not None:
        builder.duplicates += 1
        return leaf
    row = builder.add_span(span, scope, record, digest, conflict=bool(earlier.readable))
    earlier.add(row)
    return row.leaf


def _parts(lines: Sequence[InputLine]) -> Iterator[list[InputLine]]:
    """Cut the work into frames of bounded size: bytes, lines, and runs of adjoining input."""
    part: list[InputLine] = []
    size = ranges = 0
    for line in lines:
        if len(line.raw) > MAX_LINE:
            raise UsageError(f"{line.source}: a line of {len(line.raw)} bytes; at most {MAX_LINE} are sealed as one")
        follows = bool(part) and part[-1].source == line.source and part[-1].end == line.start
        full = size + len(line.raw) > FRAME_BYTES or len(part) >= FRAME_LINES or ranges >= MAX_RANGES
        if part and full:
            yield part
            part, size, ranges, follows = [], 0, 0, False
        part.append(line)
        size += len(line.raw)
        ranges += not follows
    if part:
        yield part
