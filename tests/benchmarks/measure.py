"""Timing beside a yardstick, and tables of it. Standard library only.

Process CPU says what the work costs on a machine that others use too; wall time says what one waits for. Ratios are
between things measured in turn in one run, so load hits both.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

_T = TypeVar("_T")


@dataclass
class Spent:
    """Time of one side, summed over its turns, in seconds; ``size`` bytes and ``count`` things were handled in it.

    ``turns`` has the wall time of each turn.
    """

    cpu: float = 0.0
    wall: float = 0.0
    size: int = 0
    count: int = 0
    turns: list[float] = field(default_factory=list[float])

    def measure(self, work: Callable[[], _T], size: int, count: int = 1) -> _T:
        """Do the work and add what it took."""
        cpu, wall = time.process_time(), time.perf_counter()
        result = work()
        self.turns.append(time.perf_counter() - wall)
        self.wall += self.turns[-1]
        self.cpu += time.process_time() - cpu
        self.size += size
        self.count += count
        return result

    def turn_ms(self, share: float) -> float:
        """Wall milliseconds that this share of the turns took at most: 0.5 is the median."""
        return sorted(self.turns)[min(int(share * len(self.turns)), len(self.turns) - 1)] * 1000

    @property
    def mb_cpu(self) -> float:
        """10^6 bytes per second of process CPU."""
        return self.size / 1e6 / max(self.cpu, 1e-9)

    @property
    def mb_wall(self) -> float:
        """10^6 bytes per second of wall time."""
        return self.size / 1e6 / max(self.wall, 1e-9)


def quick_asked(about: str | None) -> bool:
    """Read the command line of a benchmark: whether ``--quick`` stands there."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--quick", action="store_true", help="small amounts: shows that it works, not how fast")
    return bool(parser.parse_args().quick)


def heading(title: str) -> None:
    """The title of a table and the machine it was measured on."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    print(f"\n{title}\n{system}, {platform.python_implementation()} {platform.python_version()}, load {load:.1f}")


def table(columns: Sequence[str], rows: Sequence[Sequence[str | float]]) -> None:
    """Print rows under their columns; numbers with three digits that matter."""
    cells = [list(columns), *([_text(cell) for cell in row] for row in rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(columns))]
    for row in cells:
        first, *others = (text.rjust(width) for text, width in zip(row, widths, strict=True))
        print("  ".join((first.strip().ljust(widths[0]), *others)), flush=True)


def _text(cell: str | float) -> str:
    if isinstance(cell, str):
        return cell
    return f"{cell:,.0f}" if abs(cell) >= 100 else f"{cell:.1f}" if abs(cell) >= 10 else f"{cell:.2f}"
