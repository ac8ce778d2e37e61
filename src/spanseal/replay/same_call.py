"""Which spans tell a model call that a span of ours tells already, so that no call is counted twice.

May import ``records`` and ``genai`` names. Another instrumentation's span is of the same call if ours names it, if it
lies directly in ours, or if it stands beside ours (same parent, times that overlap) with the same response id. So are
the model-call spans directly around a named one, and those directly inside one that lies in ours.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from spanseal.genai import semconv
from spanseal.genai.model_calls import tells_model_call
from spanseal.records.otlp import SpanRecord
from spanseal.replay.sources.base import SourceSpan

_Key: TypeAlias = tuple[str, str]


def doubles(spans: Sequence[SourceSpan]) -> frozenset[_Key]:
    """The trace and span ids of the spans that are no call of their own. Empty wherever one instrumentation ran."""
    calls = [span.record for span in spans if tells_model_call(span.record.attributes)]
    ours = [record for record in calls if record.scope_name == semconv.SCOPE_NAME]
    theirs = {_key(record): record for record in calls if record.scope_name != semconv.SCOPE_NAME}
    if not ours or not theirs:
        return frozenset()
    named = [(record.trace_id, str(record.attributes.get(semconv.LLM_SAME_CALL, ""))) for record in ours]
    return frozenset(_around(named, theirs) | _inside(map(_key, ours), theirs) | _beside(ours, theirs))


def _around(named: Iterable[_Key], theirs: dict[_Key, SpanRecord]) -> set[_Key]:
    found: set[_Key] = set()
    for key in named:
        while key in theirs and key not in found:
            found.add(key)
            key = _parent(theirs[key])
    return found


def _inside(ours: Iterable[_Key], theirs: dict[_Key, SpanRecord]) -> set[_Key]:
    below: defaultdict[_Key, list[_Key]] = defaultdict(list)
    for key, record in theirs.items():
        below[_parent(record)].append(key)
    found: set[_Key] = set()
    left = list(ours)
    while left:
        for key in below.pop(left.pop(), ()):
            found.add(key)
            left.append(key)
    return found


def _beside(ours: Iterable[SpanRecord], theirs: dict[_Key, SpanRecord]) -> set[_Key]:
    own: defaultdict[tuple[_Key, str], list[SpanRecord]] = defaultdict(list)
    for record in ours:
        own[_parent(record), _response(record)].append(record)
    found: set[_Key] = set()
    for key, record in theirs.items():
        same = own.get((_parent(record), _response(record)), ()) if _response(record) else ()
        if any(one.start <= record.end and record.start <= one.end for one in same):
            found.add(key)
    return found


def _response(record: SpanRecord) -> str:
    return str(record.attributes.get(semconv.RESPONSE_ID, ""))


def _key(record: SpanRecord) -> _Key:
    return record.trace_id, record.span_id


def _parent(record: SpanRecord) -> _Key:
    return record.trace_id, record.parent_span_id
