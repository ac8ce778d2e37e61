"""The demo's whole story with a scripted model, in a process of its own; and that it cannot end well by itself."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from spanseal.demo import attack
from spanseal.demo.attack import attack_all
from spanseal.demo.model import demo_model
from spanseal.demo.story import Demo
from spanseal.errors import UsageError


def spanseal(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "spanseal.cli", *arguments], capture_output=True, text=True)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of one demo, and what it told."""
    out = tmp_path_factory.mktemp("demo")
    done = spanseal("demo", "--model", "scripted", "--out", str(out))
    assert done.returncode == 0, done.stdout + done.stderr
    assert not done.stderr
    return next(out.iterdir()), done.stdout


def test_the_retry_repairs_what_the_check_refused(told: tuple[Path, str]) -> None:
    folder, text = told
    runs = json.loads(spanseal("runs", str(folder / "spans"), "--json").stdout)
    assert sorted(run["outcome"] for run in runs) == ["completed", "completed", "escalated"]
    assert all(run["grade"] == "complete" and run["replayable"]["exact"] == run["calls"] for run in runs)
    assert text.count("not valid JSON") >= 3
    assert "modify by one_path" in text
    assert "right: it is 192" in text


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "utf-8"])
def test_what_a_model_wrote_is_told_in_any_encoding_and_steers_no_terminal(encoding: str, tmp_path: Path) -> None:
    heard = io.BytesIO()
    out = io.TextIOWrapper(heard, encoding=encoding, newline="\n")
    Demo(tmp_path, Console(file=out, width=20)).say("a lamp\x1b[2J \u202e costs … \u4e2d 24 dollars, they say")
    out.flush()
    line = heard.getvalue().decode(encoding)
    assert line.endswith("24 dollars, they say\n")
    assert line.startswith("a lamp\\x1b[2J \\u202e costs ")
    assert line.count("\n") == 1


def test_the_order_never_happened(told: tuple[Path, str]) -> None:
    assert "ordered so far: nothing" in told[1]


def test_each_tampering_is_named(told: tuple[Path, str]) -> None:
    text = told[1]
    assert "payload-changed" in text
    assert "bundle-changed" in text
    assert "is gapped: seq" in text


def test_the_commands_to_try_work(told: tuple[Path, str]) -> None:
    lines = [line.split() for line in told[1].split("Yours to try")[1].splitlines() if line.strip()]
    codes = [spanseal(*words[1:], *_trusting(words, told[0])).returncode for words in lines]
    assert codes == [0, 0, 0, 1]


def _trusting(words: list[str], folder: Path) -> list[str]:
    """The demo pinned its log in a state folder that this test does not share."""
    keys = folder / "keys"
    return ["--trust", str(keys / "trust"), "--content-keys", str(keys / "content")] if words[1] != "runs" else []


def test_an_attack_that_nobody_notices_ends_the_demo_badly(
    told: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "copy"
    attack.shutil.copytree(told[0], folder)
    attack.shutil.rmtree(folder / "attacked")

    def untouched(source: Path, target: Path) -> Path:
        attack.shutil.copytree(source, target)
        return source if source.name == "spans" else target

    monkeypatch.setattr(attack, "_copy", untouched)
    monkeypatch.setattr(Path, "write_bytes", lambda *_: 0)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    assert [each.found for each in attack_all(folder)] == [False, False, False]


@pytest.mark.parametrize("choice", ["", "gpt-5", "ftp://host"])
def test_an_unknown_model_is_refused_with_what_is_possible(choice: str) -> None:
    with pytest.raises(UsageError, match="scripted"), demo_model(choice):
        pass


def test_a_demo_that_cannot_begin_leaves_nothing_behind(tmp_path: Path) -> None:
    done = spanseal("demo", "--model", "gpt-5", "--out", str(tmp_path))
    assert done.returncode == 2
    assert "scripted" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_not_there_is_told_and_ends_badly(tmp_path: Path) -> None:
    done = spanseal("demo", "--model", "http://127.0.0.1:9/v1#none", "--out", str(tmp_path))
    assert done.returncode == 1
    assert "failed" in done.stdout
    assert "Traceback" not in done.stderr
