"""A process that answers as OpenAI and as Ollama; run as a script with the file that gets its port."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        message = {"role": "assistant", "content": "hello"}
        answer: dict[str, Any] = {"model": "m", "message": message, "done": True, "done_reason": "stop"}
        if self.path.startswith("/v1"):
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
        """Says nothing."""


@contextmanager
def answering(folder: Path) -> Generator[str]:
    """The URL of such a process, for the block."""
    port = folder / "port"
    server = subprocess.Popen([sys.executable, __file__, str(port)], stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        server.stdout.readline()
        yield f"http://127.0.0.1:{port.read_text()}"
    finally:
        server.kill()
        server.communicate()


if __name__ == "__main__":
    serving = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    Path(sys.argv[1]).write_text(str(serving.server_address[1]))
    print("ready", flush=True)
    serving.serve_forever()
