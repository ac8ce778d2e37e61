"""Strict OTLP JSON: cut export lines byte for byte, and read spans from them. Pure; imports genai and errors only.

Input is what the official file exporters and the collector's ``encoding: json`` write: UTF-8, ids in lower hex,
64-bit integers as decimal strings. Anything with two readings (a key twice, a lone surrogate, two values in one
AnyValue) is refused with :class:`~spanseal.errors.OtlpError`; unknown keys are allowed and kept. ``cut_line`` and
``parse_line`` accept exactly the same lines. Source: OTLP 1.x, "JSON Protobuf Encoding".
"""

from __future__ import annotations

from spanseal.records.otlp.cut import CutLine, CutSpan, PrivateSlice, cut_line
from spanseal.records.otlp.parse import parse_line, parse_span
from spanseal.records.otlp.values import EventRecord, LinkRecord, SpanRecord, Value

__all__ = [
    "CutLine",
    "CutSpan",
    "EventRecord",
    "LinkRecord",
    "PrivateSlice",
    "SpanRecord",
    "Value",
    "cut_line",
    "parse_line",
    "parse_span",
]
