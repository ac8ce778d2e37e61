"""JSON bytes to values, refusing whatever two readers could read differently. Pure; imports orjson and errors.

orjson already refuses invalid UTF-8, lone surrogates, NaN and Infinity tokens, numbers beyond a double, control
characters in strings and trailing bytes. It lets a key pass that stands twice in one object: that is found here.
"""

from __future__ import annotations

from typing import Any, cast

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
    value = _decode(text)
    try:
        if orjson.dumps(value) == text:  # written back from dicts: no key can have been lost
            return value
    except orjson.JSONEncodeError:
        raise _too_deep() from None
    _compare_keys(value, mask(text))
    return value


def load_masked(text: bytes) -> tuple[Any, bytes]:
    """The value of ``text`` and its :func:`mask`; refuses what :func:`load` refuses."""
    value = _decode(text)
    masked = mask(text)
    _compare_keys(value, masked)
    return value, masked


def _decode(text: bytes) -> Any:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        offset = len(error.doc[: error.pos].encode("utf-8", "surrogatepass"))
        raise OtlpError(f"not strict JSON at byte {offset}: {error.msg}", offset=offset) from None


def _compare_keys(value: Any, masked: bytes) -> None:
    """Compare the members of all objects with the colons outside all strings: a repeated key is lost in a dict."""
    if _members(value) != b"".join(masked.split(b'"')[::2]).count(b":"):
        raise OtlpError("a key stands twice in one JSON object; two readers could read it differently")


def _members(value: Any) -> int:
    """How many members all objects in ``value`` have, level by level. Raises at too many levels."""
    count, depth, level = 0, 0, [value]
    while level:
        inner: list[Any] = []
        nested = False
        for item in level:
            if type(item) is dict:
                members = cast("dict[str, Any]", item)
                nested = True
                count += len(members)
                inner += members.values()
            elif type(item) is list:
                nested = True
                inner += cast("list[Any]", item)
        depth += nested
        if depth > MAX_DEPTH:
            raise _too_deep()
        level = inner
    return count


def _too_deep() -> OtlpError:
    return OtlpError(f"JSON nested deeper than {MAX_DEPTH} levels; no span nests like this")


def write(value: object, depth: int) -> bytes:
    """What orjson writes for a part of a document that ``depth`` objects and arrays enclose.

    Refuses what would nest too deeply in the whole, as writing the whole would (``orjson.JSONEncodeError``).

    >>> write({"a": 1}, 3)
    b'{"a":1}'
    """
    return orjson.dumps(nested(value, depth))[depth : -depth or None]


def nested(value: object, depth: int) -> object:
    """``value`` within ``depth`` lists.

    >>> nested(1, 2)
    [[1]]
    """
    for _ in range(depth):
        value = [value]
    return value
