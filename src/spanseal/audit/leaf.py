"""The leaves of the log: small binary records that commit to spans, never the spans themselves.

Every leaf is one entry of the tlog-tiles log, at most 65,535 bytes. Integers are big-endian; ``text8`` / ``text16`` is
UTF-8 preceded by its length in one / two bytes; each record has exactly one encoding and is read strictly::

    leaf        = u8 version (1) | u8 kind | body
    1 span      = 16 trace id | 8 span id | text8 scope | u8 flags (1 conflict, 2 without content)
                  | 32 SHA-256 of the skeleton record | u16 slices | 32 root over the slices' commitments
    2 batch     = u64 time, ns UTC | u32 leaves of the frame (this one included) | u32 duplicates skipped
                  | 32 SHA-256 of the frame's body | u64 size | 32 root | u16 ranges
                  | ranges x ( text8 source | u64 start | u64 end | u32 lines | u8 checkable (0, 1) | 32 salted hash )
    3 (reserved for run manifests)
    4 redaction = u64 time | text8 scope | u8 action (1 content key destroyed) | text16 reason | text16 actor
    5 key event = u64 time | u8 event (1 log opened, 2 keys changed) | text8 origin | u8 keys | keys x text16 vkey
                  | u16 length | last head of a former log (signed note), or nothing
    6 gap       = u64 time | text8 source | u64 start | u64 end | text16 reason
    7 unparsable= text8 scope | u32 length of the line | u32 offset where reading stopped | 32 root over its one slice

Leaf 0 is the key event that opens the log. The batch leaf is the last of its frame and binds the frame's body
(``segment``); its size and root are the last head published when the frame was made (0 and zeros: none yet), so that
the history of heads is sealed too. A span leaf *without content* (its scope was erased before it came) has an all-zero
root; a range that covers such a span is not checkable and has an all-zero hash. A range's bytes are its lines with
their line feeds, as they stood in the source. Slice numbers: 0 is the context (resource, scope and their schema URLs),
then the span's private values in order. Pure.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from spanseal.audit.leaf_codec import Cursor, pack_text8, pack_text16
from spanseal.errors import FormatError

VERSION: Final = 1
MAX_LEAF: Final = 65_535
MAX_RANGES: Final = 128
ZERO32: Final = bytes(32)

KIND_SPAN: Final = 1
KIND_BATCH: Final = 2
KIND_REDACTION: Final = 4
KIND_KEY_EVENT: Final = 5
KIND_GAP: Final = 6
KIND_UNPARSABLE: Final = 7

FLAG_CONFLICT: Final = 1
FLAG_NO_CONTENT: Final = 2
ACTION_KEY_DESTROYED: Final = 1
EVENT_OPENED: Final = 1
EVENT_KEYS_CHANGED: Final = 2

_SCOPE_AT: Final = 26  # of a span leaf: behind version, kind and ids
_SPAN_TAIL: Final = struct.Struct(">B32sH32s")
_BATCH: Final = struct.Struct(">BBQII32sQ32sH")


@dataclass(frozen=True, slots=True)
class SpanLeaf:
    """Kind 1: one span. ``slices`` counts the context slice too."""

    trace_id: bytes
    span_id: bytes
    scope: str
    flags: int
    skeleton: bytes
    slices: int
    root: bytes

    @property
    def has_content(self) -> bool:
        """Whether private slices were sealed with it."""
        return not self.flags & FLAG_NO_CONTENT

    @property
    def conflict(self) -> bool:
        """Whether another span with the same ids and other bytes had been sealed before."""
        return bool(self.flags & FLAG_CONFLICT)


@dataclass(frozen=True, slots=True)
class InputRange:
    """Bytes ``start``..``end`` of a source and, if checkable, their hash salted with all keys they fall under."""

    source: str
    start: int
    end: int
    lines: int
    checkable: bool
    hash: bytes


@dataclass(frozen=True, slots=True)
class BatchLeaf:
    """Kind 2: closes a frame: when and after which head it was sealed, its input bytes, and its body's digest."""

    time: int
    leaves: int
    duplicates: int
    body: bytes
    head_size: int
    head_root: bytes
    ranges: tuple[InputRange, ...]


