"""Lists of JSON texts, masked text by text. May import active.

Each turn of a conversation sends all earlier turns again: the redactor remembers texts that it has searched.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_not

from spanseal.telemetry.active import active


def masked_items(texts: Sequence[str]) -> tuple[list[str], bool]:
    """The texts, each a JSON value, masked; and whether anything was.

    >>> masked_items(['{"a":1}', '"Bearer abcdefghijkl"'])
    (['{"a":1}', '"[redacted:bearer:19]"'], True)
    """
    masked = active().redactor.texts(texts)
    return masked, any(map(is_not, masked, texts))


def as_array(texts: Sequence[str]) -> str:
    """The JSON array of items that are JSON already."""
    return "[" + ",".join(texts) + "]"
