"""The sealer's OTLP/HTTP endpoint: a body is answered 200 when its bytes are sealed and on disk, never before.

Whoever sends deletes what is refused for good, so nothing that may heal is: 503 with ``Retry-After`` for everything
that is not durable, whatever the reason; poison is sealed as raw bytes and acknowledged. A body over the size limit
is sealed in pieces, as raw bytes, and acknowledged; it is never 413. A wrong bearer token and a wrong path are faults
of somebody's configuration, and that may heal too. May import starlette.
"""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from spanseal.errors import StoreError
from spanseal.sealer.group_commit import GroupCommit
from spanseal.sealer.receive_body import MAX_BODY, Body, open_body

MAX_WAITING: Final = 512 << 20
"""Bytes that may wait in memory for the disk; above it senders are asked to come again."""
RETRY_AFTER: Final = "1"
STALLED: Final = 60.0
"""Seconds without a byte after which a body is given up, so that a sender that is gone keeps no memory."""
_SAY_AGAIN: Final = 10.0
_NO_BEARER: Final = "the bearer token is missing or wrong: give sender and sealer the same"
_OUR_SENDER: Final = "spanseal"
_NO_EVIDENCE: Final = ("/v1/metrics", "/v1/logs")
_WRONG_PATH: Final = "spans are taken at /v1/traces only: correct the sender's endpoint, and send it nothing but traces"

log = logging.getLogger("spanseal.sealer")


