"""What can go wrong at a server, one script of faults after the other; each for either HTTP library."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Callable
from typing import Any, Final

import zstandard
from tests.unit.telemetry.seams.servers import Fault

_HTML: Final = {"content-type": "text/html"}
_ERROR: Final = b'{"error": {"message": "no", "type": "t", "code": "c", "param": null}}'
Script = Callable[[Any], list[Fault]]
"""The faults of the first, second, ... request, made for an HTTP library; then all goes well."""


def _status(status: int, times: int = 1, body: bytes = _ERROR, **headers: str) -> Script:
    shown = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: [Fault(status, body, shown)] * times


def _raises(name: str, times: int = 1) -> Script:
    return lambda library: [Fault(raises=getattr(library, name)("broken"))] * times


def _cut(name: str, at: int, times: int = 1) -> Script:
    return lambda library: [Fault(cut=at, error=getattr(library, name)("cut"))] * times


def _encoded(name: str, encode: Callable[[bytes], bytes]) -> Script:
    return lambda _: [Fault(headers={"content-encoding": name}, encoded=encode)]


def _body(body: bytes, **headers: str) -> Script:
    shown = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda _: [Fault(200, body, shown)]


FAULTS: dict[str, Script] = {
    "429 with Retry-After": _status(429, Retry_After="7"),
    "429 for good": _status(429, 9, retry_after_ms="30"),
    "500 once": _status(500),
    "500 for good": _status(500, 9),
    "503 not to be retried": _status(503, x_should_retry="false"),
    "400": _status(400),
    "401": _status(401),
    "404 html": _status(404, body=b"<html>", content_type="text/html"),
    "409 twice": _status(409, 2),
    "204": _status(204, body=b""),
    "empty": _body(b""),
    "malformed": _body(b'{"id": '),
    "null": _body(b"null"),
    "list": _body(b"[1]"),
    "html": _body(b"<html>", content_type="text/html"),
    "latin": _body(b'{"id": "\xe9"}', content_type="application/json; charset=latin-1"),
    "not utf-8": _body(b'{"id": "\xe9"}'),
    "error event": _body(b'data: {"error": {"message": "no"}}\n\n', content_type="text/event-stream"),
    "nonsense event": _body(b"data: {nonsense\n\n", content_type="text/event-stream"),
    "error line": _body(b'{"error": "no"}\n'),
    "nonsense line": _body(b"{nonsense\n"),
    "refused": _raises("ConnectError", 9),
    "refused once": _raises("ConnectError"),
    "connect timeout": _raises("ConnectTimeout", 9),
    "read timeout once": _raises("ReadTimeout"),
    "pool timeout": _raises("PoolTimeout", 9),
    "protocol error": _raises("RemoteProtocolError", 9),
    "cut at once": _cut("ReadError", 0),
    "cut": _cut("RemoteProtocolError", 2),
    "cut for good": _cut("ReadTimeout", 1, 9),
    "redirected": _status(307, body=b"", location="http://elsewhere.test/v1/chat/completions"),
    "redirected by get": _status(302, body=b"", location="/v1/models"),
    "redirected for ever": _status(307, 99, body=b"", location="/v1/chat/completions"),
    "gzip": _encoded("gzip", gzip.compress),
    "deflate": _encoded("deflate", zlib.compress),
    "zstd": _encoded("zstd", zstandard.ZstdCompressor().compress),
    "not gzip": _encoded("gzip", bytes),
    "unknown encoding": _encoded("xyz", bytes),
    "programs own error": lambda _: [Fault(raises=ZeroDivisionError("own"))],
    "programs own error in the body": lambda _: [Fault(cut=1, error=LookupError("own"))],
}
STOPS: dict[str, Script] = {
    "interrupted": lambda _: [Fault(raises=KeyboardInterrupt())],
    "interrupted in the body": lambda _: [Fault(cut=1, error=KeyboardInterrupt())],
    "exit": lambda _: [Fault(cut=1, error=SystemExit(3))],
}
"""Only without an event loop, which treats these in its own way."""
CANCELS: dict[str, Script] = {
    "cancelled": lambda _: [Fault(raises=asyncio.CancelledError())],
    "cancelled in the body": lambda _: [Fault(cut=1, error=asyncio.CancelledError())],
}
