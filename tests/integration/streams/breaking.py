"""An HTTP server that breaks streams in ways that a healthy one cannot: real sockets, real chunked bodies.

The first part of the path names the fault: ``http://127.0.0.1:PORT/FAULT/v1/chat/completions`` or
``http://127.0.0.1:PORT/FAULT/api/chat``. What follows a dot in it makes it new to the server (for faults that are gone
at the second try).
"""

from __future__ import annotations

import gzip
import json
import os
import socket
import socketserver
import struct
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any, Final

WORDS: Final = ("Grüße", " aus", " dem Rest")


def chunks(kind: str, words: Sequence[str] = WORDS) -> list[bytes]:
    """The frames of a stream that says ``words``, without its end."""
    if kind == "ollama":
        return [
            _line({"model": "m", "message": {"role": "assistant", "content": word}, "done": False}) for word in words
        ]
    head = {"id": "r1", "object": "chat.completion.chunk", "model": "m"}
    return [_event({**head, "choices": [{"index": 0, "delta": {"content": word}}]}) for word in words]


def ending(kind: str) -> list[bytes]:
    """The frames that end it."""
    if kind == "ollama":
        done = {"model": "m", "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
        return [_line(done)]
    last = {"id": "r1", "choices": [{"index": 0, "delta": dict[str, Any](), "finish_reason": "stop"}]}
    return [_event(last), b"data: [DONE]\n\n"]


def _line(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"


def _event(value: Any) -> bytes:
    return b"data: " + json.dumps(value, ensure_ascii=False).encode() + b"\n\n"


class Handler(BaseHTTPRequestHandler):
    """One connection; each fault is a method."""

    protocol_version = "HTTP/1.1"
    kind = "openai"

    def do_POST(self) -> None:
        """Answer as the path says."""
        self.rfile.read(int(self.headers["content-length"]))
        self.kind = "ollama" if "/api/" in self.path else "openai"
        name = self.path.split("/")[1]
        server: Any = self.server
        again = name in server.seen
        server.seen.add(name)
        fault: Callable[[bool], None] = getattr(self, name.partition(".")[0])
        try:
            fault(again)
        except (BrokenPipeError, ConnectionResetError):  # the client has gone, as it may
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class names it so
        """Say nothing."""

    def healthy(self, again: bool) -> None:
        self._stream([*chunks(self.kind), *ending(self.kind)])

    def cut_in_a_chunk(self, again: bool) -> None:
        self._head()
        self._send(*chunks(self.kind)[:2])
        part = chunks(self.kind)[2]
        self.wfile.write(f"{len(part):x}\r\n".encode() + part[:25])
        self._hang_up()

    def cut_in_a_character(self, again: bool) -> None:
        self._head()
        self._send(*chunks(self.kind)[1:2])
        part = chunks(self.kind)[0]
        self.wfile.write(f"{len(part):x}\r\n".encode() + part[: part.index("ü".encode()) + 1])
        self._hang_up()

    def reset(self, again: bool) -> None:
        self._head()
        self._send(*chunks(self.kind)[:2])
        time.sleep(0.1)  # what was sent must be read before the reset throws it away
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())
        self._hang_up()

    def silent(self, again: bool) -> None:
        self._head()
        self._send(*chunks(self.kind)[:2])
        time.sleep(1.5)
        self._hang_up()

    def unfinished(self, again: bool) -> None:
        self._stream(chunks(self.kind)[:2])

    def slow(self, again: bool) -> None:
        self._head()
        time.sleep(0.3)
        self._send(*chunks(self.kind), *ending(self.kind))
        self._end()

    def malformed(self, again: bool) -> None:
        self._stream([*chunks(self.kind)[:2], b"{no JSON\n" if self.kind == "ollama" else b"data: {no JSON\n\n"])

    def error(self, again: bool) -> None:
        told: Any = "overloaded" if self.kind == "ollama" else {"message": "overloaded", "type": "server_error"}
        frame = _line({"error": told}) if self.kind == "ollama" else _event({"error": told})
        self._stream([*chunks(self.kind)[:2], frame])

    def page(self, again: bool) -> None:
        self._stream([b"<html><body>It works!</body></html>"], form="text/html")

    def limited(self, again: bool) -> None:
        self._refused_once(429, again)

    def failing(self, again: bool) -> None:
        self._refused_once(500, again)

    def packed_and_cut(self, again: bool) -> None:
        frames = [*chunks(self.kind)[:2], *(chunks(self.kind, [""]) * 80), *ending(self.kind)]
        data = gzip.compress(b"".join(frames), 1)
        self._head({"content-encoding": "gzip"})
        self.wfile.write(f"{len(data):x}\r\n".encode() + data[:-40])
        self._hang_up()

    def unknown_packing(self, again: bool) -> None:
        self._head({"content-encoding": "x-odd"})
        self._send(*chunks(self.kind), *ending(self.kind))
        self._end()

    def _refused_once(self, status: int, again: bool) -> None:
        if again:
            self.healthy(again)
            return
        body = b'{"error": {"message": "not now"}}'
        self.send_response(status)
        for name, value in {"retry-after": "1", "retry-after-ms": "20", "content-type": "application/json"}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, frames: Sequence[bytes], form: str = "") -> None:
        self._head({"content-type": form} if form else {})
        self._send(*frames)
        self._end()

    def _head(self, headers: dict[str, str] | None = None) -> None:
        form = "application/x-ndjson" if self.kind == "ollama" else "text/event-stream"
        self.send_response(200)
        for name, value in {"content-type": form, "transfer-encoding": "chunked", **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()

    def _send(self, *frames: bytes) -> None:
        for frame in frames:
            self.wfile.write(f"{len(frame):x}\r\n".encode() + frame + b"\r\n")

    def _end(self) -> None:
        self.wfile.write(b"0\r\n\r\n")

    def _hang_up(self) -> None:
        self.close_connection = True


class Server(socketserver.ThreadingTCPServer):
    """Its threads end with the test run."""

    allow_reuse_address = True
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: set[str] = set()


@contextmanager
def breaking_server() -> Generator[str]:
    """The server's URL, without a path."""
    server = Server()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
