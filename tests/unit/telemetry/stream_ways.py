"""The ways a program reads a stream: which client or adapter, blocking or not, behind one face for the matrix tests.

The same driver serves in-process transports and real servers.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from tests.unit.telemetry.wire_world import Answer, World, bare_client, recording

from spanseal.adapters.ollama import OllamaAdapter
from spanseal.adapters.openai import OpenAIAdapter
from spanseal.telemetry.instrument import instrument


@dataclass(frozen=True)
class Way:
    """``kind`` openai, responses, ollama or generate; ``via`` client or adapter."""

    kind: str
    asynchronous: bool
    via: str

    def __str__(self) -> str:
        return f"{self.kind}-{'async' if self.asynchronous else 'sync'}-{self.via}"

    @property
    def server(self) -> str:
        """Whose client it is."""
        return "openai" if self.kind in ("openai", "responses") else "ollama"

    @property
    def waits_for_reading(self) -> bool:
        """Whether nothing is sent before the stream is read."""
        return self.via == "adapter" or self.server == "ollama"


CHAT: Final = [Way(*each) for each in product(("openai", "ollama"), (False, True), ("client", "adapter"))]
OTHER: Final = [Way(*each) for each in product(("responses", "generate"), (False, True), ("client",))]


class Flow:
    """One stream of a way. Blocking calls stand in the loop's way, which no test here minds."""

    def __init__(self, way: Way, client: Any, model: str = "m", **more: Any) -> None:
        self.way = way
        self._client = client
        self._model = model
        self._more = more
        self.stream: Any = None
        self._iterator: Any = None

    async def start(self) -> Flow:
        """Ask; the first bytes may come only with the first :meth:`next`."""
        made = self._asked()
        self.stream = await made if self.way.asynchronous and self.way.via == "client" else made
        return self

    async def next(self) -> Any:
        """The next chunk; None at the end."""
        if self._iterator is None:
            self._iterator = aiter(self.stream) if self.way.asynchronous else iter(self.stream)
        if self.way.asynchronous:
            return await anext(self._iterator, None)
        return next(self._iterator, None)

    async def rest(self) -> int:
        """Read to the end; how many chunks came."""
        count = 0
        while await self.next() is not None:
            count += 1
        return count

    async def close(self) -> None:
        """What this kind of stream offers."""
        if not self.way.asynchronous:
            self.stream.close()
            return
        await (self.stream.close() if hasattr(self.stream, "close") else self.stream.aclose())

    async def drop(self) -> None:
        """Let go of it, and have asynchronous generators closed by their loop."""
        self.stream = self._iterator = None
        gc.collect()
        for _ in range(5):
            await asyncio.sleep(0)

    def _asked(self) -> Any:
        messages, more = [{"role": "user", "content": "hi there"}], self._more
        if self.way.via == "adapter":
            ask = self._client.astream if self.way.asynchronous else self._client.stream
            return ask("hi there", **more)
        if self.way.kind == "openai":
            return self._client.chat.completions.create(model=self._model, messages=messages, stream=True, **more)
        if self.way.kind == "responses":
            return self._client.responses.create(model=self._model, input="hi there", stream=True, **more)
        if self.way.kind == "generate":
            return self._client.generate(model=self._model, prompt="hi there", stream=True, **more)
        return self._client.chat(model=self._model, messages=messages, stream=True, **more)


def reading(way: Way, bare: Any, model: str = "m") -> Any:
    """The instrumented client, or the adapter on top of it."""
    if way.via == "client":
        return instrument(bare)
    made: Any = OpenAIAdapter if way.server == "openai" else OllamaAdapter
    return made(model, async_client=bare) if way.asynchronous else made(model, client=bare)


@contextmanager
def flowing(way: Way, *answers: Answer, **client: Any) -> Generator[tuple[World, Flow]]:
    """A stream of this way from an in-process server that gives ``answers``, and the spans that come out."""
    with recording() as exporter:
        seen: list[Any] = []
        bare = bare_client(way.server, answers, seen, asynchronous=way.asynchronous, **client)
        asked = reading(way, bare)
        yield World(way.server, asked, seen, exporter), Flow(way, asked)
