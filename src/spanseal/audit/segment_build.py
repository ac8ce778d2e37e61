"""Builds one frame: spans in, leaves and body out. No file is touched; keys, nonces and time come in.

The caller (``sealer.seal``) cuts the lines, makes the scopes' keys durable, and decides what is a duplicate.
May import records and the format modules of audit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from spanseal.audit.commitments import commit_slices, range_hash, slice_root
from spanseal.audit.leaf import (
    FLAG_CONFLICT,
    FLAG_NO_CONTENT,
    ZERO32,
    BatchLeaf,
    InputRange,
    Leaf,
    SpanLeaf,
    UnparsableLeaf,
    encode_leaf,
)
from spanseal.audit.segment import (
    LINE_STORED,
    LINE_UNPARSABLE,
    LINE_WITHOUT_GLUE,
    NO_GROUP,
    NONCE_BYTES,
    LineEntry,
    Skeleton,
    encode_body,
    encode_skeleton,
)
from spanseal.audit.segment_slices import GroupBuilder, frame_context
from spanseal.audit.tlog.checkpoint import Checkpoint
from spanseal.effects import Effects
from spanseal.records.otlp import CutSpan


@dataclass(frozen=True, slots=True)
class IndexRow:
    """What the index keeps of a sealed span: ids, leaf, dedup digest (empty without content), skeleton digest."""

    trace_id: bytes
    span_id: bytes
    leaf: int
    digest: bytes
    skeleton: bytes


@dataclass(frozen=True, slots=True)
class BuiltFrame:
    """A frame ready to append: encoded leaves, body, and what the writer remembers of them."""

    first: int
    entries: tuple[bytes, ...]
    body: bytes
    rows: tuple[IndexRow, ...]
    ranges: tuple[InputRange, ...]


@dataclass(frozen=True, slots=True)
class _Glue:
    line: int
    scopes: tuple[str, ...]
    pieces: tuple[bytes, ...]


@dataclass(slots=True)
class _Range:
    source: str
    start: int
    end: int
    lines: int
    pieces: list[bytes]
    scopes: set[str]


class FrameBuilder:
    """Collects the leaves of one frame that begins at leaf ``first``; ``StoreWriter.frame`` makes it.

    ``head`` is the head published last, None if there is none yet. ``keys`` has the key of every scope that will be
    named; None for an erased one, whose spans are then sealed without content.
    """

    def __init__(self, first: int, head: Checkpoint | None, keys: Mapping[str, bytes | None], effects: Effects) -> None:
        self._first = first
        self._head = (head.size, head.root) if head is not None else (0, ZERO32)
        self._keys = keys
        self._effects = effects
        self._entries: list[bytes] = []
        self._skeletons: list[bytes] = []
        self._digests: list[bytes] = []
        self._groups: dict[tuple[str, ...], GroupBuilder] = {}
        self._group_numbers: dict[tuple[str, ...], int] = {}
        self._lines: list[LineEntry] = []
        self._glue: list[_Glue] = []
        self._ranges: list[_Range] = []
        self._rows: list[IndexRow] = []
        self.duplicates = 0

    @property
    def next_leaf(self) -> int:
        """Index that the next leaf added will have."""
        return self._first + len(self._entries)

    def add_leaf(self, leaf: Leaf) -> None:
        """A leaf that needs nothing in the body: key event, redaction, gap."""
        self._entries.append(encode_leaf(leaf))

    def add_span(self, span: CutSpan, scope: str, record: bytes, digest: bytes, *, conflict: bool) -> IndexRow:
        """A span leaf; ``record`` is its skeleton record, ``digest`` its dedup digest (empty without a key)."""
        leaf_index = self.next_leaf
        key = self._keys[scope]
        flags = FLAG_CONFLICT if conflict else 0
        root = ZERO32
        if key is None:
            flags |= FLAG_NO_CONTENT
        else:
            context = frame_context((span.resource, span.scope, span.resource_schema_url, span.scope_schema_url))
            commitments = commit_slices(key, leaf_index, (context, *(item.raw for item in span.private)))
            root = slice_root(commitments)
            self._digests += (digest, *commitments)
            group = self._group((scope,))
            group.add("", context)
            for item in span.private:
                group.add(item.path, item.raw)
        skeleton = hashlib.sha256(record).digest()
        row = IndexRow(bytes.fromhex(span.trace_id), bytes.fromhex(span.span_id), leaf_index, digest, skeleton[:16])
        leaf = SpanLeaf(row.trace_id, row.span_id, scope, flags, skeleton, len(span.private) + 1, root)
        self._entries.append(encode_leaf(leaf))
        self._skeletons.append(record)
        self._rows.append(row)
        return row

    @staticmethod
    def skeleton_digest(record: bytes) -> bytes:
        """What tells a resent span from another one when its scope is erased: of the readable part only."""
        return hashlib.sha256(record).digest()[:16]

    def add_line(
        self, source: str, start: int, end: int, raw: bytes,
        glue: tuple[bytes, ...], leaves: tuple[int, ...], scopes: tuple[str, ...],
    ) -> None:  # fmt: skip
        """An input line whose spans are the span leaves ``leaves`` (duplicates: older ones), of these sorted scopes."""
        number = self._range(source, start, end, raw, scopes)
        if any(self._keys[scope] is None for scope in scopes):
            self._lines.append(LineEntry(start, end, number, NO_GROUP, LINE_WITHOUT_GLUE, leaves))
            return
        self._group(scopes)
        self._glue.append(_Glue(len(self._lines), scopes, glue))
        self._lines.append(LineEntry(start, end, number, self._group_numbers[scopes], LINE_STORED, leaves))

    def add_unparsable(self, source: str, start: int, end: int, raw: bytes, scope: str, offset: int) -> None:
        """A line that is no OTLP; ``scope`` is its own, ``offset`` where reading stopped."""
        key = self._keys[scope]
        if key is None:
            raise ValueError("the scope of an unparsable line is new, its key cannot be gone")
        leaf_index = self.next_leaf
        commitments = commit_slices(key, leaf_index, (raw,))
        self._digests += commitments
        self._group((scope,)).add("", raw)
        self._entries.append(encode_leaf(UnparsableLeaf(scope, len(raw), offset, slice_root(commitments))))
        number = self._range(source, start, end, raw, (scope,))
        group = self._group_numbers[scope,]
        self._lines.append(LineEntry(start, end, number, group, LINE_UNPARSABLE, (leaf_index,)))

    def finish(self) -> BuiltFrame:
        """Encrypt, commit to the body, and close with the batch leaf."""
        for glue in self._glue:
            group = self._groups[glue.scopes]
            last = len(glue.pieces) - 1
            for at, piece in enumerate(glue.pieces):
                group.add("glue.last" if at == last else "glue.first" if at == 0 else "glue.middle", piece)
        groups = [
            builder.seal(scopes, self._held(scopes), self._first, self._effects.random.bytes(NONCE_BYTES))
            for scopes, builder in self._groups.items()
        ]
        body = encode_body(self._skeletons, self._lines, self._digests, groups)
        ranges = tuple(self._close(number, item) for number, item in enumerate(self._ranges))
        time, digest = self._effects.clock.time_ns(), hashlib.sha256(body).digest()
        batch = BatchLeaf(time, len(self._entries) + 1, self.duplicates, digest, *self._head, ranges)
        return BuiltFrame(self._first, (*self._entries, encode_leaf(batch)), body, tuple(self._rows), ranges)

    def _group(self, scopes: tuple[str, ...]) -> GroupBuilder:
        group = self._groups.get(scopes)
        if group is None:
            group = self._groups[scopes] = GroupBuilder()
            self._group_numbers[scopes] = len(self._group_numbers)
        return group

    def _range(self, source: str, start: int, end: int, raw: bytes, scopes: Sequence[str]) -> int:
        last = self._ranges[-1] if self._ranges else None
        if last is None or last.source != source or last.end != start:
            last = _Range(source, start, start, 0, [], set())
            self._ranges.append(last)
        last.end = end
        last.lines += 1
        last.pieces.append(raw)
        if end - start > len(raw):
            last.pieces.append(b"\n")
        last.scopes.update(scopes)
        return len(self._ranges) - 1

    def _held(self, scopes: Sequence[str]) -> list[bytes]:
        return [key for scope in scopes if (key := self._keys[scope]) is not None]

    def _close(self, number: int, item: _Range) -> InputRange:
        scopes = sorted(item.scopes)
        keys = self._held(scopes)
        if len(keys) < len(scopes):
            return InputRange(item.source, item.start, item.end, item.lines, False, ZERO32)
        digest = range_hash(keys, self.next_leaf, number, item.pieces)
        return InputRange(item.source, item.start, item.end, item.lines, True, digest)


def skeleton_record(span: CutSpan) -> bytes:
    """The record whose SHA-256 the span leaf holds."""
    kinds = bytes(item.kind == "string" for item in span.private)
    return encode_skeleton(Skeleton(kinds, span.skeleton))
