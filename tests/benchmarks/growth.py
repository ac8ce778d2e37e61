"""How the exported bytes of a run grow with its turns: history in full, and as a delta.

One run, one conversation that each turn adds a question and an answer to, every call exported to a folder. The line
through the sizes is fitted by least squares; R² 1 is a straight line. A keyframe is written whenever the history has
doubled, so a delta run steps a little around its line.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from spanseal.adapters.openai import OpenAIAdapter
from spanseal.genai.messages import Message
from spanseal.telemetry.configure import configure, shutdown
from spanseal.telemetry.run_span import run_span
from tests.benchmarks import clients
from tests.benchmarks.measure import heading, quick_asked, table

TURNS = {"delta": (10, 30, 100, 300, 1000), "full": (10, 30, 100, 300)}
QUICK_TURNS = (5, 10, 20)
QUESTION = "What of this is true, and how do you know? " * 3


def export(history: str, turns: int, folder: Path) -> None:
    """One run of so many turns."""
    configure(service_name="bench", export=folder, capture="full", history="delta" if history == "delta" else "full")
    adapter = OpenAIAdapter("bench", client=clients.client_of(clients.answering()))
    talk = [Message("system", "You are a careful assistant.")]
    with run_span("grower"):
        for number in range(turns):
            talk.append(Message("user", f"{number}: {QUESTION}"))
            talk.append(Message("assistant", adapter.complete(talk).text))
    shutdown()


def line_through(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Slope of the least-squares line, and R²."""
    count = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / count, sum(y for _, y in points) / count
    sxy = sum((x - mean_x) * (y - mean_y) for x, y in points)
    sxx, syy = sum((x - mean_x) ** 2 for x, _ in points), sum((y - mean_y) ** 2 for _, y in points)
    return sxy / sxx, sxy * sxy / (sxx * syy)


def main() -> None:
    """Measure and print."""
    quick = quick_asked(__doc__)
    rows: list[list[str | float]] = []
    fits: list[list[str | float]] = []
    with tempfile.TemporaryDirectory() as base:
        for history, numbers in TURNS.items():
            points: list[tuple[float, float]] = []
            for turns in QUICK_TURNS if quick else numbers:
                folder = Path(base, f"{history}-{turns}")
                export(history, turns, folder)
                size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
                points.append((turns, size))
                rows.append([history, f"{turns:,}", size / 1e3, size / turns])
            slope, fit = line_through(points)
            fits.append([history, f"{fit:.5f}", slope])
    heading("Exported bytes of a run by its turns (10^3 bytes)")
    table(("history", "turns", "kB", "B/turn"), rows)
    heading("The line through them; goal: delta is a straight one")
    table(("history", "R2", "B/turn of the line"), fits)


if __name__ == "__main__":
    main()
