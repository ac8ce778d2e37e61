"""Which spans belong to which run. May import ``records``, ``genai`` names and the siblings; executes nothing.

A stamped span belongs to the run it names; an unstamped one to its nearest ancestor that is stamped or an
``invoke_agent`` span, else to its trace (DESIGN 10.1). Two runs are never spliced into one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from spanseal.genai import semconv
from spanseal.records.otlp import SpanRecord
from spanseal.replay.note import Note
from spanseal.replay.sources.base import SourceSpan
from spanseal.replay.sources.seen import is_open

_Key: TypeAlias = tuple[str, str]


@dataclass(slots=True)
class Group:
    """The spans of one run, and what was odd in telling them apart. ``conflict``: the run may be two.

    ``parent`` is the run that the root's parent span belongs to, if that is another one.
    """

    run_id: str
    spans: list[SourceSpan] = field(default_factory=list[SourceSpan])
    notes: list[Note] = field(default_factory=list[Note])
    conflict: bool = False
    parent: str = ""


def gather(spans: Iterable[SourceSpan]) -> tuple[list[Group], int]:
    """The groups, and the number of spans that belong to no agent's run (plain HTTP traces, say)."""
    kept = _without_superseded(spans)
    by_ids = {(s.record.trace_id, s.record.span_id): s.record for s in kept}
    owners: dict[_Key, str] = {}
    groups: dict[str, Group] = {}
    for span in kept:
        run_id = _owner(span.record, by_ids, owners)
        groups.setdefault(run_id, Group(run_id)).spans.append(span)
    result: list[Group] = []
    strangers = 0
    for group in groups.values():
        if not any(_of_an_agent(span.record) for span in group.spans):
            strangers += len(group.spans)
            continue
        group.parent = _parent_run(group, by_ids, owners)
        result.extend(_split(group))
    return result, strangers


def is_root(record: SpanRecord) -> bool:
    """True for an ``invoke_agent`` span."""
    return record.attributes.get(semconv.OPERATION_NAME) == semconv.OP_INVOKE_AGENT


def _without_superseded(spans: Iterable[SourceSpan]) -> list[SourceSpan]:
    """Drop the *open* mark of a span that is there ended as well."""
    kept = list(spans)
    ended = {(s.record.trace_id, s.record.span_id) for s in kept if not is_open(s.record)}
    return [s for s in kept if not is_open(s.record) or (s.record.trace_id, s.record.span_id) not in ended]


def _owner(record: SpanRecord, by_ids: dict[_Key, SpanRecord], owners: dict[_Key, str]) -> str:
    """Walk up until someone knows; remember the answer for the whole path. A circle of parents ends at the trace."""
    path: dict[_Key, None] = {}
    at: SpanRecord | None = record
    owner = record.trace_id
    while at is not None:
        key = (at.trace_id, at.span_id)
        own = stamped_run(at) or (f"{at.trace_id}-{at.span_id}" if is_root(at) else "") or owners.get(key, "")
        if own:
            owner = own
            break
        if key in path:
            break
        path[key] = None
        at = by_ids.get((at.trace_id, at.parent_span_id)) if at.parent_span_id else None
    owners.update(dict.fromkeys(path, owner))
    return owner


def _parent_run(group: Group, by_ids: dict[_Key, SpanRecord], owners: dict[_Key, str]) -> str:
    """The run around this one, told by the parent span of its root."""
    for record in (span.record for span in group.spans if is_root(span.record)):
        parent = by_ids.get((record.trace_id, record.parent_span_id))
        if parent is not None and (owner := _owner(parent, by_ids, owners)) != group.run_id:
            return owner
    return ""


def stamped_run(record: SpanRecord) -> str:
    """The run id on the span, empty where there is none."""
    stamp = record.attributes.get(semconv.RUN_ID)
    return stamp if isinstance(stamp, str) else ""


def _of_an_agent(record: SpanRecord) -> bool:
    return any(key.startswith(semconv.AGENT_PREFIXES) for key in record.attributes)


def _split(group: Group) -> list[Group]:
    """One group, unless agents' roots in several traces claim the same run id: then a group a trace."""
    rooted = {span.record.trace_id for span in group.spans if is_root(span.record)}
    if len(rooted) < 2:
        return [group]
    by_trace: defaultdict[str, list[SourceSpan]] = defaultdict(list)
    for span in group.spans:
        by_trace[span.record.trace_id].append(span)
    meaning = f"{len(rooted)} traces have a root span that claims this run id; they are kept apart"
    note = Note("conflict", f"run {group.run_id}", meaning)
    return [Group(group.run_id, spans, [note], conflict=True) for spans in by_trace.values()]
