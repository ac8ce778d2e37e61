"""A list of values as JSON text with keys and tokens masked, item by item. May import attributes and the wire's JSON.

Each turn of a conversation sends all earlier turns again, and looking for secrets costs more than everything else in a
long one; so items that were found clean are remembered, by hash and length, and not searched again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from spanseal.genai.wire_json import render
from spanseal.telemetry.content.attributes import plain_text

_MOST: Final = 20_000
_clean: set[tuple[int, int]] = set()
"""Python's string hash is keyed by a secret of this process, so that nobody can make a collision on purpose."""


def masked_list(items: Sequence[Any]) -> str:
    """The JSON array of ``items``, compact, masked. Raises ValueError or TypeError for what is not JSON.

    >>> masked_list([{"a": 1}, "Bearer abcdefghijkl"])
    '[{"a":1},"[redacted:bearer:19]"]'
    """
    return as_array(masked_items(items))


def masked_items(items: Sequence[Any]) -> list[str]:
    """Each item as JSON, compact, masked. Raises ValueError or TypeError for what is not JSON."""
    return [_masked(render(item)) for item in items]


def as_array(texts: Sequence[str]) -> str:
    """The JSON array of items that are JSON already."""
    return "[" + ",".join(texts) + "]"


def _masked(text: str) -> str:
    mark = (hash(text), len(text))
    if mark in _clean:
        return text
    masked = plain_text(text)
    if masked == text:
        if len(_clean) >= _MOST:
            _clean.clear()
        _clean.add(mark)
    return masked
