"""Whoever asks for JSON gets one document on stdout, however the command ends, with the exit code as without."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.replay.recorded import calculator_run, lines

from spanseal.cli import main as main_module

Typed = Callable[..., tuple[int, str, str]]


@pytest.fixture
def typed(tmp_path: Path, type_line: Typed) -> Typed:
    """A folder with two runs in ``spans``, other things in ``hosts`` and a damaged store in ``bad``."""
    (tmp_path / "spans").mkdir()
    both = lines([*calculator_run(), *calculator_run("5c" * 16, "f" * 32, shift=5000)])
    (tmp_path / "spans" / "a.jsonl").write_bytes(both)
    (tmp_path / "hosts").write_text("localhost\n")
    type_line("keygen keys --origin example.com/a")
    type_line("seal spans --store bad --keys keys")
    segment = next((tmp_path / "bad" / "seg").iterdir())
    data = bytearray(segment.read_bytes())
    data[-100] ^= 1
    segment.write_bytes(data)
    return type_line


@pytest.mark.parametrize(
    ("line", "exit_code", "kind", "says"),
    [
        ("runs nowhere --json", 2, "ReplayError", "no such file"),
        ("runs --json", 2, "MissingParameter", "SOURCE"),
        ("runs spans --json --nonsense", 2, "NoSuchOption", "nonsense"),
        ("runs hosts --json", 2, "ReplayError", "no OTLP document"),
        ("runs bad --json", 1, "BadStoreError", "does not verify"),
        ("show bad --json", 1, "BadStoreError", "does not verify"),
        ("show bad --as json", 1, "BadStoreError", "does not verify"),
        ("show spans --as=json", 2, "UsageError", "2 runs here"),
        ("show spans --json", 2, "UsageError", "2 runs here"),
        ("show spans 77 --json", 2, "ReplayError", "no run matches"),
        ("show spans 5c --step 99 --json", 2, "ReplayError", "has no step 99"),
        ("seal spans --store keys/store --keys keys --json", 2, "UsageError", "one another"),
    ],
)
def test_an_error_is_a_document(typed: Typed, line: str, exit_code: int, kind: str, says: str) -> None:
    code, out, err = typed(line)
    told = json.loads(out)
    assert code == exit_code
    assert list(told) == ["error"]
    assert told["error"]["type"] == kind
    assert says in told["error"]["message"]
    assert err
    without = line.replace(" --json", "").replace(" --as json", "").replace(" --as=json", "")
    bare = typed(without)
    assert (bare[0], bare[1]) == (exit_code, "")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("verify nowhere --json", "no such file"),
        ("verify hosts --json", "no OTLP document"),
        ("verify --json", "SOURCE"),
        ("verify bad --trust hosts --json", "hosts"),
    ],
)
def test_what_cannot_be_judged_is_a_verdict(typed: Typed, line: str, says: str) -> None:
    code, out, _ = typed(line)
    told = json.loads(out)
    assert code == 2
    assert list(told) == ["verdict", "size", "origin", "findings", "covered", "unchecked", "rebuildable"]
    assert told["verdict"] == "unknown"
    assert [found["code"] for found in told["findings"]] == ["not-judged"]
    assert says in told["findings"][0]["meaning"]


def test_a_bad_store_is_the_usual_document(typed: Typed) -> None:
    code, out, _ = typed("verify bad --json")
    assert (code, json.loads(out)["verdict"]) == (1, "bad")


def test_show_json_is_show_as_json(typed: Typed) -> None:
    code, out, _ = typed("show spans 5c --json")
    assert code == 0
    assert list(json.loads(out)) == ["source", "verdict", "notes", "run"]
    assert typed("show spans 5c --as json")[1] == out


def test_a_fault_of_ours_is_a_document_too(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_app: object) -> Broken:
        return Broken()

    monkeypatch.setattr(main_module.typer.main, "get_command", broken)
    code, out, _ = typed("runs spans --json")
    assert (code, json.loads(out)["error"]["type"]) == (2, "ZeroDivisionError")


class Broken:
    """A command line that fails as no command should."""

    def main(self, **_: object) -> None:
        raise ZeroDivisionError("by zero")
