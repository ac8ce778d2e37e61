"""`make demo` on the real model, in a process of its own: what README promises first."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_the_demo_on_the_local_model(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "spanseal.cli", "demo", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "SmolLM2" in done.stdout
    assert "attempt 2" in done.stdout, "the free text of the first attempt is no JSON; the retry has the schema"
    assert "modify by one_path" in done.stdout
    assert "messages equal what the agent saw" in done.stdout
    assert "DIFFER" not in done.stdout
