"""The spans of a run with every large value back in its attribute. May import ``records`` and the siblings.

Spans that only carry parts of values are taken out: they tell nothing else. Never raises on content.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from spanseal.genai import semconv
from spanseal.records.large_values import CHANGED, Values
from spanseal.records.otlp import SpanRecord
from spanseal.replay.note import Note
from spanseal.replay.sources.base import SourceSpan

_STATUS = "the status message"


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
        whole, problems = _whole(span.record, values)
        place = f"span {span.record.span_id}"
        notes += [Note("value-changed" if CHANGED in problem else "value", place, problem) for problem in problems]
        result.append(span if whole is span.record else replace(span, record=whole))
    return result or list(spans)


def _whole(record: SpanRecord, values: Values) -> tuple[SpanRecord, list[str]]:
    """The span with what its attributes, events and status say; and what of that is not here."""
    attributes, problems = values.put_back(record.attributes)
    if attributes is not record.attributes:
        record = replace(record, attributes=attributes)
    events = [values.put_back(event.attributes) for event in record.events]
    if any(whole is not event.attributes for (whole, _), event in zip(events, record.events, strict=True)):
        found = zip(events, record.events, strict=True)
        record = replace(record, events=tuple(replace(event, attributes=whole) for (whole, _), event in found))
    status, lost = values.put_back({_STATUS: record.status_message})
    if status[_STATUS] != record.status_message:
        record = replace(record, status_message=status[_STATUS])
    return record, [*problems, *(problem for _, each in events for problem in each), *lost]
