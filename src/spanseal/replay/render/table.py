"""Runs as a table for the terminal, newest first. May import ``replay.run``, rich's text and the siblings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rich.text import Text

from spanseal.replay.render.text import Marks, fit, safe
from spanseal.replay.render.tree import GRADES, OUTCOMES, shortened
from spanseal.replay.render.words import duration, instant
from spanseal.replay.run import Run

_GAP: Final = "  "
_DISPENSABLE: Final = ("inside", "spans", "replayable", "took", "calls")
"""Columns in the order in which a narrow terminal loses them."""
_SHORTEST_ID: Final = 12


def table(runs: Sequence[Run], width: int, marks: Marks) -> Iterator[Text]:
    """A head line and a line a run; without runs one line that says so."""
    if not runs:
        yield Text("no runs here")
        return
    ids = {run.run_id: short_id(run, runs) for run in runs}
    rows = [_row(run, ids[run.run_id], marks) for run in runs]
    if any(run.parent_run_id for run in runs):
        for row, run in zip(rows, runs, strict=True):
            row["inside"] = Text(safe(ids.get(run.parent_run_id, run.parent_run_id[:_SHORTEST_ID]), marks), "dim")
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    widths = {name: max(len(name), *(text.cell_len for text in cells)) for name, cells in columns.items()}
    for name in _DISPENSABLE:
        if _total(widths) <= width:
            break
        widths.pop(name, None)
    yield shortened(Text(_GAP.join(name.ljust(size) for name, size in widths.items()).rstrip(), "bold"), width, marks)
    for row in rows:
        line = Text()
        for name, size in widths.items():
            line.append(row[name]).append(" " * (size - row[name].cell_len) + _GAP)
        line.rstrip()
        yield shortened(line, width, marks)


def short_id(run: Run, runs: Sequence[Run]) -> str:
    """The shortest beginning of the run's id, twelve characters at least, that no other run's id has."""
    for size in range(_SHORTEST_ID, len(run.run_id)):
        if not any(other is not run and other.run_id.startswith(run.run_id[:size]) for other in runs):
            return run.run_id[:size]
    return run.run_id


def _row(run: Run, run_id: str, marks: Marks) -> dict[str, Text]:
    can = run.replayable()
    told = " ".join(f"{number} {grade}" for grade, number in can.items() if number)
    return {
        "run": Text(fit(safe(run_id, marks), 49, marks), "bold"),
        "agent": Text(fit(safe(run.agent, marks), 24, marks), "cyan"),
        "outcome": Text(fit(safe(run.outcome, marks), 10, marks), OUTCOMES.get(run.outcome, "bold red")),
        "record": Text(run.grade, GRADES[run.grade]),
        "started": Text(instant(run.started), "dim"),
        "took": Text(duration(run.duration_ms)),
        "spans": Text(str(run.span_count)),
        "calls": Text(str(len(run.calls))),
        "replayable": Text(told),
    }


def _total(widths: dict[str, int]) -> int:
    return sum(widths.values()) + len(_GAP) * (len(widths) - 1)
