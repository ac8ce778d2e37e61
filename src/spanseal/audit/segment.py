"""Segment frames: the durable record of the log. Everything else in a store can be rebuilt from them.

A segment file ``seg/<index of its first leaf, 20 digits>.seg`` is frames back to back; a new file is begun once the
last has reached 64 MiB. A frame can be read alone. Integers are big-endian::

    frame   = "SSF1" | u32 length of payload | u32 CRC-32 of payload | payload
    payload = u64 index of the first leaf | u32 leaves | leaves x ( u16 length | leaf ) | body
    body    = u32 length | skeletons | u32 length | lines | u32 length | digests | u32 length | groups
    skeletons (zstd)   per span leaf, in order:  u32 length | skeleton record
              record = u16 m | m x u8 kind (0 AnyValue object, 1 string) | (m + 1) x ( u32 length | piece )
    lines (zstd)       u32 lines | per line, in order of input:
                       u64 start | u64 end | u16 range | u32 group | u8 state | u32 n | n x u64 index of a span leaf
    digests            per span leaf with content: 16 dedup digest | slices x 32 commitment
                       per unparsable leaf: 32 commitment
    groups             u32 groups | per group: u16 scopes | scopes x text8 | u32 length | 12 nonce | ciphertext

A line's state: 0 its glue (the bytes between its spans) is stored in its group; 1 it is unparsable, its group is the
scope of the unparsable leaf, n is 1; 2 its glue is not stored, because a scope of the line was erased before it came
(group 2**32 - 1). Start and end are its place in the source; they span one byte more than the line has where its line
feed is not part of it. The index of a duplicate's leaf may lie before this frame. Groups: ``segment_slices``.

The frame's last leaf is its batch leaf and holds the SHA-256 of ``body``; the leaves are held by the tree; magic,
length, CRC and first index by strict reading. No byte of a signed frame is free. Pure but for zlib and zstandard.
"""

from __future__ import annotations

import hashlib
import struct
import threading
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import zstandard

from spanseal.audit.leaf import BatchLeaf, Leaf, SpanLeaf, UnparsableLeaf, decode_leaf
from spanseal.audit.leaf_codec import Cursor, pack_text8
from spanseal.errors import FormatError

MAGIC: Final = b"SSF1"
HEADER: Final = struct.Struct(">4sII")
MAX_PAYLOAD: Final = 1 << 30
MAX_PLAIN: Final = 1 << 30
SEGMENT_ROLL: Final = 64 << 20
NO_GROUP: Final = 0xFFFF_FFFF
NONCE_BYTES: Final = 12

LINE_STORED: Final = 0
LINE_UNPARSABLE: Final = 1
LINE_WITHOUT_GLUE: Final = 2

_LINE: Final = struct.Struct(">QQHIBI")
_OF_THREAD: Final = threading.local()  # a compressor takes longer to make than to use, and serves one thread at a time


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame as stored: entries of the log from ``first`` on, and the body they commit to."""

    first: int
    entries: tuple[bytes, ...]
    body: memoryview

    @property
    def end(self) -> int:
        """Index after the last leaf."""
        return self.first + len(self.entries)


@dataclass(frozen=True, slots=True)
class LineEntry:
    """One input line: its place in the source, its range and group, and the leaves that make it up."""

    start: int
    end: int
    range: int
    group: int
    state: int
    leaves: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Skeleton:
    """What stays readable of a span: ``pieces`` around its private values, and what placeholder each value needs."""

    kinds: bytes
    pieces: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Ciphertext under the keys of all ``scopes`` (sorted) together; ``sealed`` is nonce and AES-GCM output."""

    scopes: tuple[str, ...]
    sealed: bytes


@dataclass(frozen=True, slots=True)
class Body:
    """A frame's body, decoded. ``digests`` and ``commitments`` go by position of the leaf in the frame."""

    skeletons: dict[int, bytes]
    lines: tuple[LineEntry, ...]
    digests: dict[int, bytes]
    commitments: dict[int, tuple[bytes, ...]]
    groups: tuple[Group, ...]


