"""The quick way to cut a line that is spelled as encoders spell it: no white space, no needless escapes. Pure.

Such a line is what orjson writes back for the values it read. So the pieces are written from the values, with a hole
for each private one, and compared with the line as a whole: equal bytes prove every piece, and that no key stood
twice. Anything else about the line sends it the general way. Imports this package only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import orjson

from spanseal.errors import OtlpError
from spanseal.records.otlp.cut_span import CLEAR_EVENT, CLEAR_LINK, CLEAR_SPAN, CLEAR_STATUS, Kind, PrivateSlice
from spanseal.records.otlp.fields import JsonObject
from spanseal.records.otlp.parse import check_document
from spanseal.records.otlp.strict import IN_SPAN, nested

_HOLE, _MARK = orjson.Fragment(b"\0"), b"\0"  # a byte that no JSON text contains


@dataclass(frozen=True, slots=True)
class Pieces:
    """One span in pieces: ``skeleton`` and the raw bytes of ``private`` interleave to ``raw``."""

    raw: bytes
    skeleton: tuple[bytes, ...]
    private: tuple[PrivateSlice, ...]
    span: JsonObject
    resource: bytes
    scope: bytes
    schema_urls: tuple[bytes, bytes]
    run_id: str


def cut_canonical(line: bytes, clear: frozenset[str], run_id_key: str) -> tuple[list[bytes], list[Pieces]] | None:
    """The glue and spans of a line in canonical spelling; None if it is not, or not OTLP at all.

    >>> cut_canonical(b'{"resourceSpans":[]}', frozenset(), "")
    ([b'{"resourceSpans":[]}'], [])
    >>> cut_canonical(b'{"resourceSpans": []}', frozenset(), "") is None
    True
    """
    try:
        document: Any = orjson.loads(line)
        check_document(document)
        spans = [_pieces(*place, clear, run_id_key) for place in _take_spans(document)]
        glue = orjson.dumps(document).split(_MARK)
    except (OtlpError, orjson.JSONDecodeError, orjson.JSONEncodeError):
        return None
    whole = chain(glue[:1], *((pieces.raw, after) for pieces, after in zip(spans, glue[1:], strict=True)))
    return (glue, spans) if _is_whole(line, whole) else None


def _is_whole(line: bytes, parts: Iterable[bytes]) -> bool:
    """Whether ``parts``, one after the other, are ``line``; compares in place, since lines can be long."""
    at = 0
    for part in parts:
        if not line.startswith(part, at):
            return False
        at += len(part)
    return at == len(line)


def _take_spans(document: JsonObject) -> Iterator[tuple[JsonObject, bytes, bytes, tuple[bytes, bytes]]]:
    """Every span with its surroundings' raw JSON, leaving a hole in the document."""
    for group in document["resourceSpans"]:
        resource, outer = _member(group, "resource"), _member(group, "schemaUrl")
        for part in group.get("scopeSpans", ()):
            scope, inner = _member(part, "scope"), _member(part, "schemaUrl")
            spans = part.get("spans", ())
            for at, span in enumerate(spans):
                yield span, resource, scope, (outer, inner)
                spans[at] = _HOLE


def _member(owner: JsonObject, key: str) -> bytes:
    return orjson.dumps(owner[key]) if key in owner else b""


def _pieces(
    span: JsonObject, resource: bytes, scope: bytes, urls: tuple[bytes, bytes], clear: frozenset[str], run_id_key: str
) -> Pieces:
    run_id = _run_id(span, run_id_key) if run_id_key in clear else ""
    taker = _Taker(clear)
    taker.span(span)
    private = taker.private()
    skeleton = orjson.dumps(span).split(_MARK)
    slots = chain.from_iterable((found.raw, after) for found, after in zip(private, skeleton[1:], strict=True))
    raw = b"".join(chain(skeleton[:1], slots))
    return Pieces(raw, tuple(skeleton), private, span, resource, scope, urls, run_id)


def _run_id(span: JsonObject, key: str) -> str:
    for pair in span.get("attributes", ()):
        if pair["key"] == key:
            value = pair.get("value", {}).get("stringValue", "")
            return value if isinstance(value, str) else ""
    return ""


class _Taker:
    """Takes a span's private values out, in the text's order, and leaves a hole in the place of each."""

    def __init__(self, clear: frozenset[str]) -> None:
        self._clear = clear
        self._named: list[tuple[str, Kind]] = []
        self._values: list[object] = [_HOLE]

    def private(self) -> tuple[PrivateSlice, ...]:
        """What was taken, written at once: between holes, so that the text falls into the values again."""
        texts = orjson.dumps(nested(self._values, IN_SPAN + 4)).split(_MARK)[1:-1]
        return tuple([
            PrivateSlice(path, text[1:-1], kind) for (path, kind), text in zip(self._named, texts, strict=True)
        ])

    def span(self, span: JsonObject) -> None:
        for key in span:
            match key:
                case "attributes":
                    self._attributes(span[key], key)
                case "events":
                    for at, event in enumerate(span[key]):
                        self._members(event, f"{key}.{at}", CLEAR_EVENT)
                case "links":
                    for at, link in enumerate(span[key]):
                        self._members(link, f"{key}.{at}", CLEAR_LINK)
                case "status":
                    self._members(span[key], key, CLEAR_STATUS)
                case _ if key not in CLEAR_SPAN:
                    self._take(span, key, key)
                case _:
                    pass

    def _members(self, owner: JsonObject, path: str, clear_members: frozenset[str]) -> None:
        for key in owner:
            if key == "attributes" and clear_members is not CLEAR_STATUS:
                self._attributes(owner[key], f"{path}.{key}")
            elif key not in clear_members:
                self._take(owner, key, f"{path}.{key}")

    def _attributes(self, pairs: list[JsonObject], path: str) -> None:
        for pair in pairs:
            name: str = pair["key"]
            for key in pair:
                if key == "value":
                    if name not in self._clear:
                        self._take(pair, key, f"{path}.{name}")
                elif key != "key":
                    self._take(pair, key, f"{path}.{name}#{key}")

    def _take(self, owner: JsonObject, key: str, path: str) -> None:
        self._named.append((path, "string" if key == "traceState" or path == "status.message" else "any"))
        self._values += owner[key], _HOLE
        owner[key] = _HOLE
