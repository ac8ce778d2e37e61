"""Memory of a process that makes calls for a long time. Flat means: the column hardly grows after the first mark.

A client of ``instrument()`` on an in-process transport; short calls, every tenth a stream, every hundredth in a run of
its own; content in full, exported to another process through the spool (group).
"""

from __future__ import annotations

import os
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from spanseal import configure, instrument
from spanseal.telemetry.configure import flush, health, shutdown
from spanseal.telemetry.run_span import run_span
from tests.benchmarks import clients
from tests.benchmarks.measure import heading, quick_asked, table
from tests.benchmarks.receiver import receiver

MARKS = (10_000, 25_000, 50_000, 75_000, 100_000)
QUICK_MARKS = (100, 200, 300)


def resident() -> float:
    """What the process holds now, in 10^6 bytes."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def live(marks: tuple[int, ...]) -> list[list[str | float]]:
    """Make the calls; a row at each mark."""
    client = instrument(clients.client_of(clients.answering()))
    streams = instrument(clients.client_of(clients.streaming(5)))
    create: Any = client.chat.completions.create
    stream: Any = streams.chat.completions.create
    rows: list[list[str | float]] = [["start", resident(), 0.0, "", ""]]
    begun = time.perf_counter()
    for number in range(1, marks[-1] + 1):
        said: list[Any] = [{"role": "user", "content": f"Question {number}"}]
        if number % 100 == 0:
            with run_span("living"):
                create(model="bench", messages=said)
        elif number % 10 == 0:
            for _ in stream(model="bench", messages=said, stream=True):
                pass
        else:
            create(model="bench", messages=said)
        if number in marks:
            flush()
            told = health()
            spent = (time.perf_counter() - begun) * 1000 / number
            rows.append([f"{number:,}", resident(), spent, f"{told.backlog_bytes}", f"{told.lost}"])
    return rows


def main() -> None:
    """Measure and print."""
    marks = QUICK_MARKS if quick_asked(__doc__) else MARKS
    with receiver() as url, tempfile.TemporaryDirectory() as folder:
        os.environ["SPANSEAL_STATE_DIR"] = folder
        configure(service_name="bench", export=url, capture="full", durability="group")
        rows = live(marks)
        shutdown()
    heading("Resident memory of a process that makes calls, MB of 10^6 bytes; goal: flat")
    table(("calls", "resident", "ms/call", "backlog B", "lost"), rows)


if __name__ == "__main__":
    main()
