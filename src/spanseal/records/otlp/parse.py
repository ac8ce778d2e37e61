"""From OTLP JSON to :class:`SpanRecord` values. Pure; imports this package and errors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from spanseal.errors import OtlpError
from spanseal.records.otlp import fields
from spanseal.records.otlp.attributes import named
from spanseal.records.otlp.fields import JsonObject, as_object
from spanseal.records.otlp.scan import Scanner, locate
from spanseal.records.otlp.strict import IN_SPAN, load, load_masked, write
from spanseal.records.otlp.values import EventRecord, LinkRecord, SpanRecord, Value

_U32 = 1 << 32


def parse_line(line: bytes) -> tuple[SpanRecord, ...]:
    """The spans of one export line, in its order.

    >>> doc = b'{"resourceSpans":[{"scopeSpans":[{"spans":[%s]}]}]}'
    >>> span = b'{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0102030405060708","name":"chat"}'
    >>> [s.name for s in parse_line(doc % span)]
    ['chat']

    Raises :class:`OtlpError` if the line is not one strict OTLP trace document; its writer is at fault.
    """
    quick = _parse_canonical(line)
    if quick is not None:
        return quick
    document, masked = load_masked(line)
    spans = list(_walk(document))
    raws = [line[place.start : place.end] for place in locate(Scanner(line, masked))]
    return tuple(_record(*span, raw) for span, raw in zip(spans, raws, strict=True))


def parse_span(raw: bytes, resource: bytes = b"", scope: bytes = b"") -> SpanRecord:
    """One span object by itself, with its enclosing resource and scope objects (empty where there are none).

    Accepts spans whose private slices are placeholders: an empty AnyValue reads as None, an empty message as "".

    >>> parse_span(b'{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0102030405060708","kind":3}').kind
    3

    Raises :class:`OtlpError`; whoever wrote the bytes is at fault.
    """
    span = as_object(load(raw), "the span")
    owner = as_object(load(resource), "resource") if resource else {}
    scoped = as_object(load(scope), "scope") if scope else {}
    return _record(span, named(owner), scoped, raw)


def check_document(document: Any) -> None:
    """Raise :class:`OtlpError` unless :func:`parse_line` would accept a line with this value."""
    for span, resource, scope in _walk(document):
        _record(span, resource, scope, b"")


def _parse_canonical(line: bytes) -> tuple[SpanRecord, ...] | None:
    """The spans of a line that orjson writes back byte for byte (so no key stands twice); None if it is no such line.

    Each span is written once, to have its raw bytes, and put into the whole as it is.
    """
    try:
        document: Any = orjson.loads(line)
        found: list[SpanRecord] = []
        for span, resource, scope in _walk(document):
            found.append(_record(span, resource, scope, write(span, IN_SPAN - 1)))
        rest = iter(found)
        for group in document["resourceSpans"]:
            for part in group.get("scopeSpans", ()):
                spans = part.get("spans", ())
                spans[:] = [orjson.Fragment(record.raw) for record, _ in zip(rest, spans, strict=False)]
        return tuple(found) if orjson.dumps(document) == line else None
    except (OtlpError, orjson.JSONDecodeError, orjson.JSONEncodeError):
        return None


def _walk(document: Any) -> Iterator[tuple[JsonObject, Mapping[str, Value], JsonObject]]:
    root = as_object(document, "the line")
    if "resourceSpans" not in root:
        other = next((key for key in ("resourceLogs", "resourceMetrics") if key in root), None)
        raise OtlpError(f"not traces: the line has {other}" if other else "not OTLP traces: no resourceSpans")
    for group in fields.array(root, "resourceSpans"):
        of_resource = as_object(group, "an entry of resourceSpans")
        fields.text(of_resource, "schemaUrl")
        resource = named(as_object(of_resource.get("resource", {}), "resource"))
        for part in fields.array(of_resource, "scopeSpans"):
            of_scope = as_object(part, "an entry of scopeSpans")
            fields.text(of_scope, "schemaUrl")
            scope = as_object(of_scope.get("scope", {}), "scope")
            _scope_names(scope)
            named(scope)
            for span in fields.array(of_scope, "spans"):
                yield as_object(span, "a span"), resource, scope


def _scope_names(scope: JsonObject) -> tuple[str, str]:
    return fields.text(scope, "name"), fields.text(scope, "version")


def _record(span: JsonObject, resource: Mapping[str, Value], scope: JsonObject, raw: bytes) -> SpanRecord:
    status = as_object(span.get("status", {}), "status")
    scope_name, scope_version = _scope_names(scope)
    return SpanRecord(
        trace_id=fields.trace_id(span),
        span_id=fields.span_id(span),
        parent_span_id=fields.span_id(span, "parentSpanId", optional=True),
        name=fields.text(span, "name"),
        kind=fields.whole(span, "kind", _U32),
        start=fields.whole(span, "startTimeUnixNano"),
        end=fields.whole(span, "endTimeUnixNano"),
        attributes=named(span),
        events=tuple([_event(event) for event in fields.array(span, "events")]),
        links=tuple([_link(link) for link in fields.array(span, "links")]),
        status_code=fields.whole(status, "code", 3),
        status_message=fields.text(status, "message"),
        resource=resource,
        scope_name=scope_name,
        scope_version=scope_version,
        flags=fields.whole(span, "flags", _U32),
        trace_state=fields.text(span, "traceState"),
        dropped=_dropped(span, "droppedAttributesCount", "droppedEventsCount", "droppedLinksCount"),
        raw=raw,
    )


def _event(value: object) -> EventRecord:
    event = as_object(value, "an event")
    _dropped(event, "droppedAttributesCount")
    return EventRecord(fields.text(event, "name"), fields.whole(event, "timeUnixNano"), named(event))


def _link(value: object) -> LinkRecord:
    link = as_object(value, "a link")
    _dropped(link, "droppedAttributesCount")
    fields.whole(link, "flags", _U32)
    fields.text(link, "traceState")
    return LinkRecord(fields.trace_id(link), fields.span_id(link), named(link))


def _dropped(owner: JsonObject, *keys: str) -> int:
    return sum(fields.whole(owner, key, _U32) for key in keys if key in owner)
