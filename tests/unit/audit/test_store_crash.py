"""Killed at any call of the disk, a store loses nothing it acknowledged, doubles nothing, and never looks tampered.

``SPANSEAL_SOAK=n`` multiplies the 25 kills.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from tests.unit.audit.crash_driver import __file__ as driver

_SOAK = os.environ.get("SPANSEAL_SOAK", "1")
_KILLS = 25 * (20 if _SOAK == "all" else int(_SOAK))


def _fast_folder() -> str | None:
    """In memory where the machine has that: what is tested is the order of the calls, not the disk."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


@pytest.mark.timeout(600)
def test_killed_again_and_again() -> None:
    root = Path(driver).resolve().parents[3]
    with tempfile.TemporaryDirectory(dir=_fast_folder()) as base:
        command = [sys.executable, "-m", "tests.unit.audit.crash_driver", base, "20", str(_KILLS)]
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    seen = json.loads(done.stdout)
    assert seen["outcomes"].get("9", 0) > _KILLS // 2, "the driver must really die"
    assert set(seen["outcomes"]) <= {"0", "9"}, done.stderr
    assert "bad" not in seen["verdicts"], done.stderr
    assert seen["final"] == "ok"
    assert seen["acknowledged"] > 10
    assert seen["kept"], "an acknowledged line was lost"
    assert seen["monotone"], "a head went back"
    assert (seen["spans"], seen["most"]) == (seen["unique"], 1), "each span exactly once"
    assert seen["lines"], "every input line comes back byte for byte"
