"""Changes strings and numbers inside JSON text, leaves every other byte of it as it is. Pure; imports none of ours.

Strings are looked at decoded, so that an escape hides nothing, and written anew only where they change.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import orjson

_BODY: Final = r'[^"\\]*+(?:\\.[^"\\]*+)*+'
_NUMBER: Final = r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_ITEM: Final = rf'(?:"{_BODY}"|{_NUMBER})'
_TOKEN: Final = re.compile(
    rf'"(?P<text>{_BODY})"(?P<colon>\s*+:\s*+)?+'
    rf'|(?P<number>(?<![\w.+-]){_NUMBER})',
    re.DOTALL,
)
_PLAIN_VALUE: Final = re.compile(rf"{_ITEM}|\[\s*+{_ITEM}(?:\s*+,\s*+{_ITEM})*+\s*+\]", re.DOTALL)
_ITEMS: Final = re.compile(_ITEM, re.DOTALL)
_MEMBER: Final = re.compile(rf'"(?P<key>[^"\\]{{1,128}})"\s*+:\s*+(?={_ITEM}|\[)', re.DOTALL)
_KEYS: Final = re.compile(r'"([^"\\]{1,128})\\*+"\s*+:')


@dataclass(frozen=True, slots=True)
class Change:
    """What is done to JSON text. ``text`` changes a decoded string; ``number`` gives a text in place of a number, or
    None; ``secret_key`` says whether a member of this key must go, ``removed`` gives the text in its place."""

    text: Callable[[str], str]
    number: Callable[[str], str | None] | None
    secret_key: Callable[[str], bool]
    removed: Callable[[str], str]


def keys_in(text: str) -> set[str]:
    """The keys of JSON objects in ``text``, those in JSON within JSON strings included; quick, and maybe too many.

    >>> sorted(keys_in('{"a": "{\\\\"b\\\\": 1}"}'))
    ['a', 'b']
    """
    return set(_KEYS.findall(text)) if '":' in text or '" ' in text or '"\n' in text or '"\t' in text else set()


def looks_json(text: str) -> bool:
    """Whether ``text`` begins like a JSON object, array or string."""
    return text[:1] in ("{", "[", '"') or text.lstrip()[:1] in ("{", "[", '"')


def is_json(text: str) -> bool:
    """Whether it is JSON text."""
    try:
        orjson.loads(text)
    except ValueError:
        try:
            json.loads(text)
        except (ValueError, RecursionError):
            return False
    return True


def walked(text: str, change: Change) -> str:
    """``text`` (JSON, or a piece of it) changed; valid JSON stays valid.

    >>> change = Change(str.upper, None, lambda key: key == "pin", lambda value: "gone")
    >>> walked('{"a": ["b\\\\u0063"], "pin": 1234}', change)
    '{"A": ["BC"], "PIN": "gone"}'
    """
    parts: list[str] = []
    done = 0
    while (found := _TOKEN.search(text, done)) is not None:
        parts.append(text[done : found.start()])
        done = found.end()
        parts.append(_changed(found, change))
        if found["colon"] is None or not change.secret_key(decoded(found["text"])):
            continue
        value = _PLAIN_VALUE.match(text, done)
        if value is not None:
            parts.append(_ITEMS.sub(lambda item: _gone(item.group(), change), value.group()))
            done = value.end()
    return "".join((*parts, text[done:]))


def members_removed(text: str, change: Change) -> str:
    """Prose with pieces of JSON in it: the values of secret keys removed, all else left."""
    parts: list[str] = []
    done = 0
    while (found := _MEMBER.search(text, done)) is not None:
        parts.append(text[done : found.end()])
        done = found.end()
        value = _PLAIN_VALUE.match(text, done) if change.secret_key(found["key"]) else None
        if value is not None:
            parts.append(_ITEMS.sub(lambda item: _gone(item.group(), change), value.group()))
            done = value.end()
    return "".join((*parts, text[done:]))


def decoded(body: str) -> str:
    """What a JSON string with this body (without its quotes) says; the body itself if it is broken."""
    if "\\" not in body:
        return body
    try:
        return orjson.loads(f'"{body}"')
    except ValueError:
        try:
            return json.loads(f'"{body}"', strict=False)
        except ValueError:
            return body


def encoded(text: str) -> str:
    """``text`` as a JSON string with its quotes."""
    try:
        return orjson.dumps(text).decode()
    except TypeError:
        return json.dumps(text)


def _changed(found: re.Match[str], change: Change) -> str:
    number = found["number"]
    if number is not None:
        new = change.number(number) if change.number is not None else None
        return number if new is None else encoded(new)
    said = decoded(found["text"])
    new = change.text(said)
    return found.group() if new == said else encoded(new) + (found["colon"] or "")


def _gone(item: str, change: Change) -> str:
    value = decoded(item[1:-1]) if item.startswith('"') else item
    return encoded(change.removed(value))
