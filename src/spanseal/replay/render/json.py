"""A run as one JSON document: everything that was read, times in nanoseconds, content in full.

May import ``replay.run`` and the siblings. ``timeline`` lists all parts in order of start, each with its ``kind``,
``span_id``, ``parent_id`` and ``step``; the text is ASCII, so that no content can steer a terminal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final, cast

from spanseal.genai.messages import LLMResponse
from spanseal.replay.forest import walk
from spanseal.replay.render.words import iso
from spanseal.replay.run import Part, Run, Step

_DEEPEST: Final = 100
_DERIVED: Final = frozenset({"steps", "calls", "tools", "verifications", "decisions", "tree"})


def run_summary(run: Run) -> dict[str, Any]:
    """One row of ``spanseal runs --json``."""
    return {
        "run_id": run.run_id,
        "trace_id": run.trace_id,
        "agent": run.agent,
        "parent_run_id": run.parent_run_id,
        "outcome": run.outcome,
        "grade": run.grade,
        "started": iso(run.started),
        "spans": run.span_count,
        "calls": len(run.calls),
        "replayable": run.replayable(),
    }


def run_document(run: Run) -> dict[str, Any]:
    """The whole run: its head, its notes, and the timeline of its parts."""
    head = {f.name: plain(getattr(run, f.name)) for f in fields(run) if f.name not in _DERIVED}
    timeline = [part_document(part) for part in _in_order(run)]
    return {**head, "replayable": run.replayable(), "timeline": timeline}


def step_document(run: Run, step: Step) -> dict[str, Any]:
    """One step: the run's head and the step's part of the timeline."""
    whole = run_document(run)
    whole["timeline"] = [part_document(part) for part in _in_order(run) if part.step == step.number]
    return whole


def _in_order(run: Run) -> list[Part]:
    return sorted(walk(run.tree), key=lambda part: part.started)


def part_document(part: Part) -> dict[str, Any]:
    """One part with its kind: step, call, tooluse, verification, decision, other; innerrun, where another one began."""
    return {"kind": type(part).__name__.lower(), **plain(part)}


def dumps(document: object) -> str:
    """The document as indented ASCII JSON text."""
    return json.dumps(document, indent=2, ensure_ascii=True)


def plain(value: Any, depth: int = 0) -> Any:
    """Any value of a run as JSON values; a step's parts are left to the timeline."""
    if depth > _DEEPEST:
        return "(nested too deeply)"
    if is_dataclass(value) and not isinstance(value, type):
        leave_out = _DERIVED if isinstance(value, Part) and hasattr(value, "number") else frozenset[str]()
        if isinstance(value, LLMResponse):
            leave_out = frozenset({"raw"})
        members = {f.name: plain(getattr(value, f.name), depth + 1) for f in fields(value) if f.name not in leave_out}
        return members if isinstance(value, Part) else _with_kind(value, members)
    if isinstance(value, Mapping):
        return {str(key): plain(item, depth + 1) for key, item in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [plain(item, depth + 1) for item in cast("list[Any]", value)]
    if isinstance(value, bytes):
        return value.hex()
    if (isinstance(value, float) and value in (float("inf"), float("-inf"))) or value != value:
        return str(value)
    return value


def _with_kind(value: object, members: dict[str, Any]) -> dict[str, Any]:
    """The parts of a message need their type's name to be told apart."""
    if type(value).__module__ == "spanseal.genai.messages" and "role" not in members:
        return {"type": type(value).__name__.lower(), **members}
    return members
