"""The quick way to cut a line that is spelled as encoders spell it: no white space, no needless escapes. Pure.

Such a line is what orjson writes back for the values it read. So the pieces are written from the values, with a hole
for each private one, and compared with the line as a whole: equal bytes prove every piece, and that no key stood
twice. Anything else about the line sends it the general way. Imports this package only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import orjson

from spanseal.errors import OtlpError
from spanseal.records.otlp.cut_span import CLEAR_EVENT, CLEAR_LINK, CLEAR_SPAN, CLEAR_STATUS, Kind
from spanseal.records.otlp.fields import JsonObject
from spanseal.records.otlp.parse import check_document
from spanseal.records.otlp.strict import IN_SPAN, write

_HOLE, _MARK = orjson.Fragment(b"\0"), b"\0"  # a byte that no JSON text contains
Private = tuple[str, bytes, Kind]


@dataclass(frozen=True, slots=True)
class Pieces:
    """One span in pieces: ``skeleton`` and the raw bytes of ``private`` interleave to ``raw``."""

    raw: bytes
    skeleton: tuple[bytes, ...]
    private: tuple[Private, ...]
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
    return (glue, spans) if b"".join(whole) == line else None


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
    private = tuple(_take_private(span, clear))
    skeleton = orjson.dumps(span).split(_MARK)
    slots = chain.from_iterable((raw, after) for (_, raw, _), after in zip(private, skeleton[1:], strict=True))
    raw = b"".join(chain(skeleton[:1], slots))
    return Pieces(raw, tuple(skeleton), private, span, resource, scope, urls, run_id)


def _run_id(span: JsonObject, key: str) -> str:
    for pair in span.get("attributes", ()):
        if pair["key"] == key:
            value = pair.get("value", {}).get("stringValue", "")
            return value if isinstance(value, str) else ""
    return ""


def _take_private(span: JsonObject, clear: frozenset[str]) -> Iterator[Private]:
    """Every private value in the text's order, leaving a hole in its place."""
    for key in span:
        match key:
            case "attributes":
                yield from _take_values(span[key], key, clear, IN_SPAN)
            case "events":
                for at, event in enumerate(span[key]):
                    yield from _take_members(event, f"{key}.{at}", CLEAR_EVENT, clear)
            case "links":
                for at, link in enumerate(span[key]):
                    yield from _take_members(link, f"{key}.{at}", CLEAR_LINK, clear)
            case "status":
                for member in span[key]:
                    if member not in CLEAR_STATUS:
                        yield _take(span[key], member, f"{key}.{member}", IN_SPAN + 1)
            case _ if key not in CLEAR_SPAN:
                yield _take(span, key, key, IN_SPAN)
            case _:
                pass


def _take_members(
    owner: JsonObject, path: str, clear_members: frozenset[str], clear: frozenset[str]
) -> Iterator[Private]:
    for key in owner:
        if key == "attributes":
            yield from _take_values(owner[key], f"{path}.{key}", clear, IN_SPAN + 2)
        elif key not in clear_members:
            yield _take(owner, key, f"{path}.{key}", IN_SPAN + 2)


def _take_values(pairs: list[JsonObject], path: str, clear: frozenset[str], depth: int) -> Iterator[Private]:
    for pair in pairs:
        name: str = pair["key"]
        for key in pair:
            if key == "value":
                if name not in clear:
                    yield _take(pair, key, f"{path}.{name}", depth + 2)
            elif key != "key":
                yield _take(pair, key, f"{path}.{name}#{key}", depth + 2)


def _take(owner: JsonObject, key: str, path: str, depth: int) -> Private:
    raw = write(owner[key], depth)
    owner[key] = _HOLE
    return path, raw, "string" if key == "traceState" or path == "status.message" else "any"
