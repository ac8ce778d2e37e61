"""Whole lives of an export folder, made up: whatever exporter, disk and sealer do in between, each line comes once."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanseal.sealer import tail as tail_module
from spanseal.sealer.tail import Tail

APPENDED = ("line", "line", "part", "fragment", "process")
STEPS = (*APPENDED, "rotate", "rotate late newline", "drop", "look", "look", "restart")
EXAMPLES = 2000 if os.environ.get("SPANSEAL_SOAK") else 60


class Folder:
    """An exporter that appends, rotates and breaks off; a tail that looks now and then; a store's memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.live = path / "spans.jsonl"
        self.live.write_bytes(b"")
        self.numbers = itertools.count()
        self.rest = b""
        self.partial = b""
        self.expected: Counter[bytes] = Counter()
        self.sealed: Counter[bytes] = Counter()
        self.positions: dict[str, int] = {}
        self.gaps = 0
        self.tail = self.new_tail()

    def new_tail(self) -> Tail:
        return Tail([self.path], lambda source: self.positions.get(source, 0), bytes(32))

    def record(self) -> bytes:
        raw = b'{"n":%d,"x":"%s"}' % (next(self.numbers), b"." * 30)
        self.expected[raw] += 1
        return raw

    def write(self, data: bytes) -> None:
        with self.live.open("ab") as file:
            file.write(data)

    def complete(self) -> None:
        self.write(self.rest)
        self.rest = b""

    def away(self) -> None:
        self.live.rename(self.path / f"spans-2026-11-30T15-04-05.{next(self.numbers) % 1000:03d}-size.jsonl")

    def step(self, name: str) -> None:
        match name:
            case "line":
                self.complete()
                self.write(self.record() + b"\n")
            case "part":
                self.complete()
                self.partial = self.record()
                self.write(self.partial[:20])
                self.rest = self.partial[20:] + b"\n"
            case "truncate":
                self.look()
                if self.rest:
                    self.expected -= Counter([self.partial])
                self.rest = b""
                self.live.write_bytes(b"")
            case "rotate" | "rotate late newline":
                self.complete()
                late = name != "rotate"
                self.write(self.record() + (b"" if late else b"\n"))
                self.away()
                self.live.write_bytes(b"\n" if late else b"")
            case "fragment":
                self.complete()
                fragment = b'{"torn":%d' % next(self.numbers)
                self.expected[fragment] += 1
                self.write(fragment)
                self.away()
                self.live.write_bytes(b"")
            case "process":
                (self.path / f"spans-{next(self.numbers)}.jsonl").write_bytes(self.record() + b"\n")
            case "drop":
                self.look()
                for path in self.path.glob("spans-2026*"):
                    path.unlink()
            case "look":
                self.look()
            case _:
                self.restart()

    def look(self) -> None:
        for batch in self.tail.poll():
            for line in batch:
                self.sealed[line.raw] += 1
                self.positions[line.source] = line.end

    def restart(self) -> None:
        self.gaps += len(self.tail.gaps)
        self.tail.close()
        self.tail = self.new_tail()


def live(folder: Folder, steps: list[str], held: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tail_module, "HELD_FILES", held)
        for step in steps:
            folder.step(step)
        folder.complete()
        folder.look()
        folder.restart()
        folder.look()
        folder.restart()
        folder.tail.close()


@settings(max_examples=EXAMPLES, deadline=None)
@given(steps=st.lists(st.sampled_from(STEPS), max_size=25), held=st.sampled_from([1, 2, 64]))
def test_each_line_is_sealed_once(tmp_path_factory: pytest.TempPathFactory, steps: list[str], held: int) -> None:
    folder = Folder(tmp_path_factory.mktemp("life"))
    live(folder, steps, held)
    assert folder.sealed == folder.expected
    assert folder.gaps == 0


@settings(max_examples=EXAMPLES, deadline=None)
@given(steps=st.lists(st.sampled_from((*STEPS, "truncate")), max_size=25), held=st.sampled_from([1, 64]))
def test_an_exporter_that_truncates_after_all_was_sealed_changes_nothing(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str], held: int
) -> None:
    folder = Folder(tmp_path_factory.mktemp("life"))
    live(folder, steps, held)
    assert folder.sealed == folder.expected
