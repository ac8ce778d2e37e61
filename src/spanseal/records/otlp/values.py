"""The values of a span as a reader sees them. Imports nothing of spanseal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

Value: TypeAlias = "str | bool | int | float | bytes | tuple[Value, ...] | Mapping[str, Value] | None"


@dataclass(frozen=True, slots=True)
class EventRecord:
    """One event of a span; ``time`` in ns since the Unix epoch, 0 where absent."""

    name: str
    time: int
    attributes: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class LinkRecord:
    """One link of a span, ids in lower hex."""

    trace_id: str
    span_id: str
    attributes: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class SpanRecord:
    """One exported span. Ids are lower hex (``parent_span_id`` empty at a root), times ns since the Unix epoch.

    ``status_code``: 0 unset, 1 ok, 2 error. ``dropped``: the sum of the span's dropped attribute, event and link
    counts. ``raw``: the span's exact bytes in the line it came from.
    """

    trace_id: str
    span_id: str
    parent_span_id: str
    name: str
    kind: int
    start: int
    end: int
    attributes: Mapping[str, Value]
    events: tuple[EventRecord, ...]
    links: tuple[LinkRecord, ...]
    status_code: int
    status_message: str
    resource: Mapping[str, Value]
    scope_name: str
    scope_version: str
    flags: int
    trace_state: str
    dropped: int
    raw: bytes
