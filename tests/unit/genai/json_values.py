"""Strategies for JSON of any shape. Their types are not worth writing down, so they are Any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies

st: Any = strategies
texts: Any = st.text(st.characters(codec="utf-8"), max_size=12)
any_text: Any = st.text(max_size=12)
finite: Any = st.floats(allow_nan=False, allow_infinity=False)
numbers: Any = st.one_of(st.integers(-(10**40), 10**40), finite, st.just(1e16), st.just(1e-7))


def nested(keys: Any, leaves: Any, size: int = 8) -> Any:
    """Objects with these keys, arrays, and leaves."""

    def grown(inner: Any) -> Any:
        return st.one_of(st.lists(inner, max_size=3), st.dictionaries(keys, inner, max_size=4))

    return st.recursive(leaves, grown, max_leaves=size)


def json_values(text: Any = texts) -> Any:
    """Any JSON value."""
    return nested(text, st.one_of(st.none(), st.booleans(), text, numbers))


def hostile(names: Sequence[str]) -> Any:
    """Bodies with fields that are known but whose values are anything."""
    keys = st.sampled_from(names)
    return st.dictionaries(keys, nested(keys, json_values(), 25), max_size=6)
