"""A tiny HTTP server in the sealer's place: keeps what it gets, answers what it is told."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Received:
    """One request: path, headers with lower-case names, body."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Sink:
    """What came in so far, and the status that the next requests get."""

    url: str = ""
    status: int = 200
    received: list[Received] = field(default_factory=list[Received])


@contextmanager
def sink(port: int = 0) -> Generator[Sink]:
    """Listen on loopback until the context is left; `port` 0 takes a free one."""
    state = Sink()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            headers = {name.lower(): value for name, value in self.headers.items()}
            state.received.append(Received(self.path, headers, body))
            self.send_response(state.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - likewise
            return

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
