"""From a request's body to the bytes to seal: packed bodies opened, what cannot be opened kept as it came.

Nothing is refused here: a body that is no readable OTLP JSON is still evidence, and the collector deletes what is
refused for good. May import the standard library and zstandard.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from typing import Final

import zstandard

MAX_BODY: Final = 256 << 20
"""Bytes of one opened body. The collector's receiver takes 64 MiB in our configuration, which is more as JSON."""

_ZSTD_STEP: Final = 512  # four bytes can open to 128 KiB, so a step opens to 16 MiB at most

PROTOBUF_ADVICE: Final = (
    "a protobuf body arrived and was sealed as raw bytes, its spans cannot be read; "
    "set `encoding: json` on the collector's otlp_http exporter to the sealer"
)


@dataclass(frozen=True, slots=True)
class Body:
    """The bytes to seal, and what to say once about this kind of body (``""``: nothing)."""

    raw: bytes
    advice: str = ""


def open_body(raw: bytes, content_type: str, encoding: str, limit: int = MAX_BODY) -> Body:
    """Undo ``Content-Encoding`` (gzip, deflate, zstd). ``limit`` bounds the opened size in bytes.

    What does not open, opens to more than ``limit``, or has an encoding we do not know is kept packed: it will be
    sealed as unparsable, and the advice says what to change at the sender.

    >>> import gzip
    >>> open_body(gzip.compress(b"{}"), "application/json", "gzip").raw
    b'{}'
    >>> open_body(b"{}", "application/json", "snappy").advice[:6]
    'a body'
    """
    encoding = encoding.strip().lower()
    advice = PROTOBUF_ADVICE if "protobuf" in content_type.lower() else ""
    if encoding in ("", "identity"):
        return Body(raw, advice)
    if encoding not in ("gzip", "x-gzip", "deflate", "zstd"):
        return Body(raw, f"a body with Content-Encoding {encoding!r} was sealed packed; set `compression: none`")
    try:
        opened = _unzstd(raw, limit) if encoding == "zstd" else _inflate(raw, limit, gzip=encoding != "deflate")
    except (zlib.error, zstandard.ZstdError, EOFError) as error:
        return Body(raw, f"a body said to be {encoding} is not ({error}) and was sealed as it came")
    if len(opened) > limit:
        return Body(raw, f"a {encoding} body opens to more than {limit} bytes and was sealed packed; send less at once")
    return Body(opened, advice)


def _inflate(raw: bytes, limit: int, *, gzip: bool) -> bytes:
    opened = bytearray()
    while raw:
        member = zlib.decompressobj(31 if gzip else 15)
        opened += member.decompress(raw, limit + 1 - len(opened))
        if len(opened) > limit:
            break
        if not member.eof:
            raise EOFError("it ends early")
        raw = member.unused_data
    return bytes(opened)


def _unzstd(raw: bytes, limit: int) -> bytes:
    opened = bytearray()
    while raw:
        frame = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj(read_across_frames=False)
        for start in range(0, len(raw), _ZSTD_STEP):
            opened += frame.decompress(raw[start : start + _ZSTD_STEP])
            if len(opened) > limit:
                return bytes(opened)
            if frame.eof:
                raw = frame.unused_data + raw[start + _ZSTD_STEP :]
                break
        else:
            raise EOFError("it ends early")
    return bytes(opened)
