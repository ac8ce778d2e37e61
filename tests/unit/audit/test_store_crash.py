"""Killed at any call of the disk, a store loses nothing it acknowledged, doubles nothing, and never looks tampered.

``SPANSEAL_SOAK`` makes it 500 kills instead of 25.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

_KILLS = 500 if os.environ.get("SPANSEAL_SOAK") else 25


def _fast_folder() -> str | None:
    """In memory where the machine has that: what is tested is the order of the calls, not the disk."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def _drive(name: str, *arguments: str) -> tuple[dict[str, Any], str]:
    """Run a driver beside this file on a new folder; what it observed, and what it said besides."""
    with tempfile.TemporaryDirectory(dir=_fast_folder()) as base:
        command = [sys.executable, "-m", f"tests.unit.audit.{name}", base, *arguments]
        root = Path(__file__).resolve().parents[3]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.mark.timeout(1200)
def test_killed_again_and_again() -> None:
    seen, said = _drive("crash_driver", "20", str(_KILLS))
    assert seen["outcomes"].get("9", 0) > _KILLS // 2, "the driver must really die"
    assert set(seen["outcomes"]) <= {"0", "9"}, said
    assert "bad" not in seen["verdicts"], said
    assert seen["final"] == "ok"
    assert seen["acknowledged"] > 10
    assert seen["kept"], "an acknowledged line was lost"
    assert seen["monotone"], "a head went back"
    assert (seen["spans"], seen["most"]) == (seen["unique"], 1), "each span exactly once"
    assert seen["lines"], "every input line comes back byte for byte"


def test_a_disk_that_is_really_full() -> None:
    seen, _ = _drive("full_disk_driver")
    assert "nothing of this batch is acknowledged" in seen["refused"]
    assert 0 < seen["sealed"] < 30
    assert seen["spans"] == seen["sealed"], "what was acknowledged is there, and nothing else"
    assert seen["bad"] == []
    assert (seen["final"], seen["final_spans"]) == ("ok", 30)
