"""Talks to servers that misbehave, over real sockets on loopback, in a process of its own: unit tests may not.

Prints one JSON document: per case verdict, reason, seconds, and what the server saw.
"""

from __future__ import annotations

import gzip
import json
import socket
import ssl
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from spanseal.telemetry.export.otlp_http import Route

BODY = b'{"resourceSpans":[' + b'{"x":"' + b"y" * 2_000_000 + b'"}]}'
TIMEOUT = 0.6
Answering = Callable[[socket.socket], None]


class Server:
    """One thread, one connection after the other, each answered by ``answer`` when the request is read."""

    def __init__(self, answer: Answering, context: ssl.SSLContext | None = None) -> None:
        self.requests: list[bytes] = []
        self._answer = answer
        self._context = context
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            plain, _ = self._listening.accept()
            try:
                with self._context.wrap_socket(plain, server_side=True) if self._context else plain as connection:
                    self.requests.append(_read(connection))
                    self._answer(connection)
            except OSError:
                continue


def _read(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    length = next(int(line.split(b":")[1]) for line in lines if line.startswith(b"content-length"))
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def say(data: bytes, then: float = 0.0) -> Answering:
    """Send this, and wait before hanging up."""

    def answer(connection: socket.socket) -> None:
        connection.sendall(data)
        time.sleep(then)

    return answer


def drip(data: bytes, pause: float) -> Answering:
    """Send this byte by byte."""

    def answer(connection: socket.socket) -> None:
        for at in range(len(data)):
            connection.sendall(data[at : at + 1])
            time.sleep(pause)

    return answer


def ok(content: bytes, kind: bytes = b"application/json") -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (kind, len(content), content)


CASES: dict[str, Answering] = {
    "never answers": say(b"", then=5),
    "drips its head": drip(ok(b"{}"), 0.05),
    "drips its content": drip(ok(b"{" + b" " * 200 + b"}"), 0.02),
    "hangs up": say(b""),
    "hangs up in the head": say(b"HTTP/1.1 200 OK\r\nContent-"),
    "hangs up in the content": say(b'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"partialSuccess":'),
    "no HTTP": say(b"SSH-2.0-OpenSSH_9.2\r\n"),
    "a login page": say(ok(b"<html>log in</html>", b"text/html")),
    "an endless content": say(b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 3_000_000),
    "empty": say(ok(b"")),
    "protobuf": say(ok(b"\x0a\x00", b"application/x-protobuf")),
    "in part": say(ok(b'{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}')),
    "late": say(b"HTTP/1.1 429 Too Many\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n"),
}


def ask(route: Route, server: Server) -> dict[str, Any]:
    connection = route.connection()
    start = time.monotonic()
    answer = connection.post(BODY)
    seconds = time.monotonic() - start
    connection.close()
    return {
        "verdict": answer.verdict, "reason": answer.reason, "seconds": seconds, "requests": len(server.requests),
        "after": answer.retry_after, "rejected": answer.rejected,
    }  # fmt: skip


def certificate(folder: Path, name: str) -> tuple[str, str]:
    """A self-signed certificate for 127.0.0.1 and its key, as files."""
    key = ec.generate_private_key(ec.SECP256R1())
    called = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    loopback = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    builder = x509.CertificateBuilder().subject_name(called).issuer_name(called).public_key(key.public_key())
    day = timedelta(days=1)
    builder = builder.serial_number(1).not_valid_before(now - day).not_valid_after(now + day)
    signed = builder.add_extension(loopback, critical=False).sign(key, hashes.SHA256())
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    (folder / f"{name}.pem").write_bytes(signed.public_bytes(pem))
    (folder / f"{name}.key").write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    return str(folder / f"{name}.pem"), str(folder / f"{name}.key")


def main(folder: Path) -> dict[str, Any]:
    said: dict[str, Any] = {}
    for name, answering in CASES.items():
        server = Server(answering)
        said[name] = ask(Route(f"http://127.0.0.1:{server.port}/v1/traces", timeout=TIMEOUT), server)
    target = Server(say(ok(b"{}")))
    moved = b"HTTP/1.1 308 Moved\r\nLocation: http://127.0.0.1:%d/\r\nContent-Length: 0\r\n\r\n" % target.port
    server = Server(say(moved))
    said["redirect"] = ask(Route(f"http://127.0.0.1:{server.port}/v1/traces", timeout=TIMEOUT), server)
    said["redirect"]["followed"] = len(target.requests)
    server = Server(say(ok(b"{}")))
    said["gzip"] = ask(Route(f"http://127.0.0.1:{server.port}/v1/traces", timeout=TIMEOUT, compression="gzip"), server)
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    said["gzip"] |= {"same": gzip.decompress(body) == BODY, "head": head.decode().lower(), "bytes": len(body)}
    ours, their_cert = certificate(folder, "client"), certificate(folder, "server")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=ours[0])
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(*their_cert)
    server = Server(say(ok(b"{}")), context)
    url = f"https://127.0.0.1:{server.port}/v1/traces"
    bare = Route(url, timeout=3.0, certificate=their_cert[0])
    mutual = replace(bare, client_certificate=ours[0], client_key=ours[1])
    said["mtls"] = ask(mutual, server)
    said["mtls without a certificate"] = ask(bare, server)
    said["an unknown authority"] = ask(replace(mutual, certificate=None), server)
    said["no such file"] = ask(replace(bare, certificate=str(folder / "nowhere.pem")), server)
    return said


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
