"""The worst single call of an application while its exporter works at full load.

Each side has a process of its own. There, calls of 21 messages follow each other without pause, and each exports what
it captured (about 30 kB): more a second than any real program makes. Milliseconds of each call: wall time, and CPU of
the whole process while the call ran, which is what it would have waited on a machine of its own, since the exporter's
thread and the call's take turns. What *bare* shows in wall time is the machine: the scheduler, and whoever else runs.
*JSON file* is the official instrumentor with the SDK's batch processor and the official OTLP/JSON exporter, *official*
the same with protobuf over HTTP.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.benchmarks import clients
from tests.benchmarks.instrumentations import JSON_FILE, SIDES, switch_on
from tests.benchmarks.measure import heading, quick_asked, table
from tests.benchmarks.receiver import receiver

MESSAGES = 21
GOAL_MS = 10.0


def calls(side: str, url: str, folder: Path, count: int) -> list[tuple[float, float]]:
    """Milliseconds of each call: wall, and process CPU."""
    client = clients.bare_client(clients.answering())
    if side != "bare":
        client, _ = switch_on(side, url, folder, clients.client_of(clients.answering()))
    create: Any = client.chat.completions.create
    talk = clients.wire(clients.conversation(MESSAGES, MESSAGES - 1, 0))
    found: list[tuple[float, float]] = []
    for number in range(count + 20):
        talk[-1] = {"role": "user", "content": f"{number} " + "some words of a turn, " * 26}
        start, cpu = time.perf_counter(), time.process_time()
        create(messages=talk, **clients.OPTIONS)
        if number >= 20:  # the first calls warm up
            found.append(((time.perf_counter() - start) * 1000, (time.process_time() - cpu) * 1000))
    return found


def row(side: str, found: list[tuple[float, float]]) -> list[str | float]:
    """Median, the thousandth and the worst, in wall time and in CPU."""
    cells: list[str | float] = [side, f"{len(found):,}"]
    every: list[float] = []
    for times in zip(*found, strict=True):
        every = sorted(times)
        cells += [statistics.median(every), every[min(int(0.999 * len(every)), len(every) - 1)], every[-1]]
    cells.append(every[-1] - statistics.median(every))
    return [*cells, f"{GOAL_MS}"]


def main() -> None:
    """Each side in turn, several times; print."""
    if len(sys.argv) > 2:
        side, url, folder, count = sys.argv[1:5]
        print(json.dumps(calls(side, url, Path(folder), int(count))))
        return
    sides: tuple[str, ...] = ("bare", *SIDES[:2], "official", JSON_FILE)
    times, count = 3, 1500
    if quick_asked(__doc__):
        sides, times, count = ("bare", JSON_FILE), 1, 30
    found: dict[str, list[tuple[float, float]]] = {side: [] for side in sides}
    with receiver() as url, tempfile.TemporaryDirectory() as folder:
        for turn in range(times):
            for number, side in enumerate(sides):
                own = Path(folder, f"{turn}-{number}")
                own.mkdir()
                command = [sys.executable, "-m", "tests.benchmarks.stall", side, url, str(own), str(count)]
                done = subprocess.run(command, check=True, capture_output=True)
                found[side] += json.loads(done.stdout)
    heading(f"The worst of the application's calls ({MESSAGES} messages) while the exporter works, ms")
    columns = ("", "calls", "wall p50", "p99.9", "max", "cpu p50", "p99.9", "max", "max-p50 cpu", "goal")
    table(columns, [row(side, timings) for side, timings in found.items()])


if __name__ == "__main__":
    main()
