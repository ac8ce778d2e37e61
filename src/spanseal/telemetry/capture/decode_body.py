"""Response bytes as they came over the wire, freed from their content encoding. May import nothing of spanseal.

Source: RFC 9110 section 8.4. A body that was cut gives what can be decoded of it.
"""

from __future__ import annotations

import zlib

import zstandard


def decoded(data: bytes, encoding: str) -> bytes | None:
    """``data`` without its ``Content-Encoding``; None where the encoding is not known here (br) or the data are broken.

    >>> import gzip
    >>> decoded(gzip.compress(b"hi"), "gzip")
    b'hi'
    """
    for name in reversed([part.strip().lower() for part in encoding.split(",")]):
        step = _decoded_once(data, name)
        if step is None:
            return None
        data = step
    return data


def _decoded_once(data: bytes, name: str) -> bytes | None:
    try:
        if name in ("", "identity"):
            return data
        if name in ("gzip", "x-gzip"):
            return zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data)
        if name == "zstd":
            return zstandard.ZstdDecompressor().decompressobj().decompress(data)
        if name == "deflate":
            wrapped = data[:1] == b"\x78"
            return zlib.decompressobj(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS).decompress(data)
    except (zlib.error, zstandard.ZstdError):
        return None
    return None
