"""The start of a span as a line: what is known then, without an end. May import encode and genai's names.

Most spans end, so a start is written in the cheapest form, *brief*, and becomes a span of OTLP (:func:`opened`) only if
it is adopted. What is large at the start (a prompt, arguments) would be written twice, so it is left out of a start and
is in the end.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Sized
from typing import Any, Final, cast

import orjson
from opentelemetry import trace
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import TraceState

from spanseal.genai import semconv
from spanseal.telemetry.active import active
from spanseal.telemetry.content.redactor import Redactor
from spanseal.telemetry.export.encode import LineEncoder, masked_attributes
from spanseal.telemetry.export.intents import Key
from spanseal.telemetry.export.sink import Stamps

MOST_CHARACTERS: Final = 1024
"""Longer texts and sequences are not in a start."""
_ENDED_AT_ONCE: Final = frozenset({semconv.SPAN_MANIFEST, semconv.SPAN_VALUE})
_BRIEF: Final = "brief"
_NO_ATTRIBUTES: Final[Mapping[str, Any]] = {}


def key_of(span: ReadableSpan) -> Key:
    """Trace and span id."""
    where = span.get_span_context()
    return (0, 0) if where is None else (where.trace_id, where.span_id)


def start_line(encoder: LineEncoder, span: ReadableSpan, stamps: Stamps) -> bytes | None:
    """The line, or None for spans of ours that start and end in one go."""
    if span.name in _ENDED_AT_ONCE:
        return None
    found = span.attributes or _NO_ATTRIBUTES
    whole = bool(span.links)
    for value in found.values():
        if isinstance(value, Sized) and len(value) > MOST_CHARACTERS:
            return encoder.line(_without_large(span, found), stamps)
        whole = whole or _beyond_json(value)
    if whole:
        return encoder.line(span, stamps)
    try:
        return encoder.framed(span, _brief(span, stamps))
    except (TypeError, ValueError):  # a value that JSON does not have
        return encoder.line(span, stamps)


def opened(line: bytes, end: int) -> bytes:
    """The line of a start as that of an open span which was last known to be alive at ``end`` (nanoseconds).

    The same bytes, whoever makes them.
    """
    document: Any = orjson.loads(line)
    spans: list[Any] = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    if _BRIEF in spans[0]:
        whole: Any = orjson.loads(LineEncoder().line(_of_brief(spans[0][_BRIEF]), {}))
        spans[0] = whole["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    span = spans[0]
    span["endTimeUnixNano"] = str(max(end, int(span["startTimeUnixNano"])))
    span.setdefault("attributes", []).append({"key": semconv.OPEN, "value": {"boolValue": True}})
    return orjson.dumps(document) + b"\n"


def _beyond_json(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    return isinstance(value, tuple | list) and any(map(_beyond_json, cast("Sequence[Any]", value)))


def _brief(span: ReadableSpan, stamps: Stamps) -> dict[str, Any]:
    redactor = active().redactor
    where, parent = key_of(span), span.parent
    state = span.context.trace_state if span.context else None
    return {
        _BRIEF: [
            f"{where[0]:032x}", f"{where[1]:016x}", redactor.text(span.name), span.kind.value, span.start_time,
            f"{parent.span_id:016x}" if parent else "", bool(parent and parent.is_remote),
            list(state.items()) if state else [], {**_masked(span, redactor), **stamps},
        ]
    }  # fmt: skip


def _masked(span: ReadableSpan, redactor: Redactor) -> dict[str, Any]:
    """As the end's will be; of our own spans the keys and our own words are not looked at again."""
    found = span.attributes or _NO_ATTRIBUTES
    scope = span.instrumentation_scope
    if scope is None or scope.name != semconv.SCOPE_NAME:
        return masked_attributes(span, redactor)
    ours, value = semconv.MACHINE_KEYS, redactor.value
    return {key: given if key in ours else value(key, given) for key, given in found.items()}


def _of_brief(brief: list[Any]) -> ReadableSpan:
    trace_id, span_id, name, kind, start, parent, remote, state, attributes = brief
    number = int(trace_id, 16)
    context = trace.SpanContext(number, int(span_id, 16), is_remote=False, trace_state=TraceState(state))
    return ReadableSpan(
        name,
        context,
        trace.SpanContext(number, int(parent, 16), is_remote=remote) if parent else None,
        Resource.get_empty(),
        attributes,
        kind=trace.SpanKind(kind),
        start_time=start,
    )


def _without_large(span: ReadableSpan, found: Mapping[str, Any]) -> ReadableSpan:
    small: dict[str, Any] = {
        key: value for key, value in found.items() if not isinstance(value, Sized) or len(value) <= MOST_CHARACTERS
    }
    return ReadableSpan(
        span.name,
        span.context,
        span.parent,
        span.resource,
        small,
        links=span.links,
        kind=span.kind,
        status=span.status,
        start_time=span.start_time,
        instrumentation_scope=span.instrumentation_scope,
    )
