"""The worst single call of an application while its exporter works at full load.

Each side has a process of its own. There, calls of 21 messages follow each other without pause, and each exports what
it captured (about 30 kB): more a second than any real program makes. Wall time of each call in milliseconds. What
*bare* shows is the machine: the scheduler, and whoever else runs. *JSON file* is the official instrumentor with the
SDK's batch processor and the official OTLP/JSON exporter, *official* the same with protobuf over HTTP.
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


def calls(side: str, url: str, folder: Path, count: int) -> list[float]:
    """Milliseconds of each call."""
    client = clients.bare_client(clients.answering())
    if side != "bare":
        client, _ = switch_on(side, url, folder, clients.client_of(clients.answering()))
    create: Any = client.chat.completions.create
    talk = clients.wire(clients.conversation(MESSAGES, MESSAGES - 1, 0))
    found: list[float] = []
    for number in range(count + 20):
        talk[-1] = {"role": "user", "content": f"{number} " + "some words of a turn, " * 26}
        start = time.perf_counter()
        create(messages=talk, **clients.OPTIONS)
        if number >= 20:  # the first calls warm up
            found.append((time.perf_counter() - start) * 1000)
    return found


def row(side: str, runs: list[list[float]]) -> list[str | float]:
    """Over all runs; the least maximum of a run is the one that other programs on the machine disturbed least."""
    every = sorted(ms for run in runs for ms in run)
    middle = statistics.median(every)
    late = every[min(int(0.999 * len(every)), len(every) - 1)]
    calmest = min(max(run) - statistics.median(run) for run in runs)
    return [side, f"{len(every):,}", middle, late, every[-1], every[-1] - middle, calmest, GOAL_MS]


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
    found: dict[str, list[list[float]]] = {side: [] for side in sides}
    with receiver() as url, tempfile.TemporaryDirectory() as folder:
        for turn in range(times):
            for number, side in enumerate(sides):
                own = Path(folder, f"{turn}-{number}")
                own.mkdir()
                command = [sys.executable, "-m", "tests.benchmarks.stall", side, url, str(own), str(count)]
                done = subprocess.run(command, check=True, capture_output=True)
                found[side].append(json.loads(done.stdout))
    heading(f"The worst of the application's calls ({MESSAGES} messages) while the exporter works, ms wall")
    columns = ("", "calls", "median", "p99.9", "max", "max-median", "in the calmest run", "goal")
    table(columns, [row(side, runs) for side, runs in found.items()])


if __name__ == "__main__":
    main()
