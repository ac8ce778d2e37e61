"""What a chunk of a stream costs on top of the bare SDK, in streams of 500, 5,000 and 50,000 chunks.

The same in-process stream is read through a bare client and an instrumented one, in turn; content in full, exported
to a folder, until it is there. Process CPU in microseconds a chunk; medians over the pairs. Goal: the long stream costs
the same a chunk as the short one.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spanseal import configure, instrument
from spanseal.telemetry.configure import flush, shutdown
from tests.benchmarks import clients
from tests.benchmarks.measure import heading, quick_asked, table

LENGTHS = {500: 60, 5_000: 20, 50_000: 5}
QUICK_LENGTHS = {50: 2, 500: 2}


def read_through(client: Any) -> None:
    """One stream, every chunk."""
    stream = client.chat.completions.create(
        model="bench", messages=[{"role": "user", "content": "Go on."}], stream=True
    )
    for _ in stream:
        pass


def spent(work: Callable[[], Any]) -> float:
    """Process CPU in microseconds."""
    start = time.process_time()
    work()
    return (time.process_time() - start) * 1e6


def row(chunks: int, rounds: int) -> list[str | float]:
    """Bare and instrumented in turn."""
    bare = clients.bare_client(clients.streaming(chunks))
    watched = instrument(clients.client_of(clients.streaming(chunks)))
    pairs: list[tuple[float, float]] = []
    for number in range(rounds + 1):
        pair = spent(lambda: read_through(bare)), spent(lambda: (read_through(watched), flush()))
        if number:  # the first round warms both up
            pairs.append(pair)
    plain, added = (statistics.median(values) / chunks for values in zip(*((b, w - b) for b, w in pairs), strict=True))
    return [f"{chunks:,}", plain, added, f"{(plain + added) / plain:.3f}"]


def main() -> None:
    """Measure and print."""
    lengths = QUICK_LENGTHS if quick_asked(__doc__) else LENGTHS
    with tempfile.TemporaryDirectory() as folder:
        configure(service_name="bench", export=Path(folder), capture="full")
        rows = [row(chunks, rounds) for chunks, rounds in lengths.items()]
        shutdown()
    heading("What a chunk of a stream costs, us of process CPU; goal: added is the same at every length")
    table(("chunks", "bare us/chunk", "added us/chunk", "ratio"), rows)


if __name__ == "__main__":
    main()
