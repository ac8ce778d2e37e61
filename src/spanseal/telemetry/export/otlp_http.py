"""One OTLP/HTTP JSON connection: post a body, get a verdict. May import the standard library only.

Verdicts follow the OTLP specification ("OTLP/HTTP Response", "Failures"), with two differences on purpose, since spans
are kept on disk meanwhile: server errors that the specification calls permanent (500 and its like) are tried again too;
and a 200 whose content is no OTLP answer, like that of a login page, is no yes. Redirects are not followed, no proxy is
used. A whole exchange ends after ``timeout``, however slowly the bytes drip.
"""

from __future__ import annotations

import base64
import contextlib
import email.utils
import http.client
import importlib
import io
import json
import socket
import ssl
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message
from typing import Any, Final, Literal, cast
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit

importlib.import_module("encodings.idna")  # the first connection would, and hold the interpreter for that long
_MOST_ANSWER: Final = 1 << 20
_GZIP_PIECE: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class Route:
    """Where to and how. ``timeout`` in seconds; certificates and key are paths of PEM files.

    ``certificate`` holds the authorities to trust instead of the system's, the client's pair is for mTLS.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    timeout: float = 10.0
    certificate: str | None = None
    client_certificate: str | None = None
    client_key: str | None = None
    compression: Literal["none", "gzip"] = "none"

    def connection(self) -> OtlpHttp:
        """A connection of its own, not opened yet."""
        return OtlpHttp(
            self.url, self.headers, self.timeout, self.certificate,
            client_certificate=self.client_certificate, client_key=self.client_key, compression=self.compression,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a request. ``retry_after`` in seconds, None if the server did not say; ``reason`` is for people.

    ``verdict``: *taken*; *partly* (taken, but the server refused ``rejected`` spans); *later* (try again); *split*
    (something in the body is refused: try parts of it); *smaller* (the body is too large); *refused* (this
    server takes nothing from us as it is set up: a wrong token, path or URL, which may be mended).
    """

    verdict: Literal["taken", "partly", "later", "split", "smaller", "refused"]
    reason: str = ""
    retry_after: float | None = None
    rejected: int = 0


class OtlpHttp:
    """Posts to one URL over one kept-alive connection; used by one thread at a time."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        timeout: float = 10.0,
        certificate: str | None = None,
        *,
        client_certificate: str | None = None,
        client_key: str | None = None,
        compression: Literal["none", "gzip"] = "none",
    ) -> None:
        self._route = route = Route(
            url, headers or {}, timeout, certificate, client_certificate, client_key, compression
        )
        self._parts = urlsplit(url)
        self._headers = {"Content-Type": "application/json", "User-Agent": "spanseal", **_basic(self._parts)}
        if route.compression == "gzip":
            self._headers["Content-Encoding"] = "gzip"
        self._headers.update(route.headers)
        self._connection: http.client.HTTPConnection | None = None
        self._deadline = 0.0
        self._reading: _Patient | None = None

    def post(self, body: bytes) -> Answer:
        """Send one request. Never raises for anything that a network or server can do."""
        return self._attempt(_gzipped(body) if self._route.compression == "gzip" else body)

    def close(self) -> None:
        """Close the connection; the next post opens a new one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def forget(self) -> None:
        """In a forked child: the connection is the parent's; drop our handle on it without a word to the server."""
        connection, self._connection = self._connection, None
        sock = getattr(connection, "sock", None)
        if isinstance(sock, socket.socket):
            with contextlib.suppress(OSError, ValueError):  # closed by a thread of the parent just now
                socket.socket(fileno=sock.detach()).close()

    def _attempt(self, body: bytes) -> Answer:
        reused = self._connection is not None
        try:
            return self._exchange(body)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            if reused and isinstance(error, http.client.RemoteDisconnected | ConnectionError):
                return self._attempt(body)  # the server closed an idle connection: no fault, once
            return Answer("later", f"{type(error).__name__}: {error}")

    def _exchange(self, body: bytes) -> Answer:
        self._deadline = time.monotonic() + self._route.timeout
        if self._connection is None:
            self._connection = self._connect()
        elif self._connection.sock is not None:
            self._connection.sock.settimeout(self._route.timeout)
        path = urlunsplit(("", "", self._parts.path or "/", self._parts.query, ""))
        self._connection.request("POST", path, body, self._headers)
        response = self._connection.getresponse()
        content = response.read(_MOST_ANSWER)
        cut = self._reading is not None and not self._reading.head_is_whole
        if cut or (response.length and len(content) < _MOST_ANSWER):
            raise http.client.IncompleteRead(content)  # http.client takes a head or content that is cut off for whole
        if not response.isclosed():
            self.close()
        return _verdict(response.status, response.headers, content)

    def _connect(self) -> http.client.HTTPConnection:
        host, timeout = self._parts.hostname or "", self._route.timeout
        made = http.client.HTTPConnection(host, self._parts.port, timeout=timeout)
        if self._parts.scheme == "https":
            context = ssl.create_default_context(cafile=self._route.certificate)
            if self._route.client_certificate:
                context.load_cert_chain(self._route.client_certificate, self._route.client_key)
            made = http.client.HTTPSConnection(host, self._parts.port, timeout=timeout, context=context)
        made.response_class = self._response  # pyright: ignore[reportAttributeAccessIssue] - it is only called
        return made

    def _response(self, sock: socket.socket, *args: Any, **kwargs: Any) -> http.client.HTTPResponse:
        self._reading = _Patient(sock, self._deadline)
        return http.client.HTTPResponse(cast("socket.socket", self._reading), *args, **kwargs)


