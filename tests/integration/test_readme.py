"""README's own lines, run as printed, in one folder and in order, against the real model server.

Left out are only `make` (it runs this test, and test_demo.py), and `pip install` (`make` has done it).
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from tests.integration.parts import services

README = Path(__file__).resolve().parents[2] / "README.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
BLOCKS = BLOCK.findall(README.read_text(encoding="utf-8"))

RULES_ASKED = """
from spanseal import AgentState, LLMResponse, ToolCall, ToolUse

print(HasNumberCheck().check(LLMResponse("none", "m")).passed)
print(AskFirstPolicy().decide("before_tool", AgentState(), ToolUse(ToolCall("1", "order", "{}"))).decision.value)
"""


def blocks(language: str) -> list[str]:
    return [text for name, text in BLOCKS if name == language]


def test_readme_has_the_blocks_that_are_run_here() -> None:
    assert " ".join(name for name, _ in BLOCKS) == "console console python python python console python sh console"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory, openai_server: services.OpenAIServer) -> dict[str, str]:
    """A user's shell whose OpenAI is the local server."""
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "OPENAI_BASE_URL": openai_server.base_url,
        "OPENAI_API_KEY": "none",
        "SPANSEAL_STATE_DIR": str(tmp_path_factory.mktemp("state")),
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("readme")


def run(command: list[str] | str, folder: Path, environment: dict[str, str]) -> str:
    shell = isinstance(command, str)
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=250, shell=shell
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.timeout(900)
def test_every_line_works_as_printed(folder: Path, environment: dict[str, str]) -> None:
    agent, rules, client, replay = blocks("python")
    outcome = run([sys.executable, "-c", agent], folder, environment).split()
    assert outcome[0] in {"completed", "halted", "failed"}
    assert run([sys.executable, "-c", rules + RULES_ASKED], folder, environment).split() == ["False", "escalate"]
    run([sys.executable, "-c", client], folder, environment)
    lines = [line[2:] for block in blocks("console") for line in block.splitlines() if line.startswith("$ spanseal")]
    assert len(lines) == 6
    said = [run(line, folder, environment) for line in lines]
    assert "ok" in said[2]
    assert "calculator" in said[3]
    assert '"run_id"' in said[4]
    assert "route-works" in said[5]
    assert "->" in run([sys.executable, "-c", replay], folder, environment)
    serve(blocks("sh")[0], folder, environment)


def serve(command: str, folder: Path, environment: dict[str, str]) -> None:
    """The service starts as printed, is healthy, and ends cleanly."""
    process = subprocess.Popen(["sh", "-c", f"exec {command.strip()}"], cwd=folder, env=environment)
    try:
        for _ in range(150):
            time.sleep(0.2)
            try:
                if httpx.get("http://127.0.0.1:4320/healthz").status_code == 200:
                    break
            except httpx.TransportError:
                assert process.poll() is None
        else:
            pytest.fail("the service was not healthy within 30 seconds")
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
