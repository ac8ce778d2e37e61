"""Async clients that an adapter makes for itself: one for each event loop, closed with it.

An async HTTP client keeps connections of the loop that opened them, so a program with one ``asyncio.run`` after the
other, or a loop in each thread, needs a client for each loop. May import nothing of spanseal.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar


class Closable(Protocol):
    """What both SDKs' async clients have."""

    async def close(self) -> Any:
        """Close the connections."""
        ...


C = TypeVar("C", bound=Closable)


@dataclass(slots=True)
class _Open(Generic[C]):
    client: C
    life: AsyncGenerator[None]


class LoopClients(Generic[C]):
    """Makes a client for each running loop with ``make``, and hands out the same one in the same loop.

    The client's life is an asynchronous generator: the loop itself ends those that are left, while it can still close
    connections (``asyncio.run`` does), and so does dropping the adapter. Outside of asyncio there is one client.
    """

    def __init__(self, make: Callable[[], C]) -> None:
        self._make = make
        self._open: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Open[C]] = weakref.WeakKeyDictionary()
        self._other: C | None = None
        self._lock = threading.Lock()

    async def here(self) -> C:
        """The client of the running loop."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # another kind of loop (trio)
            if self._other is None:
                self._other = self._make()
            return self._other
        with self._lock:
            found = self._open.get(loop)
            if found is not None:
                return found.client
            for each in list(self._open):
                if each.is_closed():  # by somebody who did not end its generators
                    del self._open[each]
            client = self._make()
            life = _life(client, weakref.ref(self))
            self._open[loop] = _Open(client, life)
        await anext(life)  # goes to its yield without waiting for anything, so no other task comes in between
        return client

    def forget(self, client: C) -> None:
        """A closed client may still hold its loop."""
        with self._lock:
            for loop, old in list(self._open.items()):
                if old.client is client:
                    del self._open[loop]


async def _life(client: C, owner: weakref.ref[LoopClients[C]]) -> AsyncGenerator[None]:
    try:
        yield
    finally:
        clients = owner()  # which is not kept alive from here: whoever drops the adapter closes its clients
        if clients is not None:
            clients.forget(client)
        await client.close()
