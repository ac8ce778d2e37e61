"""What an inner run looks like in the tree of the run that started it. May import ``replay``'s values and siblings."""

from __future__ import annotations

from typing import Final

from rich.text import Text

from spanseal.replay.inner_runs import InnerRun
from spanseal.replay.render.labels import Label
from spanseal.replay.render.text import Marks, safe
from spanseal.replay.render.words import duration

_SHORT: Final = 12

def inner_label(part: InnerRun, marks: Marks) -> Label:
    """Its id, agent and outcome; the rest is shown where that run is."""
    line = Text("run ", "dim").append(safe(part.run_id, marks)[:_SHORT], "bold")
    line.append(f" {safe(part.agent, marks)}", "cyan")
    took = duration(part.duration_ms) if part.ended is not None else "not ended"
    for word in filter(None, (safe(part.outcome, marks) or "no outcome recorded", took)):
        line.append(f" {marks.dot} {word}", "dim")
    return Label(line)
