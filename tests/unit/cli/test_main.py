"""Every end of a command has an exit code and words, and none is a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import pytest
import typer

from spanseal.cli import main as main_module
from spanseal.cli.main import COMMANDS, run
from spanseal.errors import StoreError


@pytest.fixture
def with_command(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    """An application whose only command does what the test says."""

    def install(body: Callable[[], Any]) -> None:
        def application() -> typer.Typer:
            app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
            app.command("one")(body)
            app.command("two")(lambda: None)
            return app

        monkeypatch.setattr(main_module, "application", application)

    return install


def raising(error: BaseException) -> Callable[[], None]:
    def body() -> None:
        raise error

    return body


def test_the_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"spanseal {version('spanseal')}\n"


def test_every_command_is_listed_and_has_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    overview = capsys.readouterr().out
    for name in ("keygen", "seal", "serve", "verify"):
        assert name in COMMANDS
        assert f" {name} " in overview
        assert run([name, "--help"]) == 0
        assert "Usage" in capsys.readouterr().out


def test_the_overview_imports_nothing_heavy() -> None:
    heavy = ("openai", "opentelemetry", "starlette", "uvicorn", "cryptography", "sqlite3", "spanseal.audit")
    code = f"""
import sys
from spanseal.cli.main import run
assert run(["--version"]) == 0
print(sorted(name for name in {heavy!r} if name in sys.modules))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize("arguments", [["nonsense"], ["seal"], ["keygen"], ["seal", "x", "--store"], ["--nonsense"]])
def test_wrong_usage_is_2_with_words_on_stderr(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert "Error" in captured.err
    assert captured.out == ""


def test_our_errors_are_one_line(
    with_command: Callable[[Callable[[], Any]], None], capsys: pytest.CaptureFixture[str]
) -> None:
    with_command(raising(StoreError("store/x: first\nsecond \udc80\x1b[31m")))
    assert run(["one"]) == 2
    assert capsys.readouterr().err == "error: store/x: first second \\udc80\\x1b[31m\n"


@pytest.mark.parametrize("code", [0, 1, 2])
def test_a_command_says_its_exit_code_either_way(
    with_command: Callable[[Callable[[], Any]], None], code: int
) -> None:
    with_command(raising(typer.Exit(code)))
    assert run(["one"]) == code
    with_command(lambda: code)
    assert run(["one"]) == code


def test_a_fault_of_ours_asks_for_a_report_and_shows_its_place_when_told(
    with_command: Callable[[Callable[[], Any]], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with_command(raising(ZeroDivisionError("by zero")))
    assert run(["one"]) == 2
    err = capsys.readouterr().err
    assert "report" in err
    assert err.count("\n") == 1
    monkeypatch.setenv("SPANSEAL_DEBUG", "1")
    assert run(["one"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_interrupted_is_130(with_command: Callable[[Callable[[], Any]], None]) -> None:
    with_command(raising(KeyboardInterrupt()))
    assert run(["one"]) == 130


def test_a_closed_pipe_is_quiet(
    with_command: Callable[[Callable[[], Any]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    os.close(reading)

    def body() -> None:
        sys.stdout.write("x" * 100_000)
        sys.stdout.flush()

    with os.fdopen(writing, "w") as pipe:
        monkeypatch.setattr("sys.stdout", pipe)
        with_command(body)
        assert run(["one"]) == 141
