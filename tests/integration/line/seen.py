"""A span as a place tells it, in one form for all places: the SDK, the archive, the store, Jaeger.

Read from the JSON by hand and not with the product's own parser, which is part of what is tested.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, cast

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import format_span_id, format_trace_id


@dataclass(frozen=True)
class Seen:
    """Ids in hex, times in nanoseconds, kind and status as OTLP's numbers, values as plain JSON values."""

    span_id: str
    trace_id: str
    parent_id: str
    name: str
    kind: int
    start: int
    end: int
    status: int
    message: str
    attributes: dict[str, Any]
    events: list[list[Any]]
    resource: dict[str, Any]
    scope: str


def of_sdk_span(span: ReadableSpan) -> dict[str, Any]:
    """A span as the SDK ended it, as JSON for :func:`of_report`."""
    context, scope = span.get_span_context(), span.instrumentation_scope
    assert context is not None
    assert scope is not None
    events = [[event.name, event.timestamp, _plain(event.attributes or {})] for event in span.events]
    return asdict(Seen(
        format_span_id(context.span_id), format_trace_id(context.trace_id),
        format_span_id(span.parent.span_id) if span.parent else "", span.name, span.kind.value + 1,
        span.start_time or 0, span.end_time or 0, span.status.status_code.value, span.status.description or "",
        _plain(span.attributes or {}), events, _plain(span.resource.attributes), scope.name,
    ))  # fmt: skip


def of_report(spans: Sequence[Mapping[str, Any]]) -> dict[str, Seen]:
    """The spans of the application's own report, by id."""
    return {span["span_id"]: Seen(**span) for span in spans}


def of_otlp(document: Mapping[str, Any]) -> Iterator[Seen]:
    """The spans of an OTLP JSON document."""
    for group in document["resourceSpans"]:
        for scope in group["scopeSpans"]:
            for span in scope["spans"]:
                yield of_otlp_span(span, group.get("resource", {}), scope.get("scope", {}))


def of_otlp_span(span: Mapping[str, Any], resource: Mapping[str, Any], scope: Mapping[str, Any]) -> Seen:
    """One span of such a document, with what stands around it."""
    status = span.get("status", {})
    events = [[one["name"], int(one["timeUnixNano"]), _attributes(one)] for one in span.get("events", [])]
    return Seen(
        span["spanId"], span["traceId"], span.get("parentSpanId", ""), span["name"], span["kind"],
        int(span["startTimeUnixNano"]), int(span["endTimeUnixNano"]), status.get("code", 0),
        status.get("message", ""), _attributes(span), events, _attributes(resource), scope.get("name", ""),
    )  # fmt: skip


def _attributes(holder: Mapping[str, Any]) -> dict[str, Any]:
    pairs = [(one["key"], _value(one["value"])) for one in holder.get("attributes", [])]
    found = dict(pairs)
    assert len(found) == len(pairs), "a key stands there twice"
    return found


def _value(value: Mapping[str, Any]) -> Any:
    ((kind, inner),) = value.items()
    if kind == "arrayValue":
        return [_value(one) for one in inner.get("values", [])]
    if kind == "intValue":
        return int(inner)
    assert kind in ("stringValue", "boolValue", "doubleValue"), kind
    return inner


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: [*cast("tuple[Any, ...]", one)] if isinstance(one, tuple) else one for key, one in values.items()}
