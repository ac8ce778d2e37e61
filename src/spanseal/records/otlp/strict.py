"""JSON bytes to values, refusing whatever two readers could read differently. Pure; imports orjson and errors.

orjson already refuses invalid UTF-8, lone surrogates, NaN and Infinity tokens, numbers beyond a double, control
characters in strings and trailing bytes. It lets a key pass that stands twice in one object: that is found here.
"""

from __future__ import annotations

from typing import Any

import orjson

from spanseal.errors import OtlpError

MAX_DEPTH = 254  # what orjson writes back at most; spans nest to about 12

IN_SPAN = 7
"""How many objects and arrays of a line enclose a member of a span, the span included."""


def mask(text: bytes) -> bytes:
    """The same bytes at the same places, except that every quote left over delimits a string.

    Only for valid JSON. A run of backslashes starts at an escape, so replacing pairs from the left is exact.

    >>> mask(rb'["a\\"b", "c\\\\\\\\"]')
    b'["axxb", "cxxxx"]'
    """
    if b"\\" not in text:
        return text
    return text.replace(b"\\\\", b"xx").replace(b'\\"', b"xx")


def load(text: bytes) -> Any:
    """The JSON value of ``text``.

    >>> load(b' {"a": [1, 2.5]} ')
    {'a': [1, 2.5]}

    Raises :class:`OtlpError` with the byte offset if the text is no JSON, has a key twice in one object, or nests
    deeper than :data:`MAX_DEPTH`. Whoever wrote the bytes is at fault.
    """
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        offset = len(error.doc[: error.pos].encode("utf-8", "surrogatepass"))
        raise OtlpError(f"not strict JSON at byte {offset}: {error.msg}", offset=offset) from None
    try:
        again = orjson.dumps(value)
    except orjson.JSONEncodeError:
        raise OtlpError(f"JSON nested deeper than {MAX_DEPTH} levels; no span nests like this") from None
    if again != text and _keys(again) != _keys(text):
        raise OtlpError("a key stands twice in one JSON object; two readers could read it differently")
    return value


def write(value: object, depth: int) -> bytes:
    """What orjson writes for a part of a document that ``depth`` objects and arrays enclose.

    Refuses what would nest too deeply in the whole, as writing the whole would (``orjson.JSONEncodeError``).

    >>> write({"a": 1}, 3)
    b'{"a":1}'
    """
    for _ in range(depth):
        value = [value]
    return orjson.dumps(value)[depth : -depth or None]


def _keys(text: bytes) -> int:
    """How many object members valid JSON has: the colons outside its strings. A repeated key is lost in a dict."""
    return b"".join(mask(text).split(b'"')[::2]).count(b":")
