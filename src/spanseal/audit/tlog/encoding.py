"""The two text encodings of C2SP formats, in their one canonical form. Pure; imports errors."""

from __future__ import annotations

import binascii
import re

from spanseal.errors import FormatError

_DECIMAL = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)
MAX_SIZE = (1 << 63) - 1
"""The largest tree size and time: what a signed 64-bit integer holds."""


def to_base64(data: bytes) -> str:
    """Standard base64 with padding (RFC 4648 section 4)."""
    return binascii.b2a_base64(data, newline=False).decode()


def from_base64(text: str, what: str) -> bytes:
    """The bytes of canonical base64: padded, no stray bits, nothing else around it.

    >>> from_base64("AA==", "x")
    b'\\x00'

    Raises :class:`FormatError` naming ``what``.
    """
    try:
        data = binascii.a2b_base64(text.encode("ascii"), strict_mode=True)
    except (binascii.Error, UnicodeEncodeError):
        raise FormatError(f"{what} is not base64") from None
    if to_base64(data) != text:
        raise FormatError(f"{what} is not canonical base64")
    return data


def from_decimal(text: str, what: str) -> int:
    """A decimal number from 0 to :data:`MAX_SIZE` without leading zeros or sign. Raises :class:`FormatError`."""
    if not _DECIMAL.fullmatch(text) or int(text) > MAX_SIZE:
        raise FormatError(f"{what} is not a decimal number in canonical form")
    return int(text)
