"""Every benchmark works: run small, in its own process, it prints its tables. What they measure is not judged here."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import islice

import pytest

from spanseal.records.otlp import cut_line
from tests.benchmarks import histories
from tests.benchmarks.__main__ import NAMES, TREE, command


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_prints_a_table_of_numbers(name: str) -> None:
    done = subprocess.run(command(name, quick=True), cwd=TREE, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert len(re.findall(r"(?m) +[0-9][0-9,]*(?:\.[0-9]+)?$", done.stdout)) >= 2, done.stdout


def test_an_unknown_benchmark_is_refused_by_name() -> None:
    asked = [sys.executable, "-m", "tests.benchmarks", "sael"]
    done = subprocess.run(asked, cwd=TREE, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "sael" in done.stderr
    assert "seal" in done.stderr


def test_histories_are_the_same_with_one_seed_and_grow_as_runs_do() -> None:
    lines = list(islice(histories.chat_lines(), 400))
    assert lines == list(islice(histories.chat_lines(), 400))
    assert lines != list(islice(histories.chat_lines(seed=2), 400))
    sizes: dict[str, list[int]] = {}
    for line in lines:
        (span,) = cut_line(line).spans
        sizes.setdefault(span.run_id, []).append(len(line))
    assert len(sizes) >= histories.RUNS_AT_ONCE
    assert all(run == sorted(run) for run in sizes.values())
    assert 20_000 < sum(map(len, lines)) / len(lines) < 40_000


def test_small_lines_have_no_private_attribute() -> None:
    lines = list(islice(histories.small_lines(), 100))
    assert not [item.path for line in lines for span in cut_line(line).spans for item in span.private]
    assert 1_000 < sum(map(len, lines)) / len(lines) < 1_500
