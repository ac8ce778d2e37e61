"""Response bytes as they came over the wire, freed from their content encoding. May import nothing of spanseal.

Source: RFC 9110 section 8.4. A body that was cut or damaged gives what can be decoded of it. ``br`` is decoded by the
package that the HTTP client itself needs for it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, Final

import zstandard

_STEP: Final = 16_384
_BROTLI: Final = ("brotli", "brotlicffi")


def decoded(data: bytes, encoding: str) -> bytes | None:
    """``data`` without its ``Content-Encoding``; None where the encoding is not known here.

    >>> import gzip
    >>> packed = gzip.compress(b"hi" * 9)
    >>> decoded(packed, "gzip"), decoded(packed[:-12] + b"damaged", "gzip")[:2], decoded(packed, "zip")
    (b'hihihihihihihihihi', b'hi', None)
    """
    for name in reversed([part.strip().lower() for part in encoding.split(",")]):
        if name in ("", "identity"):
            continue
        steps = _steps(data, name)
        if steps is None:
            return None
        data = b"".join(steps)
    return data


def _steps(data: bytes, name: str) -> Iterator[bytes] | None:
    if name in ("gzip", "x-gzip"):
        return _inflated(data, zlib.MAX_WBITS | 16)
    if name == "deflate":
        return _inflated(data, zlib.MAX_WBITS if data[:1] == b"\x78" else -zlib.MAX_WBITS)
    if name == "zstd":
        return _stepwise(data, zstandard.ZstdDecompressor().decompressobj().decompress, zstandard.ZstdError)
    if name == "br":
        return _unbrotlied(data)
    return None


def _inflated(data: bytes, form: int) -> Iterator[bytes]:
    while data:  # gzip bodies may be several packed ones in a row
        inflate = zlib.decompressobj(form)
        yield from _stepwise(data, inflate.decompress, zlib.error)
        if not inflate.eof:
            return
        data = inflate.unused_data


def _unbrotlied(data: bytes) -> Iterator[bytes] | None:
    for name in _BROTLI:
        try:
            brotli: Any = import_module(name)
            unpack = brotli.Decompressor()
            step = getattr(unpack, "decompress", None) or unpack.process
            return _stepwise(data, step, brotli.error)
        except (ImportError, AttributeError):
            continue
    return None


def _stepwise(data: bytes, step: Callable[[bytes], bytes], fault: type[Exception]) -> Iterator[bytes]:
    for start in range(0, len(data), _STEP):
        try:
            yield step(data[start : start + _STEP])
        except (fault, EOFError):
            return
