"""Values that prose names: ``{'password': 'x'}`` as Python prints it, ``password=x``, ``x-api-key: x``. Pure.

JSON is the matter of ``json_walk``. Imports nothing of spanseal.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Final

_SIGN: Final = re.compile(r"[:=](?<=[\w'\]].)(?!=)")
_NAME: Final = re.compile(r"([A-Za-z][\w.-]{0,63})'?\Z")
_QUOTED: Final = re.compile(r" {0,2}[bBrRuUfF]{0,2}(?:'((?:[^'\\\n]|\\.){1,4096})'?|\"((?:[^\"\\\n]|\\.){1,4096})\"?)")
_BARE: Final = re.compile(r" {0,2}((?:(?:Basic|Token|Digest|ApiKey|Bearer) +)?[^\s'\"<>(){}\[\],;&]{6,4096})")
_NO_VALUE: Final = re.compile(r"[^0-9]*\Z|\[redacted:|[$%]|https?:|[\w.]+\.[A-Za-z_]\w*\Z")
_ESCAPED: Final = re.compile(r"\\+(?:([nrtfb])|(?=[\"']))")
_DIGIT: Final = re.compile(r"[0-9]")
_WORDS: Final = ("passw", "passphrase", "secret", "authorization", "cookie", "credential", "key", "token", "jwt")
"""What the keys that the settings have by default are made of."""
_REST: Final = re.compile(r"[\w.-]{0,24}'?]?(?=[:=])")

Places = Callable[[str], Iterable[int]]
"""Where in a text a colon or an equal sign may stand behind a secret name."""


def any_place(text: str) -> Iterable[int]:
    """Every one behind a word."""
    return (found.start() for found in _SIGN.finditer(text))


def default_places(text: str) -> Iterable[int]:
    """Those behind the words of the settings' own keys; some ten times faster."""
    lower = text.lower()
    if len(lower) != len(text):
        return any_place(text)
    found: set[int] = set()
    for word in _WORDS:
        at = lower.find(word)
        while at >= 0:
            at += len(word)
            rest = _REST.match(lower, at)
            if rest is not None:
                found.add(rest.end())
            at = lower.find(word, at)
    return sorted(found)


def named_in(text: str, places: Places, secret_key: Callable[[str], bool]) -> bool:
    """Whether a value goes because of its name; also in JSON text, where prose stands in strings."""
    if "\\" in text:
        text = _ESCAPED.sub(lambda found: "\n" if found[1] else "", text)
    return next(_found(text, places, secret_key), None) is not None


def named_removed(
    text: str, places: Places, secret_key: Callable[[str], bool], removed: Callable[[str], str]
) -> str:
    """``text`` without the values of secret names.

    A value in quotes goes whatever it is; without quotes it must look like one (six characters, one of them a digit),
    so that ``api_key=api_key`` in a program and "password: see below" stay.

    >>> named_removed("{'pin': 'a', 'b': 1} pin=x12345 pin: later", any_place, "pin".__eq__, lambda value: "-")
    "{'pin': '-', 'b': 1} pin=- pin: later"
    """
    parts: list[str] = []
    done = 0
    for start, end in _found(text, places, secret_key):
        parts += text[done:start], removed(text[start:end])
        done = end
    return "".join((*parts, text[done:])) if parts else text


def _found(text: str, places: Places, secret_key: Callable[[str], bool]) -> Iterator[tuple[int, int]]:
    done = 0
    for at in places(text):
        if at < done or _SIGN.match(text, at) is None:
            continue
        name = _NAME.search(text, max(0, at - 66), at)
        if name is None or not secret_key(name.group(1)):
            continue
        value = _QUOTED.match(text, at + 1) or _BARE.match(text, at + 1)
        if value is None:
            continue
        kind = value.lastindex or 0
        if value.re is _QUOTED or _NO_VALUE.match(value.group(kind)) is None:
            done = value.end(kind)
            yield value.span(kind)
        elif _DIGIT.search(value.group(kind)) is None:  # nothing in it can be a value; a sign at its end may have one
            done = value.end(kind) - 1
