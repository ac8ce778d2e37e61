"""A collector that comes and goes: it answers, refuses, hangs, hangs up after taking, and is down now and then.

Run as a process: ``python flaky_server.py FOLDER SEED``. It writes what it takes into ``FOLDER/bodies``, a body a line,
before it answers, its port into ``FOLDER/port``, and is a good server from when ``FOLDER/calm`` exists.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.unit.telemetry.processes import wait_for


@contextmanager
def flaky_server(folder: Path, seed: int) -> Generator[str]:
    """A server process for the block; yields its URL."""
    folder.mkdir(parents=True)
    port = folder / "port"
    with subprocess.Popen([sys.executable, "-m", __name__, str(folder), str(seed)]) as process:
        try:
            wait_for(lambda: port.exists() and port.read_text() != "")
            yield f"http://127.0.0.1:{port.read_text()}"
        finally:
            process.kill()


class FlakyServer:
    """The process's one server."""

    def __init__(self, folder: Path, seed: int) -> None:
        self._bodies = os.open(folder / "bodies", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._calm = folder / "calm"
        self._dice = random.Random(seed)
        self._lock = threading.Lock()
        self._server = self._open(0)
        self._port = self._server.server_port
        (folder / "port").write_text(str(self._port))

    def take(self, body: bytes) -> None:
        """Write it down."""
        os.write(self._bodies, body + b"\n")

    def mood(self) -> str:
        """What the next request meets."""
        with self._lock:
            roll = 1.0 if self._calm.exists() else self._dice.random()
        words = [(0.08, "503"), (0.16, "429"), (0.24, "taken, then hung up"), (0.3, "hung up"), (0.36, "slow")]
        return next((word for bound, word in words if roll < bound), "taken")

    def run(self) -> None:
        """Up and down for good."""
        pause = threading.Event()
        while True:
            serving = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
            serving.start()
            pause.wait(0.05 + self._dice.random() * 0.4)
            while self._calm.exists():
                pause.wait(1)
            self._server.shutdown()
            self._server.server_close()
            serving.join()
            pause.wait(self._dice.random() * 0.2)
            self._server = self._open(self._port)

    def _open(self, port: int) -> ThreadingHTTPServer:
        server = _Server(("127.0.0.1", port), _handler(self), bind_and_activate=True)
        server.daemon_threads = True
        return server


class _Server(ThreadingHTTPServer):
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that died in the middle is what this is about."""


def _handler(flaky: FlakyServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 5

        def do_POST(self) -> None:
            wanted = int(self.headers["Content-Length"])
            body = self.rfile.read(wanted)
            mood = flaky.mood()
            if len(body) < wanted or mood == "hung up" or not self.path.endswith("/v1/traces"):
                self.close_connection = True
                return
            if mood in ("503", "429"):
                self._answer(int(mood), b"later")
                return
            if mood == "slow":
                threading.Event().wait(0.05)
            flaky.take(body)
            if mood == "taken, then hung up":
                self.close_connection = True
                return
            self._answer(200, b"{}")

        def _answer(self, status: int, content: bytes) -> None:
            self.send_response(status)
            if status == 429:
                self.send_header("Retry-After", "0")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
            return

    return Handler


if __name__ == "__main__":
    FlakyServer(Path(sys.argv[1]), int(sys.argv[2])).run()
