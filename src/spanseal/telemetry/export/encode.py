"""An ended span as one line of OTLP JSON, byte for byte what the official encoder says.

The official encoder builds some hundred objects a span and costs several times what the span itself does, so the
span is written here directly (the tests hold both equal); resource and scope, which repeat, are the official encoder's
and are kept. Mended is what strict readers and the collector refuse: lone surrogates become U+FFFD, integers beyond 64
bits become strings. Everything that a span carries is masked, whoever made it (what was masked before is known by its
hash). The stamps are put on again, since the SDK drops the oldest attributes beyond its limit. May import sink, active,
attribute_list and redactor.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, Final, cast

import orjson
from opentelemetry.exporter.otlp.json.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.trace import Link, SpanContext

from spanseal.genai import semconv
from spanseal.genai.wire_json import as_list, as_map, is_list, is_map, mend
from spanseal.telemetry.active import active
from spanseal.telemetry.content.redaction.redactor import Redactor
from spanseal.telemetry.export.attribute_list import AttributeList
from spanseal.telemetry.export.sink import Stamps, nanoseconds
from spanseal.telemetry.spans.attributes import plain_attributes

PREFIX: Final = b'{"resourceSpans":['
SUFFIX: Final = b"]}\n"
_OURS: Final = semconv.MACHINE_KEYS | semconv.WORD_KEYS
_MARK: Final = "\ufdd0spans\ufdd0"  # a noncharacter: no span says this


class LineEncoder:
    """Writes spans as lines; keeps the envelope (resource and scope) of the scopes that it has seen last."""

    def __init__(self) -> None:
        self._envelopes: dict[tuple[int, int], tuple[Any, Any, Redactor, bytes, bytes]] = {}
        self._attributes = AttributeList(active().redactor)

    def line(self, span: ReadableSpan, stamps: Stamps, most: int = 0) -> bytes:
        """One OTLP document with one span, ended by a newline; with ``most`` without attributes longer than that."""
        redactor, writer = active().redactor, self._attributes
        if writer.redactor is not redactor:
            writer = self._attributes = AttributeList(redactor)
        before, after = self._envelope(span, redactor)
        encoded = _span(span, stamps, writer, most)
        try:
            return b"%b%b%b" % (before, orjson.dumps(encoded), after)  # a line may be long: one copy
        except (TypeError, ValueError):  # a lone surrogate somewhere
            return before + orjson.dumps(mend(encoded)) + after

    def _envelope(self, span: ReadableSpan, redactor: Redactor) -> tuple[bytes, bytes]:
        resource, scope = span.resource, span.instrumentation_scope
        place = (id(resource), id(scope))
        kept = self._envelopes.get(place)
        if kept is not None and kept[0] is resource and kept[1] is scope and kept[2] is redactor:
            return kept[3], kept[4]
        document = cast("Any", encode_spans([span]).to_dict())
        document["resourceSpans"][0]["scopeSpans"][0]["spans"] = [_MARK]
        masked = mend(_envelope_masked(document, redactor))
        before, after = orjson.dumps(masked).split(orjson.dumps(_MARK))
        if len(self._envelopes) > 256:
            self._envelopes.clear()
        self._envelopes[place] = (resource, scope, redactor, before, after + b"\n")
        return before, after + b"\n"


def batch(lines: Sequence[bytes]) -> bytes:
    """Lines of :meth:`LineEncoder.line` as one request body.

    >>> batch([PREFIX + b"{}" + SUFFIX, PREFIX + b"{}" + SUFFIX])
    b'{"resourceSpans":[{},{}]}'
    """
    return PREFIX + b",".join(line[len(PREFIX) : -len(SUFFIX)] for line in lines) + SUFFIX[:-1]


def _envelope_masked(document: Any, redactor: Redactor) -> Any:
    """Resource and scope with the values of their attributes masked."""
    for holder in (as_map(document["resourceSpans"][0]), as_map(document["resourceSpans"][0]["scopeSpans"][0])):
        for name in ("resource", "scope"):
            for pair in as_list(as_map(holder.get(name)).get("attributes")):
                pair["value"] = _masked_json(pair["key"], pair.get("value"), redactor)
    return document


def _masked_json(key: str, value: Any, redactor: Redactor) -> Any:
    """An attribute's value in OTLP's own form, masked."""
    if is_map(value):
        return {
            name: redactor.value(key, item) if name == "stringValue" else _masked_json(key, item, redactor)
            for name, item in value.items()
        }
    return [_masked_json(key, item, redactor) for item in value] if is_list(value) else value


def _span(span: ReadableSpan, stamps: Stamps, writer: AttributeList, most: int) -> dict[str, Any]:
    where, redactor = cast("SpanContext", span.get_span_context()), writer.redactor
    clear = _clear(span)
    out: dict[str, Any] = {"traceId": f"{where.trace_id:032x}", "spanId": f"{where.span_id:016x}"}
    if where.trace_state:
        out["traceState"] = ",".join(f"{key}={value}" for key, value in where.trace_state.items())
    parent = span.parent
    if parent is not None:
        out["parentSpanId"] = f"{parent.span_id:016x}"
    out["flags"] = 768 if parent is not None and parent.is_remote else 256
    if span.name:
        out["name"] = span.name if clear and span.name in semconv.WORDS else redactor.text(span.name)
    out["kind"] = span.kind.value + 1
    out["startTimeUnixNano"] = str(nanoseconds(span.start_time))
    out["endTimeUnixNano"] = str(nanoseconds(span.end_time))
    attributes = plain_attributes(span)
    if attributes or stamps:
        out["attributes"] = orjson.Fragment(writer.written(attributes, stamps, clear, most))
    _some(out, "droppedAttributesCount", span.dropped_attributes)
    _some(out, "events", [_event(event, writer, clear) for event in span.events])
    _some(out, "droppedEventsCount", span.dropped_events)
    _some(out, "links", [_link(link, writer) for link in span.links])
    _some(out, "droppedLinksCount", span.dropped_links)
    status: dict[str, Any] = {}
    _some(status, "message", redactor.text(span.status.description or ""))
    _some(status, "code", span.status.status_code.value)
    out["status"] = status
    return out


def _clear(span: ReadableSpan) -> Collection[str]:
    """What is not masked: of our own spans the ids, digests and words that we made."""
    scope = span.instrumentation_scope
    return _OURS if scope is not None and scope.name == semconv.SCOPE_NAME else ()


def _event(event: Event, writer: AttributeList, clear: Collection[str]) -> dict[str, Any]:
    out: dict[str, Any] = {"timeUnixNano": str(nanoseconds(event.timestamp))}
    _some(out, "name", event.name if clear and event.name in semconv.WORDS else writer.redactor.text(event.name))
    _told(out, event, writer, clear)
    _some(out, "droppedAttributesCount", event.dropped_attributes)
    return out


def _link(link: Link, writer: AttributeList) -> dict[str, Any]:
    where = link.context
    out: dict[str, Any] = {"traceId": f"{where.trace_id:032x}", "spanId": f"{where.span_id:016x}"}
    _told(out, link, writer)
    _some(out, "droppedAttributesCount", link.dropped_attributes)
    out["flags"] = 768 if where.is_remote else 256
    return out


def _told(out: dict[str, Any], holder: Event | Link, writer: AttributeList, clear: Collection[str] = ()) -> None:
    attributes = plain_attributes(holder)
    if attributes:
        out["attributes"] = orjson.Fragment(writer.written(attributes, clear=clear))


def _some(out: dict[str, Any], key: str, value: Any) -> None:
    """Proto3 JSON leaves out what is empty or zero."""
    if value:
        out[key] = value
