"""``spanseal runs`` on everything that can be a source."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from tests.unit.cli.reading import said
from tests.unit.replay.recorded import calculator_run, lines

from spanseal import settings
from spanseal.cli.main import run
from spanseal.sealer.keys import make_keys


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two runs, and a last line that is cut."""
    spans = tmp_path / "spans"
    spans.mkdir()
    second = calculator_run("5c" * 16, "f" * 32, shift=5000)
    (spans / "spans.jsonl").write_bytes(lines([*calculator_run(), *second])[:-30])
    return spans


def test_the_list_for_people(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["runs", str(folder)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0].split() == ["run", "agent", "outcome", "record", "started", "took", "spans", "calls", "replayable"]
    assert out[1].split()[:2] == ["5c5c5c5c5c5c", "calculator"]
    assert "truncated" in out[1]
    assert out[2].startswith("4b4b4b4b4b4b  calculator  completed  complete ")
    assert "spans.jsonl, bytes" in out[3]
    assert "cut" in out[3]


def test_the_list_for_programs_is_one_document(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["runs", str(folder), "--json"]) == 0
    out = capsys.readouterr()
    told = json.loads(out.out)
    assert [(one["run_id"], one["grade"], one["spans"], one["calls"]) for one in told] == [
        ("5c" * 16, "truncated", 8, 2),
        ("4b" * 16, "complete", 9, 2),
    ]
    assert list(told[0]) == [
        "run_id", "trace_id", "agent", "parent_run_id", "outcome", "grade", "started", "spans", "calls", "replayable",
    ]
    assert "cut" in out.err


def test_nothing_but_text_when_it_is_no_terminal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert b"\x1b" not in said(monkeypatch, "runs", str(folder))


def test_colours_on_a_terminal_unless_they_are_not_wanted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "60")
    shown = said(monkeypatch, "runs", str(folder), terminal=True)
    assert b"\x1b[" in shown
    monkeypatch.setenv("NO_COLOR", "1")
    bare = said(monkeypatch, "runs", str(folder), terminal=True).decode()
    assert "\x1b[3" not in bare
    table = bare.splitlines()[:3]
    assert all("spans" not in line and "replayable" not in line for line in table)


def test_a_missing_source(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["runs", str(tmp_path / "nowhere")]) == 2
    assert "there is no such file or folder. Looked for an audit store" in capsys.readouterr().err


def test_a_source_without_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "spans.jsonl").write_text("")
    assert run(["runs", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "no runs here\n"


@pytest.mark.parametrize("command", ["runs", "show", "verify"])
@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("hosts", b"127.0.0.1 localhost\n::1 localhost\n", "hosts, bytes 0-20: not an OTLP JSON line"),
        ("note", b"no line end", "note, bytes 0-11: not an OTLP JSON line"),
        ("spans.jsonl.gz", gzip.compress(lines(calculator_run())), "unpack it to JSON lines"),
    ],
)
def test_a_file_of_other_things_is_no_source(
    command: str, name: str, data: bytes, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / name).write_bytes(data)
    assert run([command, str(tmp_path / name)]) == 2
    out = capsys.readouterr()
    assert out.out == ""
    assert "no OTLP document in it; looked at the whole file" in out.err
    assert "an audit store, an export file" in out.err
    assert says in out.err


@pytest.mark.parametrize(
    "data", [b"", b"\n", b'{"resourceSpans":[]}\n', b'{"resourceLogs":[]}\n', bytes(64), b'{"reso']
)
def test_an_export_that_holds_no_span_yet_has_no_runs(
    data: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "spans.jsonl").write_bytes(data)
    assert run(["runs", str(tmp_path)]) == 0
    assert capsys.readouterr().out.startswith("no runs here\n")


def sealed(folder: Path, tmp_path: Path) -> Path:
    make_keys(tmp_path / "keys", settings.state_dir(), "example.com/log")
    assert run(["seal", str(folder), "--store", str(tmp_path / "store"), "--keys", str(tmp_path / "keys")]) in (0, 2)
    return tmp_path / "store"


def test_a_store_says_its_verdict_first(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = sealed(folder, tmp_path)
    capsys.readouterr()
    assert run(["runs", str(store)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("✓ store ok · ")
    assert "whoever holds the log's key could have rewritten everything" in " ".join(out.split())
    assert "4b4b4b4b4b4b  calculator  completed  complete" in out


def test_a_store_of_an_unknown_signer_is_read_with_a_warning(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = sealed(folder, tmp_path)
    capsys.readouterr()
    monkeypatch.setenv("SPANSEAL_STATE_DIR", str(tmp_path / "other"))
    assert run(["runs", str(store)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("! store unknown")
    assert "no-trust" in out
    assert "4b4b4b4b4b4b" in out


def test_a_changed_store_is_refused_unless_asked(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = sealed(folder, tmp_path)
    segment = next((store / "seg").iterdir())
    data = bytearray(segment.read_bytes())
    data[-100] ^= 1
    segment.write_bytes(data)
    capsys.readouterr()
    assert run(["runs", str(store)]) == 1
    out = capsys.readouterr()
    assert out.out == ""
    assert "does not verify" in out.err
    assert run(["runs", str(store), "--json", "--unverified"]) == 1
    json.loads(capsys.readouterr().out)
