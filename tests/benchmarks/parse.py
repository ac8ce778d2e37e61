"""Reading export lines: ``parse_line`` and ``cut_line`` beside ``orjson.loads`` alone.

On the same lines in turn: agents' histories as the exporters spell them (canonical), and the same with white space as
Python's ``json`` spells it, which goes the general way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import orjson

from spanseal.records.otlp import cut_line, parse_line
from tests.benchmarks import histories
from tests.benchmarks.measure import Spent, heading, quick_asked, table

WAYS: dict[str, Callable[[bytes], Any]] = {"orjson.loads": orjson.loads, "parse_line": parse_line, "cut_line": cut_line}


def respelled(lines: Iterator[bytes]) -> Iterator[bytes]:
    """The same documents with white space and escapes that orjson does not write."""
    return (json.dumps(orjson.loads(line)).encode() for line in lines)


def measure(lines: list[bytes]) -> dict[str, Spent]:
    """Every way on every line, in turn, some lines at a time."""
    found = {name: Spent() for name in WAYS}
    for at in range(0, len(lines), 64):
        part = lines[at : at + 64]
        size = sum(map(len, part))
        for name, way in WAYS.items():
            found[name].measure(lambda way=way, part=part: [way(line) for line in part] and None, size, len(part))
    return found


def main() -> None:
    """Measure and print."""
    quick = quick_asked(__doc__)
    small, chat = (64, 64) if quick else (8192, 2048)
    kinds = {
        "1 kB spans": (histories.small_lines(), small),
        "30 kB spans": (histories.chat_lines(), chat),
        "1 kB, respelled": (respelled(histories.small_lines()), small // 4),
        "30 kB, respelled": (respelled(histories.chat_lines()), chat // 4),
    }
    rows: list[list[str | float]] = []
    for kind, (lines, count) in kinds.items():
        found = measure(list(islice(lines, count)))
        least = found["orjson.loads"]
        rows += [
            [kind, name, spent.count / spent.cpu, spent.mb_cpu, spent.cpu / least.cpu]
            for name, spent in found.items()
        ]
    heading(f"Reading export lines, process CPU; {histories.NAME}")
    table(("", "what", "lines/s", "MB/s", "it/orjson.loads"), rows)


if __name__ == "__main__":
    main()
