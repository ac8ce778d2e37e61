"""The spans of a run with every large value back in its attribute. May import ``records`` and the siblings.

Spans that only carry parts of values are taken out: they tell nothing else. Never raises on content.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from spanseal.genai import semconv
from spanseal.records.large_values import Values
from spanseal.records.otlp import SpanRecord
from spanseal.replay.note import Note
from spanseal.replay.sources.base import SourceSpan


def is_value(record: SpanRecord) -> bool:
    """Whether a span carries a part of a value and nothing else."""
    return record.name == semconv.SPAN_VALUE and semconv.VALUE_SHA256 in record.attributes


def with_values(spans: Sequence[SourceSpan], notes: list[Note]) -> list[SourceSpan]:
    """The other spans in the same order, values put back; what is missing is noted, and said in the value's place."""
    values, others = Values(), [span for span in spans if not is_value(span.record)]
    for span in spans:
        if is_value(span.record):
            values.add(span.record.attributes)
    result: list[SourceSpan] = []
    for span in others:
        whole, problems = values.put_back(span.record.attributes)
        notes += [Note("value", f"span {span.record.span_id}", problem) for problem in problems]
        if whole is not span.record.attributes:
            span = replace(span, record=replace(span.record, attributes=whole))
        result.append(span)
    return result or list(spans)