def encode_frame(first: int, entries: Sequence[bytes], body: bytes) -> bytes:
    """The bytes to append; ``entries`` are encoded leaves, the batch leaf last."""
    parts = [struct.pack(">QI", first, len(entries))]
    for entry in entries:
        parts += (len(entry).to_bytes(2), entry)
    payload = b"".join((*parts, body))
    if len(payload) > MAX_PAYLOAD:
        raise FormatError(f"frame of {len(payload)} bytes; at most {MAX_PAYLOAD}: seal fewer or shorter lines at once")
    return HEADER.pack(MAGIC, len(payload), zlib.crc32(payload)) + payload


def decode_header(data: bytes) -> tuple[int, int]:
    """(payload length, CRC-32) of a frame header of 12 bytes; :class:`FormatError` if it is none."""
    if len(data) < HEADER.size:
        raise FormatError(f"frame header cut off after {len(data)} bytes")
    magic, length, crc = HEADER.unpack(data)
    if magic != MAGIC:
        raise FormatError("no frame begins here (its first four bytes are not SSF1)")
    if length > MAX_PAYLOAD:
        raise FormatError(f"frame claims {length} bytes; at most {MAX_PAYLOAD}")
    return length, crc


def decode_payload(payload: bytes, crc: int) -> Frame:
    """Split a payload strictly; :class:`FormatError` if the CRC or the list of leaves is wrong."""
    if zlib.crc32(payload) != crc:
        raise FormatError("frame's CRC-32 does not match its payload")
    cursor = Cursor(payload, "frame")
    first, count = cursor.u64(), cursor.u32()
    if not count or count > len(payload) // 4:
        raise FormatError(f"frame claims {count} leaves")
    entries = tuple(cursor.take(cursor.u16()) for _ in range(count))
    return Frame(first, entries, cursor.view(cursor.left))


def frame_leaves(frame: Frame) -> tuple[Leaf, ...]:
    """The frame's leaves, the batch leaf last and only there, and the body it commits to checked."""
    leaves = tuple(decode_leaf(entry) for entry in frame.entries)
    batch = leaves[-1]
    if not isinstance(batch, BatchLeaf) or any(isinstance(leaf, BatchLeaf) for leaf in leaves[:-1]):
        raise FormatError("a frame ends with its only batch leaf; this one does not")
    if batch.leaves != len(leaves):
        raise FormatError(f"batch leaf speaks of {batch.leaves} leaves, the frame has {len(leaves)}")
    if hashlib.sha256(frame.body).digest() != batch.body:
        raise FormatError("frame's body is not the one its batch leaf commits to")
    return leaves


def encode_skeleton(skeleton: Skeleton) -> bytes:
    """The skeleton record whose SHA-256 stands in the span leaf."""
    parts = [struct.pack(">H", len(skeleton.kinds)), skeleton.kinds]
    for piece in skeleton.pieces:
        parts += (len(piece).to_bytes(4), piece)
    return b"".join(parts)


def decode_skeleton(record: bytes) -> Skeleton:
    """Read a skeleton record strictly."""
    at = 2 + int.from_bytes(record[:2])
    kinds = record[2:at]
    if kinds.strip(b"\x00\x01"):
        raise FormatError("skeleton with an unknown kind of value")
    pieces: list[bytes] = []
    for _ in range(len(kinds) + 1):  # every span has some twenty: slices, since a Cursor takes four times as long
        start = at + 4
        at = start + int.from_bytes(record[at:start])
        pieces.append(record[start:at])
    if at != len(record):  # past the end, a length reads as zero or more, so ``at`` never comes back to it
        raise FormatError(f"skeleton of {len(record)} bytes whose pieces end at byte {at}")
    return Skeleton(kinds, tuple(pieces))


def encode_body(
    skeletons: Sequence[bytes], lines: Sequence[LineEntry], digests: Sequence[bytes], groups: Sequence[Group]
) -> bytes:
    """Put a body together; ``digests`` are the ready pieces of that section, in order."""
    skeleton_part = b"".join(piece for record in skeletons for piece in (len(record).to_bytes(4), record))
    line_part = [len(lines).to_bytes(4)]
    for line in lines:
        line_part.append(_LINE.pack(line.start, line.end, line.range, line.group, line.state, len(line.leaves)))
        line_part.append(struct.pack(f">{len(line.leaves)}Q", *line.leaves))
    group_part = [len(groups).to_bytes(4)]
    for group in groups:
        group_part.append(struct.pack(">H", len(group.scopes)))
        group_part += (pack_text8(scope, "scope") for scope in group.scopes)
        group_part += (len(group.sealed).to_bytes(4), group.sealed)
    sections = (compress(skeleton_part), compress(b"".join(line_part)), b"".join(digests), b"".join(group_part))
    return b"".join(piece for section in sections for piece in (len(section).to_bytes(4), section))


