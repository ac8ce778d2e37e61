"""A list of values as JSON text, masked item by item. May import active and the wire's JSON.

Each turn of a conversation sends all earlier turns again: the redactor remembers items that it has searched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from spanseal.genai.wire_json import render
from spanseal.telemetry.active import active


def masked_items(items: Sequence[Any]) -> tuple[list[str], bool]:
    """Each item as JSON, compact, masked; and whether anything was. Raises ValueError or TypeError for what is no JSON.

    >>> masked_items([{"a": 1}, "Bearer abcdefghijkl"])
    (['{"a":1}', '"[redacted:bearer:19]"'], True)
    """
    mask = active().redactor.text
    texts = [render(item) for item in items]
    masked = [mask(text) for text in texts]
    return masked, any(new is not old for new, old in zip(masked, texts, strict=True))


def as_array(texts: Sequence[str]) -> str:
    """The JSON array of items that are JSON already."""
    return "[" + ",".join(texts) + "]"
