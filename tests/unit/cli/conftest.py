"""Command lines as typed, in an empty folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from spanseal.cli.main import run


@pytest.fixture
def type_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], tuple[int, str, str]]:
    """Runs a line typed in ``tmp_path``; gives exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def typed(line: str) -> tuple[int, str, str]:
        code = run(line.split())
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return typed