@dataclass(frozen=True, slots=True)
class RedactionLeaf:
    """Kind 4: the content of a scope was erased with authority: who, when, why."""

    time: int
    scope: str
    action: int
    reason: str
    actor: str


@dataclass(frozen=True, slots=True)
class KeyEventLeaf:
    """Kind 5: which log this is and which keys sign it; ``former_head`` links to the log it continues."""

    time: int
    event: int
    origin: str
    vkeys: tuple[str, ...]
    former_head: bytes = b""


@dataclass(frozen=True, slots=True)
class GapLeaf:
    """Kind 6: input bytes that could not be read (file shrank, rotated unseen): ``start``..``end`` of a source."""

    time: int
    source: str
    start: int
    end: int
    reason: str


@dataclass(frozen=True, slots=True)
class UnparsableLeaf:
    """Kind 7: an input line that is no OTLP, kept as one private slice under a scope of its own."""

    scope: str
    length: int
    offset: int
    root: bytes


Leaf = SpanLeaf | BatchLeaf | RedactionLeaf | KeyEventLeaf | GapLeaf | UnparsableLeaf


def encode_leaf(leaf: Leaf) -> bytes:
    """The one encoding of a leaf; :class:`FormatError` if a field does not fit (the caller is at fault).

    >>> decode_leaf(encode_leaf(GapLeaf(5, "spans.jsonl", 0, 9, "file shrank"))).end
    9
    """
    match leaf:
        case SpanLeaf():
            data = _encode_span(leaf)
        case BatchLeaf():
            data = _encode_batch(leaf)
        case RedactionLeaf():
            data = (
                struct.pack(">BBQ", VERSION, KIND_REDACTION, leaf.time)
                + pack_text8(leaf.scope, "scope") + bytes((leaf.action,))
                + pack_text16(leaf.reason, "reason") + pack_text16(leaf.actor, "actor")
            )  # fmt: skip
        case KeyEventLeaf():
            data = _encode_key_event(leaf)
        case GapLeaf():
            data = (
                struct.pack(">BBQ", VERSION, KIND_GAP, leaf.time) + pack_text8(leaf.source, "source")
                + struct.pack(">QQ", leaf.start, leaf.end) + pack_text16(leaf.reason, "reason")
            )  # fmt: skip
        case UnparsableLeaf():
            data = (
                bytes((VERSION, KIND_UNPARSABLE)) + pack_text8(leaf.scope, "scope")
                + struct.pack(">II32s", leaf.length, leaf.offset, leaf.root)
            )  # fmt: skip
    if len(data) > MAX_LEAF:
        raise FormatError(f"leaf of {len(data)} bytes; a log entry has at most {MAX_LEAF}")
    return data


def decode_leaf(data: bytes) -> Leaf:
    """Read one leaf strictly; :class:`FormatError` for an unknown version or kind, or any byte too many or few."""
    cursor = Cursor(data, "leaf")
    version, kind = cursor.u8(), cursor.u8()
    if version != VERSION:
        raise FormatError(f"leaf version {version}; this program reads version {VERSION}")
    reader = _READERS.get(kind)
    if reader is None:
        raise FormatError(f"leaf kind {kind} is not known to this program")
    leaf = reader(cursor)
    cursor.end()
    return leaf


def scopes_of(entries: Iterable[bytes]) -> set[str]:
    """The scopes of the spans among these leaves, without reading the rest of each."""
    texts = {entry[_SCOPE_AT + 1 : _SCOPE_AT + 1 + entry[_SCOPE_AT]] for entry in entries if entry[1] == KIND_SPAN}
    return {text.decode("utf-8", "replace") for text in texts}


def _encode_span(leaf: SpanLeaf) -> bytes:
    if len(leaf.trace_id) != 16 or len(leaf.span_id) != 8:
        raise FormatError("a span leaf needs a 16-byte trace id and an 8-byte span id")
    return b"".join((
        b"\x01\x01", leaf.trace_id, leaf.span_id, pack_text8(leaf.scope, "scope"),
        _SPAN_TAIL.pack(leaf.flags, leaf.skeleton, leaf.slices, leaf.root),
    ))  # fmt: skip


