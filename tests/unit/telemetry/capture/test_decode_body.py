"""Bodies freed from their encoding: whole, cut, damaged, packed several times, and what nobody can unpack."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Callable
from types import SimpleNamespace

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from spanseal.telemetry.capture.decode_body import decoded

TEXT = b"".join(b"data: chunk number %d\n\n" % number for number in range(20_000))


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def plain(data: bytes) -> bytes:
    return data


def twice(data: bytes) -> bytes:
    return gzip.compress(zlib.compress(data))


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress, "X-GZip": gzip.compress, "deflate": zlib.compress, "zstd": zstandard.compress,
    "identity": plain, "": plain, "deflate, gzip": twice,
}  # fmt: skip


@pytest.mark.parametrize("name", PACKERS)
@given(data=st.binary(max_size=300))
@settings(max_examples=20)
def test_back_to_what_was_packed(name: str, data: bytes) -> None:
    assert decoded(PACKERS[name](data), name) == data


def test_deflate_without_its_envelope() -> None:
    assert decoded(raw_deflate(TEXT), "deflate") == TEXT


def test_several_packed_bodies_in_a_row() -> None:
    assert decoded(gzip.compress(b"one ") + gzip.compress(b"two"), "gzip") == b"one two"


@pytest.mark.parametrize("name", ["gzip", "deflate", "zstd"])
def test_cut_or_damaged_gives_what_came_before(name: str) -> None:
    packed = PACKERS[name](TEXT)
    got = decoded(packed[: len(packed) * 3 // 4], name)
    assert got is not None
    assert TEXT.startswith(got)
    assert name == "zstd" or len(got) > len(TEXT) // 2  # zstd gives whole blocks only
    if name != "zstd":
        damaged = decoded(packed[: len(packed) // 2] + b"\xff" * 9 + packed[len(packed) // 2 + 9 :], name)
        assert damaged is not None
        assert TEXT[:1000] == damaged[:1000]


def test_unknown_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("brotli", "brotlicffi"):
        monkeypatch.setitem(sys.modules, name, None)
    assert decoded(b"x", "br") is None
    assert decoded(b"x", "gzip, compress") is None


@pytest.mark.parametrize(("package", "method"), [("brotli", "process"), ("brotlicffi", "decompress")])
def test_br_is_unpacked_by_the_clients_own_package(monkeypatch: pytest.MonkeyPatch, package: str, method: str) -> None:
    """The package is not installed here: one of the same shape stands for it, with another packing."""
    monkeypatch.setitem(sys.modules, "brotli", None)

    def unpacker() -> SimpleNamespace:
        return SimpleNamespace(**{method: zlib.decompressobj().decompress})

    monkeypatch.setitem(sys.modules, package, SimpleNamespace(Decompressor=unpacker, error=zlib.error))
    packed = zlib.compress(TEXT)
    assert decoded(packed, "br") == TEXT
    assert decoded(packed[:-20], "br") == TEXT[: len(decoded(packed[:-20], "br") or b"")]
