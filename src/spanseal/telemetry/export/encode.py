"""An ended span as one line of OTLP JSON, byte for byte what the official encoder says.

The official encoder builds some hundred objects a span and costs several times what the span itself does, so the
span is written here directly (the tests hold both equal); resource and scope, which repeat, are the official encoder's
and are kept. Mended is what strict readers and the collector refuse: lone surrogates become U+FFFD, integers beyond 64
bits become strings. Everything that a span carries is masked, whoever made it (what was masked before is known by its
hash). The stamps are put on again, since the SDK drops the oldest attributes beyond its limit. May import sink, active,
redactor and to_json.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

import orjson
from opentelemetry.exporter.otlp.json.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.trace import Link, SpanContext

from spanseal.genai import semconv
from spanseal.genai.wire_json import as_list, as_map, is_list, is_map, mend_text
from spanseal.telemetry.active import active
from spanseal.telemetry.content.redactor import Redactor
from spanseal.telemetry.content.to_json import INT64, nonfinite
from spanseal.telemetry.export.sink import Stamps, nanoseconds

PREFIX: Final = b'{"resourceSpans":['
SUFFIX: Final = b"]}\n"
_MARK: Final = "\ufdd0spans\ufdd0"  # a noncharacter: no span says this


class LineEncoder:
    """Writes spans as lines; keeps the envelope (resource and scope) of the scopes that it has seen last."""

    def __init__(self) -> None:
        self._envelopes: dict[tuple[int, int], tuple[Any, Any, Redactor, bytes, bytes]] = {}

    def line(self, span: ReadableSpan, stamps: Stamps) -> bytes:
        """One OTLP document with one span, ended by a newline."""
        return self.framed(span, _span(span, stamps, active().redactor))

    def framed(self, span: ReadableSpan, encoded: Mapping[str, Any]) -> bytes:
        """A line of this span's resource and scope with ``encoded`` in the place of the span."""
        before, after = self._envelope(span, active().redactor)
        try:
            return before + orjson.dumps(encoded) + after
        except (TypeError, ValueError):  # a lone surrogate somewhere
            return before + orjson.dumps(_each_text(encoded, mend_text)) + after

    def _envelope(self, span: ReadableSpan, redactor: Redactor) -> tuple[bytes, bytes]:
        resource, scope = span.resource, span.instrumentation_scope
        place = (id(resource), id(scope))
        kept = self._envelopes.get(place)
        if kept is not None and kept[0] is resource and kept[1] is scope and kept[2] is redactor:
            return kept[3], kept[4]
        document = cast("Any", encode_spans([span]).to_dict())
        document["resourceSpans"][0]["scopeSpans"][0]["spans"] = [_MARK]
        masked = _each_text(_envelope_masked(document, redactor), mend_text)
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


def _span(span: ReadableSpan, stamps: Stamps, redactor: Redactor) -> dict[str, Any]:
    where = cast("SpanContext", span.get_span_context())
    out: dict[str, Any] = {"traceId": f"{where.trace_id:032x}", "spanId": f"{where.span_id:016x}"}
    if where.trace_state:
        out["traceState"] = ",".join(f"{key}={value}" for key, value in where.trace_state.items())
    parent = span.parent
    if parent is not None:
        out["parentSpanId"] = f"{parent.span_id:016x}"
    out["flags"] = 768 if parent is not None and parent.is_remote else 256
    if span.name:
        out["name"] = redactor.text(span.name)
    out["kind"] = span.kind.value + 1
    out["startTimeUnixNano"] = str(nanoseconds(span.start_time))
    out["endTimeUnixNano"] = str(nanoseconds(span.end_time))
    _some(out, "attributes", _attributes(_stamped(masked_attributes(span, redactor), stamps)))
    _some(out, "droppedAttributesCount", span.dropped_attributes)
    _some(out, "events", [_event(event, redactor) for event in span.events])
    _some(out, "droppedEventsCount", span.dropped_events)
    _some(out, "links", [_link(link, redactor) for link in span.links])
    _some(out, "droppedLinksCount", span.dropped_links)
    status: dict[str, Any] = {}
    _some(status, "message", redactor.text(span.status.description or ""))
    _some(status, "code", span.status.status_code.value)
    out["status"] = status
    return out


def masked_attributes(span: ReadableSpan, redactor: Redactor) -> dict[str, Any]:
    """The attributes masked; of our own spans not the ids and digests that we made."""
    attributes = span.attributes or {}
    masked = redactor.attributes(attributes)
    scope = span.instrumentation_scope
    if scope is not None and scope.name == semconv.SCOPE_NAME:
        for key in semconv.MACHINE_KEYS & attributes.keys():
            masked[key] = attributes[key]
    return masked


def _stamped(attributes: Mapping[str, Any], stamps: Stamps) -> Mapping[str, Any]:
    if all(attributes.get(key) == value for key, value in stamps.items()):
        return attributes
    return {**attributes, **stamps}


def _event(event: Event, redactor: Redactor) -> dict[str, Any]:
    out: dict[str, Any] = {"timeUnixNano": str(nanoseconds(event.timestamp))}
    _some(out, "name", redactor.text(event.name))
    _some(out, "attributes", _attributes(redactor.attributes(event.attributes or {})))
    _some(out, "droppedAttributesCount", event.dropped_attributes)
    return out


def _link(link: Link, redactor: Redactor) -> dict[str, Any]:
    where = link.context
    out: dict[str, Any] = {"traceId": f"{where.trace_id:032x}", "spanId": f"{where.span_id:016x}"}
    _some(out, "attributes", _attributes(redactor.attributes(link.attributes or {})))
    _some(out, "droppedAttributesCount", link.dropped_attributes)
    out["flags"] = 768 if where.is_remote else 256
    return out


def _attributes(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _some(out: dict[str, Any], key: str, value: Any) -> None:
    """Proto3 JSON leaves out what is empty or zero."""
    if value:
        out[key] = value


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(int(value))} if value in INT64 else {"stringValue": str(int(value))}
    if isinstance(value, float):
        return {"doubleValue": value if math.isfinite(value) else nonfinite(value)}
    if value is None:
        return {}
    if isinstance(value, bytes):
        return {"bytesValue": base64.b64encode(value).decode()}
    if isinstance(value, Mapping):
        pairs = _attributes({str(key): item for key, item in cast("Mapping[Any, Any]", value).items()})
        return {"kvlistValue": {"values": pairs} if pairs else {}}
    items = [_value(item) for item in cast("Sequence[Any]", value)]
    return {"arrayValue": {"values": items} if items else {}}


def _each_text(value: Any, change: Callable[[str], str]) -> Any:
    """``value`` with every text in it changed."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _each_text(item, change) for key, item in cast("dict[str, Any]", value).items()}
    if isinstance(value, list):
        return [_each_text(item, change) for item in cast("list[Any]", value)]
    return value
