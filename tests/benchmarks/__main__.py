"""Runs benchmarks, all or those named: ``python -m tests.benchmarks [--quick] [NAME…]``. Each in a fresh process."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

NAMES = (
    "call_cost", "instrument_cost", "stall", "growth", "long_life", "stream_cost", "seal", "verify", "memory", "parse",
)  # fmt: skip
QUICK = {"call_cost": ("--rounds", "2")}
"""How a benchmark is made small where it has no ``--quick``."""
TREE = Path(__file__).resolve().parents[2]


def command(name: str, *, quick: bool) -> list[str]:
    """The program of one benchmark."""
    return [sys.executable, "-m", f"tests.benchmarks.{name}", *(QUICK.get(name, ("--quick",)) if quick else ())]


def main() -> int:
    """Run them in turn; 1 if any failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small amounts: shows that they work, not how fast")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}; all where none is named")
    asked = parser.parse_args()
    unknown = sorted(set(asked.names) - set(NAMES))
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there are {', '.join(NAMES)}")
    failed = [
        name
        for name in asked.names or NAMES
        if subprocess.run(command(name, quick=asked.quick), cwd=TREE, check=False).returncode
    ]
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
