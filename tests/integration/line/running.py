"""Starts the application under test as a process of its own and reads what it reports."""

import json
import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tests.integration.line.seen import Seen, of_report
from tests.integration.line.wiretap import Exchange, wiretap
from tests.integration.parts import reaper

TREE = Path(__file__).parents[3]
MODULE = "tests.integration.line.app"
PATIENCE = 280
"""Seconds for all the runs of one application: a small model on a busy machine."""


def environment(state: Path, **more: str) -> dict[str, str]:
    """The caller's environment without its OTEL_* and SPANSEAL_* variables, with a state folder of the test's own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "SPANSEAL_"))}
    return {**kept, "SPANSEAL_STATE_DIR": str(state), "PYTHONWARNINGS": "default", **more}


@dataclass(frozen=True)
class Ran:
    """What an application did: its runs by case, its spans by id, and what went over the wire to the model."""

    service: str
    runs: dict[str, dict[str, Any]]
    spans: dict[str, Seen]
    delivered: bool
    exchanges: list[Exchange]
    stderr: str

    def exchange(self, digest: str) -> Exchange:
        """The exchange whose request has this digest: the agents of these tests never ask the same twice."""
        (found,) = [one for one in self.exchanges if one.digest == digest]
        return found


def run_on_model(
    state: Path, export: str, kind: str, upstream: str, model: str, tools_model: str = "", service: str = ""
) -> Ran:
    """All cases on a real model at `upstream`, a server's address; spans go to `export`."""
    service = service or f"line-{kind}"
    with wiretap(upstream) as tap:
        command = [sys.executable, "-m", MODULE, "--export", export, "--service", service, "--model", kind]
        command += ["--at", tap.url, "--name", model, "--tools-name", tools_model]
        done = subprocess.run(
            command, cwd=TREE, env=environment(state), capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    runs = {run["case"]: run for run in report["runs"]}
    return Ran(service, runs, of_report(report["spans"]), report["delivered"], tap.exchanges, done.stderr)


@dataclass
class Application:
    """A scripted application that waits for words."""

    process: subprocess.Popen[str]
    stdin: IO[str]
    stdout: IO[str]
    log: Path

    def run(self) -> dict[str, Any]:
        """Have it make one run; returns the run's result."""
        self.say("run")
        return json.loads(self.stdout.readline())

    def say(self, word: str) -> None:
        """Send a word of the script."""
        self.stdin.write(word + "\n")
        self.stdin.flush()

    def heard(self) -> str:
        """Everything on its stderr so far."""
        return self.log.read_text()

    def end(self) -> int:
        """No more words: it ends in order; returns its exit code."""
        self.stdin.close()
        return self.process.wait(60)


@contextmanager
def application(state: Path, export: str, arguments: Sequence[str] = ("--model", "scripted")) -> Generator[Application]:
    """A scripted application for the time of the context, its stderr in `state`."""
    state.mkdir(parents=True, exist_ok=True)
    log = state / "application.log"
    command = [sys.executable, "-m", MODULE, "--export", export, *arguments]
    with log.open("a") as stderr:
        process = subprocess.Popen(
            command, cwd=TREE, env=environment(state), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
            text=True, start_new_session=True,
        )  # fmt: skip
    reaper.watch(process.pid)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield Application(process, process.stdin, process.stdout, log)
    finally:
        process.kill()
        process.wait(10)
        process.stdout.close()
        if not process.stdin.closed:
            process.stdin.close()
        reaper.forget(process.pid)
