"""Leaves: one encoding each, read strictly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanseal.audit.leaf import (
    MAX_RANGES,
    ZERO32,
    BatchLeaf,
    GapLeaf,
    InputRange,
    KeyEventLeaf,
    Leaf,
    RedactionLeaf,
    SpanLeaf,
    UnparsableLeaf,
    decode_leaf,
    encode_leaf,
    scopes_of,
)
from spanseal.errors import FormatError

u16, u32, u64 = (st.integers(0, 2**bits - 1) for bits in (16, 32, 64))
digest = st.binary(min_size=32, max_size=32)
short = st.text(st.characters(codec="utf-8"), max_size=40)


@st.composite
def ranges(draw: st.DrawFn) -> InputRange:
    start, checkable = draw(st.integers(0, 2**62)), draw(st.booleans())
    value = draw(digest) if checkable else ZERO32
    return InputRange(draw(short), start, start + draw(st.integers(0, 2**62)), draw(u32), checkable, value)


@st.composite
def spans(draw: st.DrawFn) -> SpanLeaf:
    content, conflict = draw(st.booleans()), draw(st.integers(0, 1))
    trace, span = draw(st.binary(min_size=16, max_size=16)), draw(st.binary(min_size=8, max_size=8))
    flags, root = conflict | (0 if content else 2), draw(digest) if content else ZERO32
    return SpanLeaf(trace, span, draw(short), flags, draw(digest), draw(u16), root)


@st.composite
def batches(draw: st.DrawFn) -> BatchLeaf:
    size = draw(u64)
    root = draw(digest) if size else ZERO32
    inputs = tuple(draw(st.lists(ranges(), max_size=4)))
    return BatchLeaf(draw(u64), draw(u32), draw(u32), draw(digest), size, root, inputs)


leaves = st.one_of(
    spans(),
    batches(),
    st.builds(RedactionLeaf, u64, short, st.just(1), short, short),
    st.builds(KeyEventLeaf, u64, st.integers(1, 2), short, st.lists(short, max_size=3).map(tuple), st.binary()),
    st.builds(GapLeaf, u64, short, u64, u64, short),
    st.builds(UnparsableLeaf, short, u32, u32, digest),
)


@given(leaves)
def test_round_trip(leaf: Leaf) -> None:
    data = encode_leaf(leaf)
    assert decode_leaf(data) == leaf
    assert data[:1] == b"\x01"


@given(leaves, st.data())
def test_cut_or_lengthened_leaves_are_refused(leaf: Leaf, data: st.DataObject) -> None:
    encoded = encode_leaf(leaf)
    cut = data.draw(st.integers(0, len(encoded) - 1))
    for wrong in (encoded[:cut], encoded + b"\x00"):
        with pytest.raises(FormatError):
            decode_leaf(wrong)


@given(st.binary(max_size=300))
def test_any_bytes_are_a_leaf_in_its_one_encoding_or_refused(data: bytes) -> None:
    try:
        leaf = decode_leaf(data)
    except FormatError:
        return
    assert encode_leaf(leaf) == data


@pytest.mark.parametrize("kind", [0, 3, 8, 255])
def test_unknown_kinds_and_versions_are_refused(kind: int) -> None:
    with pytest.raises(FormatError, match="kind"):
        decode_leaf(bytes((1, kind)) + bytes(60))
    with pytest.raises(FormatError, match="version 2"):
        decode_leaf(b"\x02\x01" + bytes(60))


def test_a_span_without_content_has_no_root() -> None:
    good = encode_leaf(SpanLeaf(bytes(16), bytes(8), "run:1", 2, ZERO32, 3, ZERO32))
    with pytest.raises(FormatError, match="without content"):
        decode_leaf(good[:-1] + b"\x01")


def test_a_batch_before_any_head_names_no_root() -> None:
    good = encode_leaf(BatchLeaf(0, 1, 0, ZERO32, 0, ZERO32, ()))
    for at in range(58, 90):
        with pytest.raises(FormatError, match="no head"):
            decode_leaf(good[:at] + b"\x01" + good[at + 1 :])


def test_limits_name_what_is_too_large() -> None:
    item = InputRange("source", 0, 1, 1, True, ZERO32)
    with pytest.raises(FormatError, match=f"at most {MAX_RANGES}"):
        encode_leaf(BatchLeaf(0, 1, 0, ZERO32, 0, ZERO32, (item,) * (MAX_RANGES + 1)))
    with pytest.raises(FormatError, match="source is 256 bytes"):
        encode_leaf(GapLeaf(0, "x" * 256, 0, 0, ""))
    largest = InputRange("x" * 255, 2**63, 2**64 - 1, 2**32 - 1, True, ZERO32)
    assert len(encode_leaf(BatchLeaf(0, 1, 0, ZERO32, 0, ZERO32, (largest,) * MAX_RANGES))) < 65_535


def test_scopes_are_read_where_a_whole_reading_finds_them() -> None:
    leaves = [SpanLeaf(bytes(16), bytes(8), scope, 0, bytes(32), 1, bytes(32)) for scope in ("", "run:ä", "x" * 200)]
    other = UnparsableLeaf("raw:1", 5, 0, bytes(32))
    entries = [encode_leaf(leaf) for leaf in (*leaves, other)]
    assert scopes_of(entries) == {"", "run:ä", "x" * 200}
