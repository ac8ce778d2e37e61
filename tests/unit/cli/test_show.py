"""``spanseal show``: the picture, one step, JSON, a file; and what it says when it cannot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.unit.cli.reading import said
from tests.unit.replay.recorded import calculator_run, line, lines
from tests.unit.replay.test_render import GOLDEN, HOSTILE, hostile_run

from spanseal.cli.main import run


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "spans.jsonl"
    path.write_bytes(lines(calculator_run()))
    return path


def test_the_only_run_needs_no_name(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert run(["show", str(file)]) == 0
    shown = capsys.readouterr().out
    assert shown == (GOLDEN / "calculator.txt").read_text(encoding="utf-8")


def test_one_step(file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert run(["show", str(file), "4b4b", "--step", "2"]) == 0
    shown = capsys.readouterr().out
    golden = (GOLDEN / "calculator.step2.txt").read_text(encoding="utf-8")
    assert shown.endswith(golden)
    assert shown.startswith("run " + "4b" * 16)


def test_a_step_that_is_not_there(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", str(file), "--step", "9"]) == 2
    assert "has no step 9; its recorded steps: 1, 2" in capsys.readouterr().err


def test_json_is_one_document_with_everything(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", str(file), "--as", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert list(told) == ["source", "verdict", "notes", "run"]
    assert told["verdict"] is None
    assert told["run"]["run_id"] == "4b" * 16
    assert len(told["run"]["timeline"]) == 9
    assert run(["show", str(file), "--as", "json", "--step", "1"]) == 0
    assert len(json.loads(capsys.readouterr().out)["run"]["timeline"]) == 4


@pytest.mark.parametrize("form", ["tree", "json"])
def test_into_a_file(form: str, file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "shown"
    assert run(["show", str(file), "--as", form, "-o", str(out)]) == 0
    assert capsys.readouterr().out == ""
    text = out.read_text(encoding="utf-8")
    assert "17 * 23" in text
    assert "\x1b" not in text


def test_a_file_that_cannot_be_written(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("tree", "json"):
        assert run(["show", str(file), "--as", form, "-o", str(tmp_path / "no" / "where")]) == 2
        assert "cannot be written" in capsys.readouterr().err


def test_several_runs_and_none_named_lists_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    second = calculator_run("5c" * 16, "f" * 32, shift=5000)
    (tmp_path / "spans.jsonl").write_bytes(lines([*calculator_run(), *second]))
    assert run(["show", str(tmp_path)]) == 2
    said_there = capsys.readouterr()
    assert said_there.out == ""
    assert "4b4b4b4b4b4b  calculator" in said_there.err
    assert f"spanseal show {tmp_path} 5c5c5c5c5c5c" in said_there.err
    assert run(["show", str(tmp_path), "5c5c"]) == 0


def test_a_run_that_is_not_there(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", str(file), "dead"]) == 2
    assert "no run matches 'dead'; runs here: " + "4b" * 16 in capsys.readouterr().err


@pytest.mark.parametrize("form", ["html", "mermaid"])
def test_forms_that_are_not_there_are_not_offered(form: str, file: Path) -> None:
    assert run(["show", str(file), "--as", form]) == 2


def test_an_output_that_has_ascii_only(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = said(monkeypatch, "show", str(file), encoding="ascii")
    assert shown.isascii()
    assert b"|- step 1" in shown
    assert b"ok not_empty" in shown


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437", "utf-8"])
def test_hostile_content_reaches_no_output_raw(encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "spans.jsonl"
    path.write_bytes(lines(hostile_run()))
    for more in ([], ["--step", "1"], ["--step", "2"], ["--as", "json"]):
        shown = said(monkeypatch, "show", str(path), *more, encoding=encoding).decode(encoding)
        assert all(char.isprintable() or char == "\n" for char in shown)
        assert "owned" in shown


def test_hostile_content_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    path = tmp_path / "spans.jsonl"
    path.write_bytes(lines(hostile_run()))
    shown = said(monkeypatch, "show", str(path), terminal=True).decode()
    assert HOSTILE[:4] not in shown
    assert "\x1b]" not in shown
    assert "\x07" not in shown


def test_a_cut_anywhere_shows_what_is_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spans = calculator_run()
    data, last_two = lines(spans), len(line(spans[-1])) + len(line(spans[-2]))
    path = tmp_path / "spans.jsonl"
    for cut in range(len(data) - last_two, len(data), 97):
        path.write_bytes(data[:cut])
        assert run(["show", str(path), "--as", "json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert told["run"]["span_count"] == data[:cut].count(b"\n")
        assert told["run"]["grade"] == "truncated"
