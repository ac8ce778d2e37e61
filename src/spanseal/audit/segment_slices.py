"""What a group of a frame hides: private slices and glue, delta-encoded, compressed, then encrypted.

A group belongs to one scope or to several together. Its plain text, before zstd and AES-256-GCM (random 96-bit nonce,
associated data ``"SSG1" | u64 first leaf of the frame | (text8 scope)*``)::

    u32 records | records x ( u32 back | u32 prefix | u32 length ) | the suffixes, one after the other

A record's bytes are the first ``prefix`` bytes of the record ``back`` places before it, then its own suffix of
``length`` bytes; ``back`` 0 means no base (``prefix`` is 0). So a history that repeats with every call is kept once,
byte by byte. Order of the records of a group: for every span leaf of its scope with content, in order: the context
(four u32-framed pieces: resource, scope, resource schema URL, scope schema URL), then its slices; for an unparsable
leaf of its scope: the line; then for each line whose glue lies in this group: the n + 1 pieces of glue. Pure but for
cryptography and zstandard.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from spanseal.audit.commitments import group_key
from spanseal.audit.leaf_codec import Cursor, pack_text8
from spanseal.audit.segment import MAX_PLAIN, NONCE_BYTES, Group, compress, decompress
from spanseal.errors import FormatError

_RECORD: Final = struct.Struct(">III")
_WORTH_A_DELTA: Final = 32
_CLOSING: Final = 8
"""How many bytes at most close a JSON value that grew, as in ``"}]"}``."""


class ContentKeyMismatchError(FormatError):
    """A group does not open with these keys: they are not the ones it was sealed with (the bytes are as sealed)."""


def common_prefix(left: bytes, right: bytes) -> int:
    """Length of the longest common prefix; compares in C.

    Looks first whether all but the last bytes of ``left`` are common: a list that grew differs from its closing bracket
    on. Else by doubling, then bisecting.

    >>> common_prefix(b"spanner", b"spanseal")
    4
    """
    if left == right:
        return len(left)
    high = min(len(left), len(right))
    low, step = 0, 64
    if high > _CLOSING and right.startswith(left[: high - _CLOSING]):
        low = high - _CLOSING
    while low + step < high and right.startswith(left[low : low + step], low):
        low += step
        step *= 2
    high = min(high, low + step)
    while low < high:
        middle = (low + high + 1) // 2
        if right.startswith(left[low:middle], low):
            low = middle
        else:
            high = middle - 1
    return low


class GroupBuilder:
    """Collects the records of one group; each is stored as its difference to the last one added under its name."""

    __slots__ = ("_headers", "_last", "_suffixes")

    def __init__(self) -> None:
        self._headers: list[bytes] = []
        self._suffixes: list[bytes] = []
        self._last: dict[str, tuple[int, bytes]] = {}

    def add(self, name: str, data: bytes) -> None:
        """Append a record; ``name`` (the slice's path) picks the base and is not stored."""
        at = len(self._headers)
        base = self._last.get(name)
        back = prefix = 0
        if base is not None and data[:_WORTH_A_DELTA] == base[1][:_WORTH_A_DELTA]:
            back, prefix = at - base[0], common_prefix(base[1], data)
        self._headers.append(_RECORD.pack(back, prefix, len(data) - prefix))
        self._suffixes.append(data[prefix:] if prefix else data)
        self._last[name] = (at, data)

    def seal(self, scopes: tuple[str, ...], keys: Sequence[bytes], first_leaf: int, nonce: bytes) -> Group:
        """Compress and encrypt; ``keys`` in order of ``scopes``, ``nonce`` 12 fresh random bytes."""
        plain = b"".join((len(self._headers).to_bytes(4), *self._headers, *self._suffixes))
        sealed = AESGCM(group_key(keys)).encrypt(nonce, compress(plain), _associated(scopes, first_leaf))
        return Group(scopes, nonce + sealed)


def open_group(group: Group, keys: Sequence[bytes], first_leaf: int) -> list[bytes]:
    """All records of a group; ``keys`` in order of its scopes.

    Raises :class:`ContentKeyMismatchError` for wrong keys, :class:`FormatError` for records that are malformed.
    """
    nonce, sealed = group.sealed[:NONCE_BYTES], group.sealed[NONCE_BYTES:]
    try:
        packed = AESGCM(group_key(keys)).decrypt(nonce, sealed, _associated(group.scopes, first_leaf))
    except (InvalidTag, ValueError) as error:
        raise ContentKeyMismatchError(f"content of {', '.join(group.scopes)} does not open with its key") from error
    return _expand(decompress(packed, "content"))


def _expand(plain: bytes) -> list[bytes]:
    cursor = Cursor(plain, "content")
    count = cursor.u32()
    headers: list[tuple[int, int, int]] = list(_RECORD.iter_unpack(cursor.view(_RECORD.size * count)))
    if sum(prefix + length for _, prefix, length in headers) > MAX_PLAIN:
        raise FormatError(f"content: records claim more than {MAX_PLAIN} bytes")
    records: list[bytes] = []
    end = cursor.offset
    if end + sum(length for _, _, length in headers) != len(plain):
        raise FormatError(f"content: {len(plain) - end} bytes of suffixes, not as many as its records say")
    for at, (back, prefix, length) in enumerate(headers):
        start, end = end, end + length
        suffix = plain[start:end]
        if back > at or (prefix and not back):
            raise FormatError(f"content: record {at} has no base")
        base = records[at - back] if back else b""
        if prefix > len(base):
            raise FormatError(f"content: record {at} takes more than its base has")
        records.append(base[:prefix] + suffix if prefix else suffix)
    return records


def _associated(scopes: Sequence[str], first_leaf: int) -> bytes:
    return b"".join((b"SSG1", first_leaf.to_bytes(8), *(pack_text8(scope, "scope") for scope in scopes)))


def frame_context(pieces: Sequence[bytes]) -> bytes:
    """The context slice: u32-framed pieces, in order."""
    return b"".join(part for piece in pieces for part in (len(piece).to_bytes(4), piece))


def split_context(data: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    """Inverse of :func:`frame_context` for the four pieces of a span's context."""
    cursor = Cursor(data, "context")
    pieces = (
        bytes(cursor.bytes32()), bytes(cursor.bytes32()), bytes(cursor.bytes32()), bytes(cursor.bytes32())
    )  # fmt: skip
    cursor.end()
    return pieces
