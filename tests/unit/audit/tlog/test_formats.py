"""Tile names, entry bundles, proof files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanseal.audit.tlog.encoding import from_base64, from_decimal
from spanseal.audit.tlog.proof import TlogProof
from spanseal.audit.tlog.tiles import ENTRIES, TileName, bundle, bundle_names, parse_bundle, parse_path, width_at
from spanseal.errors import FormatError


@pytest.mark.parametrize(
    ("name", "path"),
    [
        (TileName(0, 0), "tile/0/000"),
        (TileName(1, 1234067), "tile/1/x001/x234/067"),
        (TileName(63, 999, 1), "tile/63/999.p/1"),
        (TileName(ENTRIES, 1000, 255), "tile/entries/x001/000.p/255"),
    ],
)
def test_paths(name: TileName, path: str) -> None:
    assert (name.path, parse_path(path)) == (path, name)


@given(st.integers(-1, 63), st.integers(0, 1 << 50), st.integers(1, 256))
def test_every_name_is_read_back(level: int, index: int, width: int) -> None:
    name = TileName(level, index, width)
    assert parse_path(name.path) == name
    assert name.full == TileName(level, index)


@pytest.mark.parametrize(
    "path",
    [
        "", "tile/0", "tile/0/", "tile/0/0", "tile/0/00", "tile/0/0000", "tile/00/000", "tile/64/000", "tile/-1/000",
        "tile/0/x000/000", "tile/0/x001/x000", "tile/0/001/000", "tile/0/000.p/0", "tile/0/000.p/256",
        "tile/0/000.p/01",
        "tile/0/000.p/257", "tile/0/000.p", "/tile/0/000", "tile/0/000/", "tile/0/000\n", "tile/data/000",
        "tile/8/0/000",
        "tile/0/\u0660\u0660\u0660", "tile/entries/000.p/999", "tile/0/../000",
    ],
)  # fmt: skip
def test_paths_that_name_no_tile(path: str) -> None:
    assert parse_path(path) is None


def test_widths_and_bundles_of_a_size() -> None:
    assert [width_at(70_000, level) for level in (ENTRIES, 0, 1, 2, 3)] == [112, 112, 17, 1, 0]
    assert [name.path for name in bundle_names(513)] == [
        "tile/entries/000", "tile/entries/001", "tile/entries/002.p/1",
    ]  # fmt: skip
    assert list(bundle_names(0)) == []


@given(st.lists(st.binary(max_size=300), max_size=20))
def test_bundles_are_read_back(entries: list[bytes]) -> None:
    data = bundle(entries)
    assert parse_bundle(data, len(entries)) == tuple(entries)
    for wrong in (len(entries) + 1, len(entries) - 1):
        with pytest.raises(FormatError):
            parse_bundle(data, wrong)
    with pytest.raises(FormatError):
        parse_bundle(data + b"\0", len(entries))
    if data:
        with pytest.raises(FormatError):
            parse_bundle(data[:-1], len(entries))


def test_bundles_have_limits() -> None:
    assert parse_bundle(bundle([bytes(65_535)]), 1) == (bytes(65_535),)
    for bad in ([bytes(65_536)], [b""] * 257):
        with pytest.raises(ValueError, match="at most"):
            bundle(bad)


PROOF = TlogProof(7, (bytes(32), b"h" * 32), b"origin\n8\nroot\n\n\xe2\x80\x94 k sig\n", b"leaf")


@given(
    st.integers(0, (1 << 63) - 1),
    st.lists(st.binary(min_size=32, max_size=32), max_size=63),
    st.binary(min_size=1),
    st.none() | st.binary(max_size=90),
)
def test_proof_files_are_read_back(index: int, hashes: list[bytes], checkpoint: bytes, extra: bytes | None) -> None:
    proof = TlogProof(index, tuple(hashes), checkpoint, extra)
    assert TlogProof.parse(proof.serialise()) == proof


def test_the_form_of_a_proof_file() -> None:
    text = PROOF.serialise().decode()
    zero, letters = "A" * 43 + "=", "aGho" * 10 + "aGg="
    assert text.startswith(f"c2sp.org/tlog-proof@v1\nextra bGVhZg==\nindex 7\n{zero}\n{letters}\n\norigin\n8\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("@v1", "@v2"), ("index 7", "index 07"), ("index 7", "index -7"), ("index 7\n", ""), ("extra ", "extra  "),
        ("index", "extra x\nindex"), ("bGVhZg==", "bGVhZg"), ("bGVhZg==", "bGVhZh=="), ("aGg=", "aA=="), ("\n\n", "\n"),
        ("index", "index 1\nindex"), ("c2sp", " c2sp"), ("aGho", "\u00e4Gho"),
    ],
)  # fmt: skip
def test_proof_files_that_are_none(old: str, new: str) -> None:
    with pytest.raises(FormatError):
        TlogProof.parse(PROOF.serialise().replace(old.encode(), new.encode()).replace(b"\n\n\xe2", b"\n\xe2"))


@pytest.mark.parametrize("data", [b"", b"\n\n", PROOF.serialise()[:60], b"x" * (1 << 22)])
def test_what_is_cut_off_or_endless_is_no_proof(data: bytes) -> None:
    with pytest.raises(FormatError):
        TlogProof.parse(data)


@pytest.mark.parametrize("text", ["A", "AA", "AA=", "AB==", "AA==\n", " AA==", "A-_=", "AA==AA==", "\u00e4"])
def test_base64_has_one_form(text: str) -> None:
    with pytest.raises(FormatError):
        from_base64(text, "it")


@pytest.mark.parametrize("text", ["", "-1", "+1", "01", "1_0", " 1", "1\n", "\u0661", "9223372036854775808"])
def test_decimals_have_one_form(text: str) -> None:
    with pytest.raises(FormatError):
        from_decimal(text, "it")
    assert from_decimal("9223372036854775807", "it") == (1 << 63) - 1
