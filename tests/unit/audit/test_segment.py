"""Frames, bodies and groups: every byte is held, nothing is decompressed or expanded beyond its cap."""

from __future__ import annotations

import hashlib
import struct
import zlib

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from spanseal.audit import segment, segment_slices
from spanseal.audit.leaf import ZERO32, BatchLeaf, GapLeaf, encode_leaf
from spanseal.audit.segment import (
    HEADER,
    Group,
    Skeleton,
    compress,
    decode_header,
    decode_payload,
    decode_skeleton,
    decompress,
    encode_frame,
    encode_skeleton,
    frame_leaves,
)
from spanseal.audit.segment_slices import ContentKeyMismatchError, GroupBuilder, common_prefix, open_group
from spanseal.errors import FormatError

KEY = bytes(range(32))


def _frame(body: bytes = b"body", *, leaves: int | None = None, digest: bytes | None = None) -> bytes:
    batch = BatchLeaf(1, leaves or 2, 0, digest or hashlib.sha256(body).digest(), 0, ZERO32, ())
    return encode_frame(7, (encode_leaf(GapLeaf(1, "s", 0, 1, "r")), encode_leaf(batch)), body)


def _read(data: bytes) -> None:
    length, crc = decode_header(data[: HEADER.size])
    if length != len(data) - HEADER.size:
        raise FormatError("another length")
    decode_payload(data[HEADER.size :], crc)


def test_a_frame_comes_back() -> None:
    data = _frame()
    length, crc = decode_header(data[:12])
    frame = decode_payload(data[12:], crc)
    assert (length, frame.first, frame.end, bytes(frame.body)) == (len(data) - 12, 7, 9, b"body")
    assert isinstance(frame_leaves(frame)[-1], BatchLeaf)


@given(st.integers(0, len(_frame()) - 1), st.integers(0, 7))
def test_every_flipped_bit_is_found(at: int, bit: int) -> None:
    data = bytearray(_frame())
    data[at] ^= 1 << bit
    with pytest.raises(FormatError):
        _read(bytes(data))


@pytest.mark.parametrize(
    ("data", "says"), [(_frame(digest=bytes(32)), "not the one its batch leaf"), (_frame(leaves=5), "speaks of 5")]
)
def test_a_batch_leaf_that_does_not_fit(data: bytes, says: str) -> None:
    with pytest.raises(FormatError, match=says):
        frame_leaves(decode_payload(data[12:], zlib.crc32(data[12:])))


@given(st.lists(st.binary(max_size=50), min_size=1, max_size=5))
def test_skeletons_come_back(pieces: list[bytes]) -> None:
    skeleton = Skeleton(bytes(len(pieces) - 1), tuple(pieces))
    record = encode_skeleton(skeleton)
    assert decode_skeleton(record) == skeleton
    for wrong in (record + b"x", *(record[:length] for length in range(len(record)))):
        with pytest.raises(FormatError):
            decode_skeleton(wrong)


@given(st.binary(max_size=40) | st.lists(st.integers(0, 3), max_size=40).map(bytes))
def test_a_skeleton_has_one_encoding(record: bytes) -> None:
    try:
        skeleton = decode_skeleton(record)
    except FormatError:
        return
    assert encode_skeleton(skeleton) == record


def test_bombs_are_refused_before_they_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment, "MAX_PLAIN", 1000)
    with pytest.raises(FormatError, match="claim 5000 bytes"):
        decompress(compress(bytes(5000)), "lines")
    unsized = zstandard.ZstdCompressor(write_content_size=False).compress(bytes(5000))
    with pytest.raises(FormatError, match="claim"):
        decompress(unsized, "lines")
    for wrong in (b"", b"garbage", compress(b"x") + b"more", compress(bytes(999))[:-3]):
        with pytest.raises(FormatError):
            decompress(wrong, "lines")


@given(st.binary(max_size=300), st.binary(max_size=300), st.binary(max_size=300))
def test_common_prefix(start: bytes, left: bytes, right: bytes) -> None:
    one, two = start + left, start + right
    length = common_prefix(one, two)
    assert one[:length] == two[:length]
    assert length == min(len(one), len(two)) or one[length] != two[length]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 400), st.binary(max_size=60)), max_size=12))
def test_groups_come_back_byte_by_byte(records: list[tuple[str, int, bytes]]) -> None:
    history = bytes(range(256)) * 2
    datas = [history[:length] + tail for _, length, tail in records]
    builder = GroupBuilder()
    for (name, _, _), data in zip(records, datas, strict=True):
        builder.add(name, data)
    group = builder.seal(("run:1",), (KEY,), 5, bytes(12))
    assert open_group(group, (KEY,), 5) == datas


def test_repeated_histories_are_stored_once() -> None:
    history = hashlib.sha256(b"x").digest() * 2000
    once, twice = GroupBuilder(), GroupBuilder()
    once.add("m", history)
    for at in range(20):
        twice.add("m", history + bytes([at]))
    sizes = [len(item.seal(("run:1",), (KEY,), 0, bytes(12)).sealed) for item in (once, twice)]
    assert sizes[1] < sizes[0] + 300


def test_a_group_opens_only_with_its_keys_at_its_place() -> None:
    builder = GroupBuilder()
    builder.add("", b"secret")
    group = builder.seal(("run:1", "run:2"), (KEY, bytes(32)), 5, bytes(12))
    assert open_group(group, (KEY, bytes(32)), 5) == [b"secret"]
    moved = Group(("run:1", "run:3"), group.sealed)
    for item, keys, first in (
        (group, (bytes(32), KEY), 5), (group, (KEY,), 5), (group, (KEY, bytes(32)), 6), (moved, (KEY, bytes(32)), 5)
    ):  # fmt: skip
        with pytest.raises(ContentKeyMismatchError, match="does not open"):
            open_group(item, keys, first)


@pytest.mark.parametrize("header", [(1, 0, 1), (0, 1, 1), (5, 0, 1), (0, 0, 2), (0, 0, 0)])
def test_malformed_records_are_refused(header: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    plain = struct.pack(">IIII", 1, *header) + b"x"
    with pytest.raises(FormatError):
        segment_slices._expand(plain)  # pyright: ignore[reportPrivateUsage]


def test_records_may_not_expand_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_slices, "MAX_PLAIN", 1000)
    plain = struct.pack(">I", 3) + struct.pack(">III", 0, 0, 500) + struct.pack(">III", 1, 500, 0) * 2 + bytes(500)
    with pytest.raises(FormatError, match="more than 1000 bytes"):
        segment_slices._expand(plain)  # pyright: ignore[reportPrivateUsage]
