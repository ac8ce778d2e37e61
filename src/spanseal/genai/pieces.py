"""Texts and lists that arrive in many pieces, kept as pieces until somebody wants the whole. Pure.

Joining after each piece would cost as much as everything before it, so a stream of n chunks n².

>>> body = {"text": Pieces(["he"])}
>>> add(body, "text", "y")
>>> whole(body)
{'text': 'hey'}
"""

from __future__ import annotations

from typing import Any

from spanseal.genai.wire_json import JsonObject, is_list, is_map


class Pieces(list[str]):
    """A text in the making. Stands in a JSON value where its text will stand."""


class Growing(list[Any]):
    """A list of our own that may be appended to; any other list may belong to a chunk that somebody holds."""


def add(into: JsonObject, key: str, text: str) -> None:
    """Append ``text`` to the text under ``key``; what is no text there is replaced."""
    old = into.get(key)
    if isinstance(old, Pieces):
        old.append(text)
    elif isinstance(old, str) and old:
        into[key] = Pieces((old, text))
    else:
        into[key] = Pieces((text,))


def extend(into: JsonObject, key: str, items: list[Any]) -> None:
    """Append ``items`` to the list under ``key``; what is no list there is replaced."""
    old = into.get(key)
    if isinstance(old, Growing):
        old += items
    else:
        into[key] = Growing((*old, *items)) if is_list(old) else Growing(items)


def whole(value: Any) -> Any:
    """A copy of ``value`` with every text and list in one piece."""
    if isinstance(value, Pieces):
        return "".join(value)
    if is_map(value):
        return {key: whole(item) for key, item in value.items()}
    return [whole(item) for item in value] if is_list(value) else value
