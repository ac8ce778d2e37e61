"""Memory of the sealer over 1 GB of input.

One process writes the export folder, as a stream of files of 64 MB; then another one seals it, as ``spanseal seal``
does, and says how much memory it holds and held at most at each mark. Flat means: the columns hardly grow.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from spanseal.sealer.seal import Sealer
from spanseal.sealer.tail import Tail
from tests.benchmarks import histories
from tests.benchmarks.measure import Spent, heading, quick_asked, table
from tests.benchmarks.workshop import Workshop

MB = 10**6
MARKS = (50 * MB, 100 * MB, 200 * MB, 500 * MB, 1000 * MB)
QUICK_MARKS = (1 * MB, 2 * MB)
FILE = 64 * MB


def write_folder(folder: Path, size: int) -> None:
    """Export files with ``size`` bytes of whole runs in all."""
    lines, total, number = histories.all_lines(), 0, 0
    while total < size:
        written = 0
        with (folder / f"spans-{number:04}.jsonl").open("wb") as file:
            while written < FILE and total + written < size:
                written += file.write(next(lines) + b"\n")
        total, number = total + written, number + 1


def seal_folder(base: Path, marks: list[int]) -> None:
    """Seal the folder ``base/export`` and print a row at each mark."""
    shop, spent = Workshop(base), Spent()
    rows: list[list[str | float]] = [["start", *_resident(), 0.0]]
    with shop.open() as writer:
        sealer, tail = Sealer(writer), Tail([base / "export"], writer.position, bytes(32))
        for batch in tail.poll():
            spent.measure(lambda batch=batch: sealer.seal(batch), sum(len(line.raw) + 1 for line in batch))
            if marks and spent.size >= marks[0]:
                rows.append([f"{marks.pop(0) // MB:,} MB", *_resident(), spent.mb_cpu])
        tail.close()
    rows.append([f"end, {spent.size / MB:,.0f} MB", *_resident(), spent.mb_cpu])
    heading(f"Memory of the process that seals, MB of 10^6 bytes; {histories.NAME}, whole runs")
    table(("input", "resident", "peak", "MB/s cpu so far"), rows)


def _resident() -> tuple[float, float]:
    """What the process holds now and held at most, in MB."""
    unit = 1 if sys.platform == "darwin" else 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / MB
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return float("nan"), peak
    return pages * resource.getpagesize() / MB, peak


def main() -> None:
    """Write in this process, seal and print in another."""
    if len(sys.argv) > 2 and sys.argv[1] == "--seal":
        seal_folder(Path(sys.argv[2]), [int(mark) for mark in sys.argv[3:]])
        return
    marks = QUICK_MARKS if quick_asked(__doc__) else MARKS
    with tempfile.TemporaryDirectory() as folder:
        export = Path(folder, "export")
        export.mkdir()
        write_folder(export, marks[-1])
        command = [sys.executable, "-m", "tests.benchmarks.memory", "--seal", folder, *map(str, marks)]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
