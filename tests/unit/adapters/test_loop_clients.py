"""An adapter's own async clients: one for each event loop, closed with it; the caller's stays the caller's."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import httpx
import httpx2
import ollama
import openai
import pytest
from tests.unit.telemetry.wire_world import bare_client, stream, whole

from spanseal.adapters.base import LLMAdapter
from spanseal.adapters.loop_clients import LoopClients
from spanseal.adapters.ollama import OllamaAdapter
from spanseal.adapters.openai import OpenAIAdapter
from spanseal.agent.build import VerifiableAgent

T = TypeVar("T")


class Client:
    """Knows the loop that it was made in, and refuses to be closed elsewhere."""

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        self.closed = False

    async def close(self) -> None:
        assert self.loop is asyncio.get_running_loop()
        await asyncio.sleep(0)
        self.closed = True


def in_four_threads(use: Callable[[], Coroutine[Any, Any, T]]) -> list[T]:
    with ThreadPoolExecutor(4) as pool:
        begun = [pool.submit(lambda: asyncio.run(use())) for _ in range(4)]
        return [each.result(30) for each in begun]


def test_one_client_for_each_loop_closed_before_its_loop() -> None:
    clients = LoopClients(Client)

    async def use() -> Client:
        first, second = await asyncio.gather(clients.here(), clients.here())
        await asyncio.sleep(0)
        assert first is second is await clients.here()
        assert not first.closed
        return first

    one, two = asyncio.run(use()), asyncio.run(use())
    assert one is not two
    assert one.closed
    assert two.closed


def test_threads_with_loops_of_their_own_share_no_client() -> None:
    clients, together = LoopClients(Client), threading.Barrier(4)

    async def use() -> Client:
        client = await clients.here()
        together.wait(10)
        assert client is await clients.here()
        return client

    used = in_four_threads(use)
    assert len(set(map(id, used))) == 4
    assert all(client.closed for client in used)


def test_loops_are_not_kept_alive() -> None:
    clients = LoopClients(Client)
    known: list[weakref.ref[asyncio.AbstractEventLoop]] = []

    async def use() -> Client:
        known.append(weakref.ref(asyncio.get_running_loop()))
        return await clients.here()

    for _ in range(3):
        asyncio.run(use()).loop = None
    gc.collect()
    assert [loop() for loop in known] == [None] * 3


def test_a_loop_that_was_closed_without_its_generators_leaves_nothing_in_the_next() -> None:
    clients = LoopClients(Client)
    abandoned = asyncio.new_event_loop()
    client = abandoned.run_until_complete(clients.here())
    abandoned.close()
    assert asyncio.run(clients.here()) is not client
    assert not client.closed


def test_dropping_the_owner_closes_its_client_in_the_running_loop() -> None:
    async def use() -> bool:
        clients = LoopClients(Client)
        client = await clients.here()
        del clients
        for _ in range(5):
            await asyncio.sleep(0)
        return client.closed

    assert asyncio.run(use())


def own(kind: str, monkeypatch: pytest.MonkeyPatch) -> tuple[LLMAdapter, list[Any]]:
    """An adapter that makes its own clients, on a transport whose connections belong to the loop that opened them."""
    homes: dict[int, asyncio.AbstractEventLoop] = {}
    made: list[Any] = []
    replies = {False: whole(kind), True: stream(kind)}

    def answer(module: Any) -> Callable[[Any], Any]:
        made.append(client := object())

        async def handler(request: Any) -> Any:
            loop = homes.setdefault(id(client), asyncio.get_running_loop())
            if loop.is_closed() or loop is not asyncio.get_running_loop():
                raise RuntimeError("Event loop is closed")
            streamed = b'"stream":true' in request.content
            reply = replies[streamed]
            return module.Response(200, content=b"".join(reply.pieces)) if streamed else module.Response(
                200, json=reply.body)

        return handler

    if kind == "openai":
        monkeypatch.setattr(openai, "DefaultAsyncHttpxClient", lambda: httpx2.AsyncClient(
            transport=httpx2.MockTransport(answer(httpx2))))
        return OpenAIAdapter("m", base_url="http://127.0.0.1:1/v1"), made
    plain = httpx.AsyncClient

    def begin(self: Any, host: str, **_: Any) -> None:
        self._client = plain(base_url=host, transport=httpx.MockTransport(answer(httpx)))

    monkeypatch.setattr(ollama.AsyncClient, "__init__", begin)
    return OllamaAdapter("m", host="http://127.0.0.1:1"), made


@pytest.mark.parametrize("kind", ["openai", "ollama"])
def test_an_adapter_serves_one_loop_after_the_other(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    adapter, made = own(kind, monkeypatch)

    async def streamed() -> str:
        return "".join([chunk.text async for chunk in adapter.astream("hi")])

    async def both() -> tuple[str, str]:
        return (await adapter.acomplete("hi")).text, await streamed()

    assert asyncio.run(both()) == asyncio.run(both()) == ("hello", "hello")
    agent = VerifiableAgent(adapter)
    answers = [asyncio.run(agent.arun("hi")).answer for _ in range(2)]
    assert answers == ["hello", "hello"]
    assert len(made) == 4, "one client for each loop"
    assert in_four_threads(both) == [("hello", "hello")] * 4


@pytest.mark.parametrize("kind", ["openai", "ollama"])
def test_the_callers_client_is_the_callers_in_every_loop(kind: str) -> None:
    client = bare_client(kind, [whole(kind), whole(kind)], [], asynchronous=True)
    adapter: Any = (OpenAIAdapter if kind == "openai" else OllamaAdapter)("m", async_client=client)
    assert [asyncio.run(adapter.acomplete("hi")).text for _ in range(2)] == ["hello", "hello"]
    assert not client._client.is_closed
