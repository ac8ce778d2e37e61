"""Find the private slices of one span. Pure; imports this package only."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, NamedTuple

import orjson

from spanseal.records.otlp.scan import Scanner

_SIMPLE = re.compile(
    rb'\{"key":"([^"]+)","value":(\{"(?:stringValue":"[^"]*"|intValue":"?-?[0-9]+"?|boolValue":(?:true|false))\})\}'
)
CLEAR_SPAN = frozenset({
    "traceId", "spanId", "parentSpanId", "name", "kind", "startTimeUnixNano", "endTimeUnixNano", "flags",
    "droppedAttributesCount", "droppedEventsCount", "droppedLinksCount",
})  # fmt: skip
CLEAR_EVENT = frozenset({"timeUnixNano", "name", "droppedAttributesCount"})
CLEAR_LINK = frozenset({"traceId", "spanId", "flags", "droppedAttributesCount"})
CLEAR_STATUS = frozenset({"code"})

Kind = Literal["any", "string"]


class PrivateSlice(NamedTuple):
    """One private value: where it stood, its exact JSON text, and which placeholder stands for it.

    ``path`` is for people, e.g. ``attributes.gen_ai.input.messages``, ``events.0.attributes.x``, ``status.message``.
    ``kind`` is ``any`` (placeholder ``{}``) or ``string`` (placeholder ``""``).
    """

    path: str
    raw: bytes
    kind: Kind


class Found(NamedTuple):
    """A private value: its offsets in the line, its path, and which placeholder stands for it."""

    start: int
    end: int
    path: str
    kind: Kind


class SpanCutter:
    """Walks span objects of one scanned line and keeps each one's private slices and ids."""

    def __init__(self, scanner: Scanner, clear: frozenset[str], run_id_key: str) -> None:
        self._scanner = scanner
        self._clear = clear
        self._run_id_key = run_id_key
        self._found: list[Found] = []
        self._strings: dict[str, str] = {}
        self.spans: list[tuple[list[Found], dict[str, str]]] = []
        """Per span, in order: private values sorted by place; its ``traceId``, ``spanId`` and ``runId`` strings."""

    def span(self, start: int) -> int:
        """Walk the span object at ``start``; the offset behind it."""
        self._found, self._strings = [], {}
        end = self._scanner.members(start, self._of_span)
        self._found.sort()
        self.spans.append((self._found, self._strings))
        return end

    def _of_span(self, key: str, at: int) -> int:
        match key:
            case "attributes":
                return self._attributes(at, "attributes", of_span=True)
            case "events":
                return self._objects(at, "events", CLEAR_EVENT)
            case "links":
                return self._objects(at, "links", CLEAR_LINK)
            case "status":
                return self._object(at, "status", CLEAR_STATUS)
            case "traceId" | "spanId":
                end = self._scanner.skip(at)
                self._strings[key] = orjson.loads(self._scanner.text[at:end])
                return end
            case _:
                return self._plain(key, at, key, CLEAR_SPAN)

    def _plain(self, key: str, at: int, path: str, clear: frozenset[str]) -> int:
        """A member that is no container we know: clear by its name, else private."""
        end = self._scanner.skip(at)
        if key not in clear:
            known = key == "traceState" or path == "status.message"
            self._found.append(Found(at, end, path, "string" if known else "any"))
        return end

    def _objects(self, at: int, path: str, clear: frozenset[str]) -> int:
        count = -1

        def one(start: int) -> int:
            nonlocal count
            count += 1
            return self._object(start, f"{path}.{count}", clear)

        return self._scanner.items(at, one)

    def _object(self, start: int, path: str, clear: frozenset[str]) -> int:
        def take(key: str, at: int) -> int:
            if key == "attributes" and path != "status":
                return self._attributes(at, f"{path}.attributes")
            return self._plain(key, at, f"{path}.{key}", clear)

        return self._scanner.members(start, take)

    def _attributes(self, start: int, path: str, *, of_span: bool = False) -> int:
        masked, text, clear, found = self._scanner.masked, self._scanner.text, self._clear, self._found
        general = self._general(path, of_span=of_span)

        def one(at: int) -> int:
            simple = _SIMPLE.match(masked, at)
            if simple is None:
                return general(at)
            raw = text[simple.start(1) : simple.end(1)]
            if b"\\" in raw:
                return general(at)
            key = raw.decode()
            if key not in clear:
                found.append(Found(simple.start(2), simple.end(2), f"{path}.{key}", "any"))
            elif of_span and key == self._run_id_key:
                self._run_id(simple.start(2), simple.end(2))
            return simple.end()

        return self._scanner.items(start, one)

    def _general(self, path: str, *, of_span: bool) -> Callable[[int], int]:
        """A KeyValue in any form: other white space, order of members, kinds of value, unknown members."""
        scanner = self._scanner

        def one(start: int) -> int:
            name, value, others = "", (-1, -1), list[tuple[str, int, int]]()

            def take(key: str, at: int) -> int:
                nonlocal name, value
                end = scanner.skip(at)
                if key == "key":
                    name = orjson.loads(scanner.text[at:end])
                elif key == "value":
                    value = (at, end)
                else:
                    others.append((key, at, end))
                return end

            end = scanner.members(start, take)
            self._found += [Found(a, b, f"{path}.{name}#{key}", "any") for key, a, b in others]
            if value[0] >= 0 and name not in self._clear:
                self._found.append(Found(*value, f"{path}.{name}", "any"))
            elif value[0] >= 0 and of_span and name == self._run_id_key:
                self._run_id(*value)
            return end

        return one

    def _run_id(self, start: int, end: int) -> None:
        value = orjson.loads(self._scanner.text[start:end]).get("stringValue")
        self._strings["runId"] = value if isinstance(value, str) else ""
