"""JSON with everything odd that the grammar allows, as values that a writer of our own writes.

A serialiser would never write a key twice, ``1E5`` or a lone surrogate's escape. Strategies are Any: their types are
not worth writing down.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tests.unit.genai.json_values import nested, st

from spanseal.genai.wire_json import is_list, is_map


@dataclass(frozen=True)
class Number:
    """A number as it is written."""

    text: str


class Pairs(list[Any]):
    """An object as its pairs, in order, keys twice if need be."""


NUMBERS = (
    "0",
    "-0",
    "1",
    "1.0",
    "-0.0",
    "1E5",
    "1e+16",
    "1e16",
    "0.1e-7",
    "1e-07",
    "1e400",
    "-1e400",
    "5e-324",
    "0.30000000000000004",
    "9007199254740993",
    "9223372036854775807",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "1000000000000000000000000000000",
    "0.1",
    "1.7976931348623157e308",
    "3.141592653589793238462643",
)
TEXTS = (
    "",
    " ",
    "user",
    "text",
    "hi",
    "a\u2028b\u2029",
    "\U0001d11e",
    "e\u0301",
    "\ufeff",
    "\x00",
    "\\u0000",
    "\x7f\x1f",
    '"',
    "\\",
    "\ud800",
    "\udfff x",
    "\U0010ffff",
    "{}",
    "[1]",
    '{"a": 1}',
    '{"a":1}',
    '{"n":1e400}',
    '{"b":18446744073709551616}',
    "0.content",
    "#0",
    "$",
    "data:image/png;base64,AAAA",
    "data:;base64,",
    "https://example.com/a.png",
    "NaN",
    "null",
    "a much longer text, of which there are many in a body",
    "日本語" * 5,
)
KEYS = (
    "a",
    "a ",
    "A",
    "",
    "$",
    "$ref",
    "$defs",
    "$json",
    "$lit",
    "$data",
    "#0",
    "0.content",
    "role",
    "content",
    "parts",
    "type",
    "id",
    "\u00e9",
    "e\u0301",
    "\ud800",
    "model",
    "name",
    "messages",
    "input",
    "value",
    "v",
)


def _number(value: int | float) -> Number:
    return Number(repr(value))


def _wrapped(drawn: Any) -> Any:
    leaf, depth = drawn
    for level in range(depth):
        leaf = [leaf] if level % 3 else {"a": leaf}
    return leaf


numbers: Any = st.one_of(
    st.sampled_from(NUMBERS).map(Number),
    st.integers(-(10**40), 10**40).map(_number),
    st.floats(allow_nan=False, allow_infinity=False).map(_number),
)
texts: Any = st.one_of(st.sampled_from(TEXTS), st.text(max_size=8))
keys: Any = st.one_of(st.sampled_from(KEYS), st.text(max_size=3))
leaves: Any = st.one_of(st.none(), st.booleans(), texts, numbers)
pairs: Any = st.lists(st.tuples(keys, leaves), min_size=1, max_size=3).map(Pairs)
deep: Any = st.tuples(leaves, st.integers(2, 60)).map(_wrapped)
values: Any = nested(keys, st.one_of(leaves, leaves, leaves, pairs), 6)
anything: Any = st.one_of(values, values, values, deep)


def written(value: Any, charset: str = "", colon: str = ":", comma: str = ",") -> str:
    """``value`` as JSON; lone surrogates are always escaped, other characters where ``charset`` is ascii."""
    if isinstance(value, Number):
        return value.text
    if isinstance(value, Pairs) or is_map(value):
        members: Any = value.items() if is_map(value) else value
        texts = [written(key, charset) + colon + written(item, charset, colon, comma) for key, item in members]
        return "{" + comma.join(texts) + "}"
    if is_list(value):
        return "[" + comma.join(written(item, charset, colon, comma) for item in value) + "]"
    return _escaped(json.dumps(value, ensure_ascii=charset == "ascii"))


def _escaped(text: str) -> str:
    """With lone surrogates as escapes: UTF-8 has no bytes for them."""
    return "".join(f"\\u{ord(char):04x}" if "\ud800" <= char <= "\udfff" else char for char in text)