def _encode_batch(leaf: BatchLeaf) -> bytes:
    if len(leaf.ranges) > MAX_RANGES:
        raise FormatError(f"{len(leaf.ranges)} input ranges in one batch, at most {MAX_RANGES}")
    fields = (leaf.time, leaf.leaves, leaf.duplicates, leaf.body, leaf.head_size, leaf.head_root, len(leaf.ranges))
    return _BATCH.pack(VERSION, KIND_BATCH, *fields) + b"".join(
        pack_text8(item.source, "source")
        + struct.pack(">QQIB32s", item.start, item.end, item.lines, item.checkable, item.hash)
        for item in leaf.ranges
    )


def _encode_key_event(leaf: KeyEventLeaf) -> bytes:
    return b"".join((
        struct.pack(">BBQB", VERSION, KIND_KEY_EVENT, leaf.time, leaf.event),
        pack_text8(leaf.origin, "origin"), bytes((len(leaf.vkeys),)),
        *(pack_text16(vkey, "vkey") for vkey in leaf.vkeys),
        struct.pack(">H", len(leaf.former_head)), leaf.former_head,
    ))  # fmt: skip


def _read_span(cursor: Cursor) -> SpanLeaf:
    trace_id, span_id, scope = cursor.take(16), cursor.take(8), cursor.text8()
    flags, skeleton, slices, root = _SPAN_TAIL.unpack(cursor.view(_SPAN_TAIL.size))
    if flags & ~(FLAG_CONFLICT | FLAG_NO_CONTENT):
        raise FormatError(f"span leaf with unknown flags {flags:#x}")
    if flags & FLAG_NO_CONTENT and root != ZERO32:
        raise FormatError("span leaf without content, yet with a root over slices")
    return SpanLeaf(trace_id, span_id, scope, flags, skeleton, slices, root)


def _read_range(cursor: Cursor) -> InputRange:
    source, start, end, lines = cursor.text8(), cursor.u64(), cursor.u64(), cursor.u32()
    checkable, digest = cursor.u8(), cursor.take(32)
    if checkable > 1 or (not checkable and digest != ZERO32):
        raise FormatError("batch leaf: an input range is neither checkable nor blank")
    if end < start:
        raise FormatError(f"batch leaf: input range of {source} ends before it starts")
    return InputRange(source, start, end, lines, bool(checkable), digest)


def _read_batch(cursor: Cursor) -> BatchLeaf:
    time, leaves, duplicates, body = cursor.u64(), cursor.u32(), cursor.u32(), cursor.take(32)
    size, root, count = cursor.u64(), cursor.take(32), cursor.u16()
    if not size and root != ZERO32:
        raise FormatError("batch leaf: no head before it, yet the root of one")
    if count > MAX_RANGES:
        raise FormatError(f"batch leaf: {count} input ranges, at most {MAX_RANGES}")
    return BatchLeaf(time, leaves, duplicates, body, size, root, tuple(_read_range(cursor) for _ in range(count)))


def _read_redaction(cursor: Cursor) -> RedactionLeaf:
    leaf = RedactionLeaf(cursor.u64(), cursor.text8(), cursor.u8(), cursor.text16(), cursor.text16())
    if leaf.action != ACTION_KEY_DESTROYED:
        raise FormatError(f"redaction leaf with unknown action {leaf.action}")
    return leaf


def _read_key_event(cursor: Cursor) -> KeyEventLeaf:
    time, event, origin = cursor.u64(), cursor.u8(), cursor.text8()
    if event not in (EVENT_OPENED, EVENT_KEYS_CHANGED):
        raise FormatError(f"key event leaf with unknown event {event}")
    vkeys = tuple(cursor.text16() for _ in range(cursor.u8()))
    return KeyEventLeaf(time, event, origin, vkeys, cursor.take(cursor.u16()))


def _read_gap(cursor: Cursor) -> GapLeaf:
    return GapLeaf(cursor.u64(), cursor.text8(), cursor.u64(), cursor.u64(), cursor.text16())


def _read_unparsable(cursor: Cursor) -> UnparsableLeaf:
    return UnparsableLeaf(cursor.text8(), cursor.u32(), cursor.u32(), cursor.take(32))


_READERS: Final = {
    KIND_SPAN: _read_span,
    KIND_BATCH: _read_batch,
    KIND_REDACTION: _read_redaction,
    KIND_KEY_EVENT: _read_key_event,
    KIND_GAP: _read_gap,
    KIND_UNPARSABLE: _read_unparsable,
}
