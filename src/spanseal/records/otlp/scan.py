"""Where things stand in a line of valid OTLP JSON: offsets, no values. Pure; imports this package only.

Every function here wants bytes that :func:`~spanseal.records.otlp.strict.load` accepted, and reads their *mask*
(same length, escapes blanked), in which each quote delimits a string, so that ``find`` and plain regular
expressions are exact.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import orjson

from spanseal.records.otlp.strict import mask

_MEMBER = re.compile(rb'[ \t\r\n]*"([^"]*)"[ \t\r\n]*:[ \t\r\n]*')
_SEPARATOR = re.compile(rb"[ \t\r\n]*([,\]}])[ \t\r\n]*")
_SPACE = re.compile(rb"[ \t\r\n]*")
_SCALAR = re.compile(rb"[^ \t\r\n,\]}]+")
_NESTING = re.compile(rb'"[^"]*"|[\[\]{}]')
_QUOTE, _OPEN, _OPEN_LIST, _CLOSE, _CLOSE_LIST = b'"{[}]'

Take = Callable[[str, int], int]
"""Called with a member's key and the offset of its value; returns the offset behind the value."""


class Scanner:
    """Walks one text in a single pass: who reads an object or array says what to do with each value in it.

    >>> scanner = Scanner(b'{"a": [1, {"b": "]"}], "c": 2}')
    >>> seen = []
    >>> def take(key, start):
    ...     seen.append((key, scanner.text[start : scanner.skip(start)]))
    ...     return scanner.skip(start)
    >>> scanner.members(0, take)
    30
    >>> seen
    [('a', b'[1, {"b": "]"}]'), ('c', b'2')]
    """

    def __init__(self, text: bytes, masked: bytes | None = None) -> None:
        self.text = text
        self.masked = mask(text) if masked is None else masked

    def begin(self) -> int:
        """The offset of the first byte that is not white space."""
        return _behind(_SPACE, self.masked, 0)

    def skip(self, start: int) -> int:
        """The offset behind the value that starts at ``start``."""
        first = self.masked[start]
        if first == _QUOTE:
            return self.masked.index(b'"', start + 1) + 1
        if first not in (_OPEN, _OPEN_LIST):
            return _behind(_SCALAR, self.masked, start)
        depth = 0
        for token in _NESTING.finditer(self.masked, start):
            byte = self.masked[token.start()]
            if byte in (_OPEN, _OPEN_LIST):
                depth += 1
            elif byte in (_CLOSE, _CLOSE_LIST):
                depth -= 1
                if not depth:
                    return token.end()
        raise AssertionError("valid JSON closes what it opens")

    def members(self, start: int, take: Take) -> int:
        """Call ``take`` for each member of the object at ``start``; the offset behind the object."""
        at = _behind(_SPACE, self.masked, start + 1)
        if self.masked[at] == _CLOSE:
            return at + 1
        while True:
            name = _MEMBER.match(self.masked, at)
            assert name is not None
            at, more = self.behind_separator(take(self._key(*name.span(1)), name.end()))
            if not more:
                return at

    def items(self, start: int, take: Callable[[int], int]) -> int:
        """Call ``take`` with the offset of each item of the array at ``start``; the offset behind the array."""
        at = _behind(_SPACE, self.masked, start + 1)
        if self.masked[at] == _CLOSE_LIST:
            return at + 1
        while True:
            at, more = self.behind_separator(take(at))
            if not more:
                return at

    def behind_separator(self, at: int) -> tuple[int, bool]:
        """Behind a comma (and another value follows), or right behind the closing bracket."""
        if self.masked[at : at + 1] == b"," and self.masked[at + 1] > 0x20:
            return at + 1, True
        found = _SEPARATOR.match(self.masked, at)
        assert found is not None
        return (found.end(), True) if found[1] == b"," else (found.end(1), False)

    def _key(self, start: int, end: int) -> str:
        key = self.text[start:end]
        return orjson.loads(b'"' + key + b'"') if b"\\" in key else key.decode()


@dataclass(frozen=True, slots=True)
class Place:
    """One span's offsets in its line, and the raw JSON of what encloses it (empty bytes where absent)."""

    start: int
    end: int
    resource: bytes
    scope: bytes
    resource_schema_url: bytes
    scope_schema_url: bytes


def locate(scanner: Scanner, span: Callable[[int], int] | None = None) -> list[Place]:
    """The places of all spans of a line that ``load_masked`` and the shape check accepted, in its order.

    ``span``, where given, is called with each span's offset and returns the offset behind it.
    """
    finder = _Finder(scanner, span or scanner.skip)
    scanner.members(scanner.begin(), finder.of_line)
    return finder.places


class _Finder:
    def __init__(self, scanner: Scanner, span: Callable[[int], int]) -> None:
        self._scanner = scanner
        self._span = span
        self.places: list[Place] = []

    def of_line(self, key: str, start: int) -> int:
        if key == "resourceSpans":
            return self._scanner.items(start, self._of_resource)
        return self._scanner.skip(start)

    def _of_resource(self, start: int) -> int:
        found: list[tuple[int, int, dict[str, bytes]]] = []

        def scope_part(at: int) -> int:
            spans: list[tuple[int, int]] = []
            own, end = self._named(at, "scope", "spans", lambda inner: self._spans(inner, spans))
            found.extend((first, last, own) for first, last in spans)
            return end

        outer, end = self._named(start, "resource", "scopeSpans", lambda inner: self._scanner.items(inner, scope_part))
        for first, last, own in found:
            urls = outer.get("schemaUrl", b""), own.get("schemaUrl", b"")
            self.places.append(Place(first, last, outer.get("resource", b""), own.get("scope", b""), *urls))
        return end

    def _spans(self, start: int, spans: list[tuple[int, int]]) -> int:
        def one(at: int) -> int:
            end = self._span(at)
            spans.append((at, end))
            return end

        return self._scanner.items(start, one)

    def _named(self, start: int, kept: str, descend: str, into: Callable[[int], int]) -> tuple[dict[str, bytes], int]:
        """The raw ``kept`` and ``schemaUrl`` members of an object, going ``into`` its member ``descend``."""
        raw: dict[str, bytes] = {}

        def take(key: str, at: int) -> int:
            if key == descend:
                return into(at)
            end = self._scanner.skip(at)
            if key in (kept, "schemaUrl"):
                raw[key] = self._scanner.text[at:end]
            return end

        return raw, self._scanner.members(start, take)


def _behind(pattern: re.Pattern[bytes], text: bytes, at: int) -> int:
    found = pattern.match(text, at)
    assert found is not None
    return found.end()
