"""One OTLP/HTTP JSON connection: post a body, get a verdict. May import the standard library only.

Verdicts follow the OTLP specification ("OTLP/HTTP Response", "Failures"), with one difference on purpose: server errors
that the specification calls permanent (500 and its like) are tried again too, since spans are kept on disk meanwhile.
"""

from __future__ import annotations

import base64
import email.utils
import http.client
import json
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast
from urllib.parse import SplitResult, unquote, urlsplit, urlunsplit


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a request. ``retry_after`` in seconds, None if the server did not say; ``reason`` is for people.

    ``verdict``: *taken*; *partly* (taken, but the server refused some spans); *later* (try again); *split* (something
    in the body is refused: try smaller bodies); *refused* (this server takes none of it).
    """

    verdict: Literal["taken", "partly", "later", "split", "refused"]
    reason: str = ""
    retry_after: float | None = None


class OtlpHttp:
    """Posts to one URL over one kept-alive connection; used by one thread at a time."""

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        timeout: float = 10.0,
        certificate: str | None = None,
    ) -> None:
        self._parts = urlsplit(url)
        self._timeout = timeout
        self._certificate = certificate
        self._headers = {"Content-Type": "application/json", "User-Agent": "spanseal", **_basic(self._parts)}
        self._headers.update(headers or {})
        self._connection: http.client.HTTPConnection | None = None

    def post(self, body: bytes) -> Answer:
        """Send one request. Never raises for anything that a network or server can do."""
        reused = self._connection is not None
        try:
            return self._post(body)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.close()
            if reused and isinstance(error, http.client.RemoteDisconnected | ConnectionError):
                return self.post(body)  # the server closed an idle connection: no fault, once
            return Answer("later", f"{type(error).__name__}: {error}")

    def close(self) -> None:
        """Close the connection; the next post opens a new one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _post(self, body: bytes) -> Answer:
        if self._connection is None:
            self._connection = self._connect()
        path = urlunsplit(("", "", self._parts.path or "/", self._parts.query, ""))
        self._connection.request("POST", path, body, self._headers)
        response = self._connection.getresponse()
        content = response.read(1 << 20)
        if not response.isclosed():
            self.close()
        return _verdict(response.status, response.headers.get("Retry-After"), content)

    def _connect(self) -> http.client.HTTPConnection:
        host = self._parts.hostname or ""
        if self._parts.scheme == "https":
            context = ssl.create_default_context(cafile=self._certificate)
            return http.client.HTTPSConnection(host, self._parts.port, timeout=self._timeout, context=context)
        return http.client.HTTPConnection(host, self._parts.port, timeout=self._timeout)


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


def _verdict(status: int, retry_after: str | None, content: bytes) -> Answer:
    if 200 <= status < 300:
        refused = _partial(content)
        return Answer("partly", refused) if refused else Answer("taken")
    reason = f"HTTP {status} {content[:200].decode('utf-8', 'replace')}".strip()
    if status in (408, 425, 429) or status >= 500:
        return Answer("later", reason, _seconds(retry_after))
    return Answer("split" if status in (400, 413, 422) else "refused", reason)


def _partial(content: bytes) -> str:
    """The reason of a partial success, empty if there is none."""
    no_trouble: dict[str, Any] = {}
    try:
        document: Any = json.loads(content or b"{}")
        found = cast("dict[str, Any]", document).get("partialSuccess") or no_trouble
        count = int(found.get("rejectedSpans") or 0)
    except (ValueError, AttributeError, TypeError):
        return ""
    return f"{count} spans refused: {str(found.get('errorMessage', ''))[:200]}" if count else ""


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
