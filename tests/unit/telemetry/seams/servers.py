"""A model server of each kind behind a mock transport: every endpoint the clients know, faults before the answer."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx
import httpx2
from tests.unit.telemetry.seams import bodies

_BOUNDARY = re.compile(rb"\b[0-9a-f]{32}\b")  # random, of a form with a file
SSE = "text/event-stream"


@dataclass
class Fault:
    """What the server does instead of answering well, once: an error status, an exception, odd bytes, a cut body.

    ``cut`` is where the body breaks off and raises ``error``; with ``status`` 200 and no ``body`` the right answer is
    sent with ``headers`` and ``encoded`` by the given function.
    """

    status: int = 200
    body: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])
    raises: BaseException | None = None
    cut: int | None = None
    error: BaseException | None = None
    encoded: Callable[[bytes], bytes] = bytes


@dataclass
class Server:
    """The transport's handler. ``log`` is all it saw: each request, and what happened to each body it gave."""

    library: Any
    faults: Sequence[Fault] = ()
    log: list[Any] = field(default_factory=list[Any])

    def __call__(self, request: Any) -> Any:
        content = request.read()
        number = sum(entry[0] == "request" for entry in self.log)
        timeout = request.extensions.get("timeout")
        known = sorted(key for key in request.extensions if key != "timeout")
        head = [(name, _BOUNDARY.sub(b"boundary", value)) for name, value in request.headers.raw]
        content = _BOUNDARY.sub(b"boundary", content)
        self.log.append(("request", request.method, str(request.url), head, content, timeout, known))
        fault = self.faults[number] if number < len(self.faults) else Fault()
        if fault.raises is not None:
            raise fault.raises
        body, kind = (fault.body, "application/json") if fault.body is not None else answer_to(request, content)
        body = fault.encoded(body)
        stream = self._stream([body[at : at + 40] for at in range(0, len(body), 40)], fault)
        headers = {"content-type": kind, "x-request-id": "req-1", **fault.headers}
        return self.library.Response(fault.status, headers=headers, stream=stream)

    async def aserve(self, request: Any) -> Any:
        """The same for an asynchronous client, whose bodies are read asynchronously."""
        await request.aread()
        return self(request)

    def _stream(self, pieces: list[bytes], fault: Fault) -> Any:
        log, library = self.log, self.library
        kept = pieces if fault.cut is None else pieces[: fault.cut]

        class Body(library.SyncByteStream, library.AsyncByteStream):  # pyright: ignore[reportUntypedBaseClass]
            def __iter__(self) -> Iterator[bytes]:
                yield from kept
                self.ended()

            async def __aiter__(self) -> AsyncIterator[bytes]:
                for piece in kept:
                    yield piece
                self.ended()

            def ended(self) -> None:
                log.append(("body ended", fault.cut))
                if fault.error is not None:
                    raise fault.error

            def close(self) -> None:
                log.append(("body closed",))

            async def aclose(self) -> None:
                log.append(("body closed",))

        return Body()


def answer_to(request: Any, content: bytes) -> tuple[bytes, str]:
    """The right answer to a request, and its content type."""
    path = request.url.path
    try:
        asked = json.loads(content)
    except ValueError:
        asked = {}
    streams = isinstance(asked, dict) and asked.get("stream") is True  # pyright: ignore[reportUnknownMemberType]
    if request.method == "POST":
        for ending, (whole, events) in bodies.ANSWERS.items():
            if path.endswith(ending):
                return (events, "application/x-ndjson" if "/api/" in path else SSE) if streams else (whole, _JSON)
    if path.endswith("/audio/speech"):
        return b"RIFF....", "audio/wav"
    if streams and path.endswith("/api/pull"):
        return b'{"status": "pulling"}\n{"status": "success"}\n', "application/x-ndjson"
    return bodies.OTHER, _JSON


_JSON = "application/json"


def transport(kind: str, faults: Sequence[Fault] = (), *, asynchronous: bool = False) -> tuple[Any, list[Any]]:
    """A transport of the kind's HTTP library and the log of what passes it."""
    library: Any = httpx if kind == "ollama" else httpx2
    server = Server(library, faults)
    return library.MockTransport(server.aserve if asynchronous else server), server.log
