"""Runs inside runs: who started whom, and where in the tree, also where the other one ran on another host.

May import ``replay.run`` and the note.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from spanseal.replay.note import Note
from spanseal.replay.run import Node, Part, Run


@dataclass(frozen=True, slots=True, kw_only=True)
class InnerRun(Part):
    """The place in a run's tree where another run started; that one has a tree of its own."""

    run_id: str
    agent: str = ""
    outcome: str = ""


def related(runs: Sequence[Run]) -> list[Run]:
    """Each run with its inner runs: those its manifests name, and those whose root lies in it or names it."""
    inner: defaultdict[str, list[Run]] = defaultdict(list)
    for run in runs:
        if run.parent_run_id:
            inner[run.parent_run_id].append(run)
    here = {run.run_id for run in runs}
    return [_with_inner(run, sorted(inner[run.run_id], key=lambda child: child.started), here) for run in runs]


def _with_inner(run: Run, inner: Sequence[Run], here: set[str]) -> Run:
    lost = [child for child in run.children if child not in here]
    meaning = "an inner run that the manifest names is not here"
    notes = tuple(Note("child", f"run {child}", meaning) for child in lost)
    children = tuple(dict.fromkeys((*run.children, *(child.run_id for child in inner))))
    places: defaultdict[str, list[InnerRun]] = defaultdict(list)
    for child in inner:
        for node in child.tree[:1]:
            places[node.part.parent_id].append(_place(child, node.part))
    tree = tuple(_grafted(node, places) for node in run.tree) if places else run.tree
    return replace(run, children=children, tree=tree, notes=(*run.notes, *notes))


def _place(run: Run, root: Part) -> InnerRun:
    return InnerRun(
        span_id=root.span_id, parent_id=root.parent_id, name=root.name, started=run.started, ended=run.ended,
        run_id=run.run_id, agent=run.agent, outcome=run.outcome,
    )  # fmt: skip


def _grafted(node: Node, places: defaultdict[str, list[InnerRun]]) -> Node:
    below = [_grafted(child, places) for child in node.children]
    new = [Node(replace(place, step=node.part.step)) for place in places.get(node.part.span_id, ())]
    if new:
        below = sorted(below + new, key=lambda child: child.part.started)
    return Node(node.part, tuple(below))