def decode_body(leaves: Sequence[Leaf], body: memoryview) -> Body:
    """Read a body strictly against the leaves of its frame; :class:`FormatError` says which section is wrong."""
    cursor = Cursor(body, "frame body")
    sections = [cursor.bytes32() for _ in range(4)]
    cursor.end()
    skeletons = _read_skeletons(leaves, decompress(sections[0], "skeletons"))
    groups = _read_groups(sections[3])
    lines = _read_lines(decompress(sections[1], "lines"), len(groups))
    digests, commitments = _read_digests(leaves, sections[2])
    return Body(skeletons, lines, digests, commitments, groups)


def compress(data: bytes) -> bytes:
    """zstd level 3, content size in the header, so that a reader knows the size before it decompresses."""
    made: zstandard.ZstdCompressor | None = getattr(_OF_THREAD, "compressor", None)
    if made is None:
        made = _OF_THREAD.compressor = zstandard.ZstdCompressor(level=3)
    return made.compress(data)


def decompress(data: bytes | memoryview, name: str) -> bytes:
    """Inverse of :func:`compress`, refusing what claims more than 1 GiB, carries extra bytes, or is damaged."""
    try:
        size = zstandard.frame_content_size(data)
        if not 0 <= size <= MAX_PLAIN:
            raise FormatError(f"{name}: compressed data claim {size} bytes; at most {MAX_PLAIN}")
        return zstandard.ZstdDecompressor().decompress(data, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise FormatError(f"{name}: not one zstd frame ({error})") from error


def _read_skeletons(leaves: Sequence[Leaf], data: bytes) -> dict[int, bytes]:
    cursor = Cursor(data, "skeletons")
    found = {at: bytes(cursor.bytes32()) for at, leaf in enumerate(leaves) if isinstance(leaf, SpanLeaf)}
    cursor.end()
    return found


def _read_lines(data: bytes, groups: int) -> tuple[LineEntry, ...]:
    cursor = Cursor(data, "lines")
    lines: list[LineEntry] = []
    for _ in range(cursor.u32()):
        start, end, number, group, state, count = _LINE.unpack(cursor.view(_LINE.size))
        if state > LINE_WITHOUT_GLUE or (state == LINE_UNPARSABLE and count != 1):
            raise FormatError(f"lines: line {len(lines)} has an impossible state")
        if (group == NO_GROUP) != (state == LINE_WITHOUT_GLUE) or (group != NO_GROUP and group >= groups):
            raise FormatError(f"lines: line {len(lines)} names group {group} of {groups}")
        lines.append(LineEntry(start, end, number, group, state, struct.unpack(f">{count}Q", cursor.view(8 * count))))
    cursor.end()
    return tuple(lines)


def _read_digests(leaves: Sequence[Leaf], data: memoryview) -> tuple[dict[int, bytes], dict[int, tuple[bytes, ...]]]:
    cursor = Cursor(data, "digests")
    digests: dict[int, bytes] = {}
    commitments: dict[int, tuple[bytes, ...]] = {}
    for at, leaf in enumerate(leaves):
        if isinstance(leaf, SpanLeaf) and leaf.has_content:
            digests[at] = cursor.take(16)
            block = cursor.take(32 * leaf.slices)
            commitments[at] = tuple([block[start : start + 32] for start in range(0, len(block), 32)])
        elif isinstance(leaf, UnparsableLeaf):
            commitments[at] = (cursor.take(32),)
    cursor.end()
    return digests, commitments


def _read_groups(data: memoryview) -> tuple[Group, ...]:
    cursor = Cursor(data, "groups")
    groups: list[Group] = []
    for _ in range(cursor.u32()):
        scopes = tuple(cursor.text8() for _ in range(cursor.u16()))
        if not scopes or list(scopes) != sorted(set(scopes)):
            raise FormatError(f"groups: the scopes of group {len(groups)} are not sorted and distinct")
        groups.append(Group(scopes, bytes(cursor.bytes32())))
    cursor.end()
    return tuple(groups)