class Receiver:
    """Takes bodies for one :class:`GroupCommit`. ``token``: the bearer token to demand, ``None``: anyone may send.

    ``max_body`` is the size in bytes above which a body is sealed in pieces as raw bytes.
    """

    def __init__(
        self,
        commit: GroupCommit,
        *,
        token: str | None = None,
        max_body: int = MAX_BODY,
        max_waiting: int = MAX_WAITING,
    ) -> None:
        self._commit = commit
        self._token = token
        self._max_body = max_body
        self._max_waiting = max_waiting
        self._reading = 0
        self._opening = asyncio.Semaphore()
        self._said: set[str] = set()
        self._refusals: dict[str, float] = {}
        self.stopping = False

    @property
    def broken(self) -> bool:
        """Whether the store may not be written any more."""
        return self._commit.stopped is not None

    def app(self) -> Starlette:
        """The ASGI application: ``POST /v1/traces``, ``GET /healthz``, ``GET /metrics``."""
        return Starlette(
            routes=[
                Route("/v1/traces", self._guarded(self._traces, self._refuse), methods=["POST"]),
                Route("/healthz", self._health, methods=["GET"]),
                Route("/metrics", self._guarded(self._metrics, _unauthorized), methods=["GET"]),
                Route("/{elsewhere:path}", self._elsewhere, methods=["POST"]),
            ]
        )

    def _guarded(
        self, handler: Callable[[Request], Awaitable[Response]], refuse: Callable[[], Response]
    ) -> Callable[[Request], Awaitable[Response]]:
        async def guarded(request: Request) -> Response:
            if self._token is None or _token_matches(request.headers.get("authorization", ""), self._token):
                return await handler(request)
            self._commit.counters.add("unauthorized")
            return refuse()

        return guarded

    def _refuse(self) -> Response:
        """Not 401: the sender would delete its spans, though whoever corrects the token wants them sealed."""
        answer = self._not_durable(_NO_BEARER)
        answer.headers["WWW-Authenticate"] = "Bearer"
        return answer

    async def _elsewhere(self, request: Request) -> Response:
        if request.headers.get("user-agent") == _OUR_SENDER and request.url.path in _NO_EVIDENCE:
            return PlainTextResponse("spans only are sealed\n", 404)  # it asks once, and leaves us alone then
        return self._not_durable(_WRONG_PATH)

    async def _traces(self, request: Request) -> Response:
        counters = self._commit.counters
        counters.add("requests")
        try:
            if self.stopping:
                raise StoreError("the sealer is stopping")
            await self._take(request)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody reads it
        except (StoreError, OSError) as error:
            return self._not_durable(str(error))
        except Exception:
            log.exception("a body could not be sealed and was not acknowledged")
            return self._not_durable("unexpected error, see the sealer's log")
        if "protobuf" in request.headers.get("content-type", "").lower():
            return Response(b"", media_type="application/x-protobuf")
        return Response(b"{}", media_type="application/json")

    async def _take(self, request: Request) -> None:
        """Read the whole body and wait until it is durable; raises what kept it from being so."""
        body = bytearray()
        pieces = 0
        try:
            async for chunk in _chunks(request):
                self._demand_room(len(chunk))
                self._reading += len(chunk)
                self._commit.counters.add("received_bytes", len(chunk))
                body += chunk
                if len(body) > self._max_body:
                    pieces += 1
                    self._reading -= len(body)
                    raw, body = bytes(body), bytearray()
                    await self._seal(Body(raw, f"a body over {self._max_body} bytes was sealed raw, in pieces"))
            opened = Body(bytes(body)) if pieces else await self._open(bytes(body), request)
        finally:
            self._reading -= len(body)
        await self._seal(opened)

    async def _open(self, raw: bytes, request: Request) -> Body:
        kind, encoding = (request.headers.get(name, "") for name in ("content-type", "content-encoding"))
        if not encoding:
            return open_body(raw, kind, encoding, self._max_body)
        async with self._opening:  # one at a time: a packed body may open to a thousand times its size
            opened = await asyncio.to_thread(open_body, raw, kind, encoding, self._max_body)
            self._demand_room(len(opened.raw))
            return opened

    def _demand_room(self, size: int) -> None:
        waiting = self._reading + self._commit.waiting_bytes
        if waiting and waiting + size > self._max_waiting:
            raise StoreError("too much waits for the disk; send again later")

    async def _seal(self, body: Body) -> None:
        if body.advice:
            self._say(body.advice)
        if body.raw:
            await asyncio.wrap_future(self._commit.body(body.raw))

    def _not_durable(self, reason: str) -> Response:
        self._commit.counters.add("refused")
        now = time.monotonic()
        if now - self._refusals.get(reason, -_SAY_AGAIN) >= _SAY_AGAIN:
            self._refusals = {**({} if len(self._refusals) > 100 else self._refusals), reason: now}
            log.warning("not sealed, answered 503: %s", reason)
        return PlainTextResponse(f"not sealed: {reason}\n", 503, headers={"Retry-After": RETRY_AFTER})

    def _say(self, advice: str) -> None:
        if advice not in self._said and len(self._said) < 100:
            self._said.add(advice)
            log.warning("%s (said once)", advice)

    async def _health(self, request: Request) -> Response:
        if self._commit.stopped is not None:
            return PlainTextResponse(f"stopped: {self._commit.stopped}\n", 503)
        if self.stopping:
            return PlainTextResponse("stopping\n", 503)
        return PlainTextResponse("ok\n")

    async def _metrics(self, request: Request) -> Response:
        self._commit.counters.put("stopped", float(self._commit.stopped is not None))
        return PlainTextResponse(self._commit.counters.text(), media_type="text/plain; version=0.0.4")


async def _chunks(request: Request) -> AsyncIterator[bytes]:
    stream = request.stream()
    while True:
        try:
            async with asyncio.timeout(STALLED):
                chunk = await anext(stream)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise StoreError(f"no byte of the body came for {STALLED:g} s") from None
        yield chunk


def _unauthorized() -> Response:
    return PlainTextResponse(f"{_NO_BEARER}\n", 401, headers={"WWW-Authenticate": "Bearer"})


def _token_matches(header: str, token: str) -> bool:
    scheme, _, given = header.partition(" ")
    return hmac.compare_digest(given.strip().encode(), token.encode()) and scheme.lower() == "bearer"
