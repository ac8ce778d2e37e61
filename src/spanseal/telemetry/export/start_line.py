"""The start of a span as a line: what is known then, without an end. May import encode and genai's names.

What is large at the start (a prompt, arguments) would be written twice, so it is left out of a start and is in the end.
"""

from __future__ import annotations

from typing import Any, Final

import orjson
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
    """The line, its end 0; or None for spans of ours that start and end in one go."""
    return None if span.name in _ENDED_AT_ONCE else encoder.line(span, stamps, MOST_CHARACTERS)


def opened(line: bytes, end: int) -> bytes:
    """The line of a start as that of an open span which was last known to be alive at ``end`` (nanoseconds).

    The same bytes, whoever makes them.
    """
    document: Any = orjson.loads(line)
    span: dict[str, Any] = document["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    span["endTimeUnixNano"] = str(max(end, int(span["startTimeUnixNano"])))
    span.setdefault("attributes", []).append({"key": semconv.OPEN, "value": {"boolValue": True}})
    return orjson.dumps(document) + b"\n"