class _Patient(io.RawIOBase):
    """Reads from a socket until a deadline for all of it: each read alone has only the time that is left."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock = sock
        self._deadline = deadline
        self._raw = sock.makefile("rb", buffering=0)  # keeps the socket open as long as it is read
        self._head = b""
        self.head_is_whole = False

    def makefile(self, mode: str) -> io.BufferedReader:
        """What http.client asks of a socket."""
        del mode
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the answer takes too long")
        self._sock.settimeout(left)
        count = self._raw.readinto(buffer)
        if not self.head_is_whole and count:
            self._head = self._head[-(1 << 16) :] + bytes(memoryview(buffer)[:count])
            self.head_is_whole = b"\n\r\n" in self._head or b"\n\n" in self._head
        return count

    def close(self) -> None:
        self._raw.close()
        super().close()


def _gzipped(body: bytes) -> bytes:
    """In pieces, each of which gives the interpreter free."""
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    pieces = [packer.compress(body[at : at + _GZIP_PIECE]) for at in range(0, len(body), _GZIP_PIECE)]
    return b"".join([*pieces, packer.flush()])


def without_secrets(url: str) -> str:
    """The URL as it may be shown and stored: no user, no password, no query.

    >>> without_secrets("https://me:pass@host:4318/v1/traces?token=x")
    'https://host:4318/v1/traces'
    """
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _basic(parts: SplitResult) -> dict[str, str]:
    if not parts.username:
        return {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}


def _verdict(status: int, headers: Message, content: bytes) -> Answer:
    if 200 <= status < 300:
        return _of_success(headers.get("Content-Type", ""), content)
    reason = f"HTTP {status} {content[:200].decode('utf-8', 'replace')}".strip()
    if 300 <= status < 400:
        reason = f"HTTP {status}, a redirect to {headers.get('Location', 'nowhere')!r}, is not followed: name that URL"
    if status in (408, 425, 429) or status >= 500:
        return Answer("later", reason, _seconds(headers.get("Retry-After")))
    if status == 413:
        return Answer("smaller", reason)
    return Answer("split" if status in (400, 422) else "refused", reason)


def _of_success(kind: str, content: bytes) -> Answer:
    """Empty and protobuf content are taken as a plain yes; of JSON, a partial success counts."""
    if not content.strip() or "protobuf" in kind:
        return Answer("taken")
    try:
        document: Any = json.loads(content)
    except (ValueError, RecursionError):
        return Answer("later", f"the answer is no OTLP ({kind or 'no content type'}): is this the right URL?")
    try:
        found = cast("dict[str, Any]", document).get("partialSuccess") or dict[str, Any]()
        count = int(found.get("rejectedSpans") or 0)
    except (ValueError, AttributeError, TypeError):
        return Answer("taken")
    if count <= 0:
        return Answer("taken")
    return Answer("partly", f"{count} spans refused: {str(found.get('errorMessage', ''))[:200]}", rejected=count)


def _seconds(header: str | None) -> float | None:
    """``Retry-After`` as seconds (RFC 9110, 10.2.3: a number or a date), at most five minutes."""
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(header).timestamp() - time.time()
        except ValueError:
            return None
    return min(max(seconds, 0.0), 300.0)
