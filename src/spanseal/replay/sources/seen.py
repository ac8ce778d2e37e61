"""Tell a span that came twice from two spans that claim the same ids. May import ``records`` and ``genai`` names."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Literal, TypeAlias

from spanseal.genai import semconv
from spanseal.records.otlp import SpanRecord, Value

Newness: TypeAlias = Literal["new", "duplicate", "conflict", "ended"]


def span_digest(record: SpanRecord) -> bytes:
    """16 bytes over everything that the span says, whatever the order of keys or the encoding of the line.

    Resource and scope are left out: a collector adds to them, and the span stays the same.
    """
    events = [(event.name, event.time, _sorted(event.attributes)) for event in record.events]
    links = [(link.trace_id, link.span_id, _sorted(link.attributes)) for link in record.links]
    told = (
        record.parent_span_id, record.name, record.kind, record.start, record.end, record.status_code,
        record.status_message, record.trace_state, _sorted(record.attributes), events, links,
    )
    return hashlib.blake2b(repr(told).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def is_open(record: SpanRecord) -> bool:
    """True for the mark that an adopting exporter leaves of a span that never ended."""
    return record.attributes.get(semconv.OPEN) is True


class Seen:
    """Remembers 16 bytes a span. A span told as open and later as ended is no conflict: *ended* supersedes."""

    def __init__(self) -> None:
        self._digests: dict[str, dict[bytes, bool]] = {}
        self.duplicates = 0

    def judge(self, record: SpanRecord) -> Newness:
        """Whether the span is new here, a repetition, another content under known ids, or the end of an open one."""
        known = self._digests.setdefault(record.trace_id + record.span_id, {})
        digest, still_open = span_digest(record), is_open(record)
        repeated = digest in known or (still_open and False in known.values())
        if repeated:
            self.duplicates += 1
            return "duplicate"
        before = list(known.values())
        known[digest] = still_open
        if not before:
            return "new"
        return "ended" if all(before) and not still_open else "conflict"


def _sorted(attributes: Mapping[str, Value]) -> list[tuple[str, Value]]:
    return sorted(attributes.items(), key=lambda item: item[0])
