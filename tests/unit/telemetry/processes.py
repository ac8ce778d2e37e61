"""Real processes for tests of crashes and forks: agents, and a collector that writes down what it is sent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import orjson

from spanseal.records.otlp import SpanRecord, parse_line

COLLECTOR = """
import http.server, pathlib, sys
folder = pathlib.Path(sys.argv[1])
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if not self.path.endswith("/v1/traces"):  # like a sealer, it takes spans only
            self.send_error(404)
            return
        script = folder / "script"
        answers = script.read_text().split() if script.exists() else []
        status, retry = (answers.pop(0).split(",") + [""])[:2] if answers else ("200", "")
        script.write_text(" ".join(answers))
        number = len(list(folder.glob("*.request")))
        words = (self.path, status, str(self.headers["Authorization"]))
        (folder / f"{number:04d}.request").write_text(" ".join(words))
        if status == "200":
            (folder / f"{number:04d}.new").write_bytes(body)
            (folder / f"{number:04d}.new").rename(folder / f"{number:04d}.body")
        answer = b"{}" if status == "200" else b"no"
        self.send_response(int(status))
        if retry:
            self.send_header("Retry-After", retry)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
    def log_message(self, *args):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler)
(folder / "port").write_text(str(server.server_address[1]))
server.serve_forever()
"""

PRELUDE = """
import os, signal, sys, threading, time
from spanseal.telemetry.configure import configure, flush, shutdown
from spanseal.telemetry.run_span import run_span
from spanseal.telemetry.spans.tracer import tracer
def span(name):
    with tracer().start_as_current_span(name):
        pass
def spool_is_empty():
    from pathlib import Path
    until = time.monotonic() + 20
    while list(Path(os.environ["SPANSEAL_SPOOL_DIR"]).glob("*/spans-*.jsonl")):
        assert time.monotonic() < until
        time.sleep(0.02)
"""


class Collector:
    """A collector process at a loopback port; ``script`` holds the next answers, ``status[,retry-after]`` each."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        (folder / "port").unlink(missing_ok=True)
        self.process = subprocess.Popen([sys.executable, "-c", COLLECTOR, str(folder), str(port)])
        wait_for(lambda: (folder / "port").exists() and bool((folder / "port").read_text()))
        self.port = int((folder / "port").read_text())
        self.url = f"http://127.0.0.1:{self.port}"

    def script(self, answers: str) -> None:
        """What the next requests get; 200 when the script is at its end."""
        (self.folder / "script").write_text(answers)

    def requests(self) -> list[str]:
        """Path, status and authorization of each request."""
        return [path.read_text() for path in sorted(self.folder.glob("*.request"))]

    def spans(self) -> list[SpanRecord]:
        """All spans that were answered with 200, in order."""
        bodies = [path.read_bytes() for path in sorted(self.folder.glob("*.body"))]
        return [span for body in bodies for span in parse_line(body)]

    def stop(self) -> None:
        """Be gone."""
        self.process.kill()
        self.process.wait()


@contextmanager
def collecting(folder: Path) -> Generator[Collector]:
    """A collector for the block."""
    collector = Collector(folder)
    try:
        yield collector
    finally:
        collector.stop()


def agent(code: str, *args: str, expect: int = 0, environ: dict[str, str] | None = None) -> str:
    """Run an agent process to its end; returns what it said on stderr."""
    command = [sys.executable, "-W", "error", "-c", PRELUDE + code, *args]
    done = subprocess.run(command, env={**os.environ, **(environ or {})}, capture_output=True, text=True, timeout=60)
    assert done.returncode == expect, done.stderr
    return done.stderr


def spans_in(folder: Path) -> list[SpanRecord]:
    """The spans of every export file in a folder; each line must be whole."""
    found: list[SpanRecord] = []
    for path in sorted(folder.glob("spans-*.jsonl")):
        for line in path.read_bytes().splitlines(keepends=True):
            assert line.endswith(b"\n")
            orjson.loads(line)
            found += parse_line(line.rstrip(b"\n"))
    return found


def wait_for(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait until the condition holds; AssertionError if it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


KILLED = -signal.SIGKILL
