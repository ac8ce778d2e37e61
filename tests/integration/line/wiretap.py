"""Stands between the agent and its model server, passes everything on and keeps the bytes: who was not asked can tell.

What the product records is compared with what went through here. The player gives kept answers to the same bytes.
"""

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

PATIENCE = 240


@dataclass(frozen=True)
class Exchange:
    """One request and its answer, as they were on the wire."""

    path: str
    request: bytes
    status: int
    response: bytes

    @property
    def digest(self) -> str:
        """SHA-256 of the request's bytes, by which a recorded call is found again."""
        return sha256(self.request).hexdigest()


@dataclass
class Wiretap:
    """`url` takes the place of the server's; `exchanges` grows in order of the answers."""

    url: str = ""
    exchanges: list[Exchange] = field(default_factory=list[Exchange])


@contextmanager
def wiretap(upstream: str) -> Generator[Wiretap]:
    """Listen on loopback until the context is left; `upstream` is the server's address without a path."""
    tap = Wiretap()
    with httpx.Client(base_url=upstream, trust_env=False, timeout=PATIENCE) as client:

        def passed_on(path: str, body: bytes) -> tuple[int, bytes]:
            answer = client.post(path, content=body, headers={"content-type": "application/json"})
            tap.exchanges.append(Exchange(path, body, answer.status_code, answer.content))
            return answer.status_code, answer.content

        with _serving(passed_on) as tap.url:
            yield tap


@contextmanager
def player(exchanges: Sequence[Exchange]) -> Generator[str]:
    """A server that knows these requests, byte for byte, and gives their answers; to any other it says 404."""
    known = {(one.path, one.request): (one.status, one.response) for one in exchanges}
    with _serving(lambda path, body: known.get((path, body), (404, b'{"error": "not recorded"}'))) as url:
        yield url


@contextmanager
def _serving(answer: Callable[[str, bytes], tuple[int, bytes]]) -> Generator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            status, content = answer(self.path, self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
