"""The spans of a run with every call's messages in full, where calls were recorded as deltas of earlier ones.

May import ``records``, ``genai`` names and the siblings. Never raises on content.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from spanseal.records.history_read import Lost, base_of, restored
from spanseal.replay.sources.base import SourceSpan


def restore(spans: Sequence[SourceSpan]) -> list[SourceSpan]:
    """The same spans in the same order; a call whose base is not among them says so in ``lost``."""
    if not any(base_of(span.record.attributes) for span in spans):
        return list(spans)
    times = Counter(span.record.span_id for span in spans)
    twice = {name for name, number in times.items() if number > 1}
    found = restored({span.record.span_id: span.record.attributes for span in spans}, twice)
    result: list[SourceSpan] = []
    for span in spans:
        whole = found.get(span.record.span_id)
        if isinstance(whole, Lost):
            span = replace(span, lost=whole.reason if base_of(span.record.attributes) else "")
        elif whole is not None:
            span = replace(span, record=replace(span.record, attributes=whole))
        result.append(span)
    return result
