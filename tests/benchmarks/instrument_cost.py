"""What ``instrument(client)`` costs on top of the bare call, beside what the instrumentations of others cost.

Each has a process of its own and is called in turn with the bare SDK there, some calls at a time, over one in-process
transport: so many that they last longer than the 50 ms after which spans are on the disk itself, since a flush behind
every few calls would bring them there more often than a program does. CPU is that of the whole process until what the
calls exported has arrived, so export threads count; wall is that of the calls alone. Ratios are medians over the pairs.
The last turn of each call is new.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.benchmarks import clients
from tests.benchmarks.instrumentations import SIDES, switch_on
from tests.benchmarks.measure import heading, quick_asked, table
from tests.benchmarks.receiver import receiver

GOALS = {21: 1.10, 201: 1.05}
CALLS = {21: 16, 201: 4}
Timing = tuple[float, float]


def timed(calls: list[Callable[[], Any]], settle: Callable[[], Any]) -> Timing:
    """CPU with all that follows, and wall of the calls, in milliseconds a call."""
    cpu, wall = time.process_time(), time.perf_counter()
    for call in calls:
        call()
    wall = time.perf_counter() - wall
    settle()
    return (time.process_time() - cpu) * 1000 / len(calls), wall * 1000 / len(calls)


def pairs(side: str, url: str, folder: Path, count: int, rounds: int) -> list[tuple[Timing, Timing]]:
    """Bare and instrumented, in turn."""
    transport = clients.answering()
    bare = clients.bare_client(transport)
    watched, settle = switch_on(side, url, folder, clients.client_of(transport))
    create: Any = watched.chat.completions.create
    found: list[tuple[Timing, Timing]] = []
    calls = CALLS[count]
    for number in range(rounds + 2):
        talks = [clients.wire(clients.conversation(count, count - 1, number * calls + n)) for n in range(calls)]
        without = timed(
            [lambda talk=talk: clients.bare_create(bare, messages=talk, **clients.OPTIONS) for talk in talks],
            lambda: None,
        )
        with_it = timed([lambda talk=talk: create(messages=talk, **clients.OPTIONS) for talk in talks], settle)
        if number >= 2:  # the first rounds warm both up
            found.append((without, with_it))
    return found


def row(side: str, count: int, found: list[tuple[Timing, Timing]]) -> list[str | float]:
    """One line of the table."""
    cpu, wall = (statistics.median(watched[at] / bare[at] for bare, watched in found) for at in (0, 1))
    bare_ms = statistics.median(bare[0] for bare, _ in found)
    added = statistics.median(watched[0] - bare[0] for bare, watched in found)
    return [side, f"{count}", bare_ms, added * 1000, f"{cpu:.3f}", f"{wall:.3f}", f"{GOALS[count]:.2f}"]


def main() -> None:
    """Measure each in a process of its own, some rounds at a time so that load hits all; print."""
    if len(sys.argv) > 2:
        side, url, folder, count, rounds = sys.argv[1:6]
        print(json.dumps(pairs(side, url, Path(folder), int(count), int(rounds))))
        return
    quick = quick_asked(__doc__)
    slices, rounds = (1, 1) if quick else (3, 20)
    sides, counts = (SIDES[1:3], (21,)) if quick else (SIDES, tuple(GOALS))
    rows: list[list[str | float]] = []
    with receiver() as url, tempfile.TemporaryDirectory() as folder:
        for count in counts:
            found: dict[str, list[Any]] = {side: [] for side in sides}
            for part in range(slices):
                for number, side in enumerate(sides):
                    own = Path(folder, f"{count}-{part}-{number}")
                    own.mkdir()
                    command = [sys.executable, "-m", "tests.benchmarks.instrument_cost", side, url, str(own)]
                    done = subprocess.run([*command, str(count), str(rounds)], check=True, capture_output=True)
                    found[side] += json.loads(done.stdout)
            rows += [row(side, count, timings) for side, timings in found.items()]
    heading("instrument(client) and others beside the bare call; content in full, OTLP to another process, or a folder")
    table(("", "messages", "bare ms cpu", "added us cpu", "cpu ratio", "wall ratio", "goal cpu"), rows)


if __name__ == "__main__":
    main()
