"""The start of a span as a line: what is known then, without an end. May import encode and genai's names.

What is large at the start (a prompt, arguments) would be written twice, so it is left out of a start and is in the end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sized
from typing import Any, Final

from opentelemetry.sdk.trace import ReadableSpan

from spanseal.genai import semconv
from spanseal.telemetry.export.encode import LineEncoder
from spanseal.telemetry.export.intents import Key
from spanseal.telemetry.export.sink import Stamps

MOST_CHARACTERS: Final = 1024
"""Longer texts and sequences are not in a start."""
_ENDED_AT_ONCE: Final = frozenset({semconv.SPAN_MANIFEST, semconv.SPAN_VALUE})


def key_of(span: ReadableSpan) -> Key:
    """Trace and span id."""
    where = span.get_span_context()
    return (0, 0) if where is None else (where.trace_id, where.span_id)


def start_line(encoder: LineEncoder, span: ReadableSpan, stamps: Stamps) -> bytes | None:
    """The line, or None for spans of ours that start and end in one go."""
    if span.name in _ENDED_AT_ONCE:
        return None
    found = span.attributes or {}
    if any(_large(value) for value in found.values()):
        span = _without_large(span, found)
    return encoder.line(span, stamps)


def _large(value: Any) -> bool:
    return isinstance(value, Sized) and len(value) > MOST_CHARACTERS


def _without_large(span: ReadableSpan, found: Mapping[str, Any]) -> ReadableSpan:
    return ReadableSpan(
        span.name,
        span.context,
        span.parent,
        span.resource,
        {key: value for key, value in found.items() if not _large(value)},
        links=span.links,
        kind=span.kind,
        status=span.status,
        start_time=span.start_time,
        instrumentation_scope=span.instrumentation_scope,
    )
