"""The connections of the pool are taken and given back at the same moments; sockets of another kind are not touched."""

from __future__ import annotations

import asyncio
import sys
import types
from collections.abc import Callable
from typing import Any

import httpcore2
import httpx2
import openai
import pytest
from tests.unit.telemetry.seams.bodies import ANSWERS
from tests.unit.telemetry.seams.clients import KEY
from tests.unit.telemetry.seams.programs import MESSAGES, now
from tests.unit.telemetry.wire_world import recording

from spanseal.telemetry.instrument import instrument

WHOLE, EVENTS = ANSWERS["/chat/completions"]


def _head(kind: str, length: int) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n".encode()


def wire(*, asynchronous: bool) -> tuple[Any, Any]:
    """A client on a real connection pool whose network is a script, and the pool."""
    sent = [_head("application/json", len(WHOLE)), WHOLE, _head("text/event-stream", len(EVENTS))]
    sent += [EVENTS[:40], EVENTS[40:90], EVENTS[90:]] * 2
    core: Any = httpcore2
    transport: Any = httpx2.AsyncHTTPTransport() if asynchronous else httpx2.HTTPTransport()
    backend = core.AsyncMockBackend(sent) if asynchronous else core.MockBackend(sent)
    pool = (core.AsyncConnectionPool if asynchronous else core.ConnectionPool)(network_backend=backend)
    transport._pool = pool
    client: Any = openai.AsyncOpenAI if asynchronous else openai.OpenAI
    http: Any = httpx2.AsyncClient if asynchronous else httpx2.Client
    return client(api_key=KEY, base_url="http://o.test/v1", http_client=http(transport=transport)), pool


async def _program(client: Any, pool: Any) -> list[list[str]]:
    states: list[list[str]] = []

    def look() -> None:
        states.append([repr(connection) for connection in pool.connections])

    create = client.chat.completions.create
    await now(create(model="m", messages=MESSAGES))
    look()
    stream = await now(create(model="m", messages=MESSAGES, stream=True))
    look()
    await (stream.__anext__() if hasattr(stream, "__anext__") else now(next(stream)))
    look()
    await now(stream.close())
    look()
    await now(client.close())
    look()
    return states


@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_the_pool_looks_the_same_at_every_step(asynchronous: bool) -> None:
    def run(change: Callable[[Any], Any]) -> list[list[str]]:
        async def program() -> list[list[str]]:
            client, pool = wire(asynchronous=asynchronous)
            return await _program(change(client), pool)

        return asyncio.run(program())

    bare = run(lambda client: client)
    with recording() as exporter:
        assert run(instrument) == bare
        assert len(exporter.get_finished_spans()) == 2
    assert "IDLE" in bare[0][0]
    assert "ACTIVE" in bare[2][0]
    assert bare[4] == []


class Socket:
    """Stands for the WebSocket that a client opens; keeps how it was asked for."""

    def __init__(self, url: str, **given: Any) -> None:
        self.asked = (url, {key: str(value) for key, value in given.items()})


@pytest.mark.parametrize("resource", ["realtime", "responses"])
def test_web_sockets_are_opened_as_ever(resource: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("websockets", "websockets.sync", "websockets.sync.client"):
        module = types.ModuleType(name)  # the package itself may not be installed
        monkeypatch.setattr(module, "connect", Socket, raising=False)
        monkeypatch.setitem(sys.modules, name, module)
    client = openai.OpenAI(api_key=KEY, base_url="http://o.test/v1")
    given: dict[str, Any] = {"model": "m"} if resource == "realtime" else {}

    def opened() -> Any:
        connection: Any = getattr(client, resource).connect(**given).__enter__()
        return connection._connection.asked

    bare = opened()
    with recording() as exporter:
        instrument(client)
        assert opened() == bare
        assert exporter.get_finished_spans() == ()
