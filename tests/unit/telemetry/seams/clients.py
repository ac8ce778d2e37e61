"""Clients of every make on a scripted transport."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import httpx2
import ollama
import openai
from tests.unit.telemetry.seams.servers import Fault, transport

KEY = "key-that-nobody-may-see-0123456789"


class Sub(openai.OpenAI):
    """A program's own client, with a ``request`` of its own and slots."""

    __slots__ = ("asked",)

    def request(self, *args: Any, **kwargs: Any) -> Any:
        self.asked = getattr(self, "asked", 0) + 1
        return cast("Any", super().request(*args, **kwargs))


class AsyncSub(openai.AsyncOpenAI):
    """The same, asynchronous."""

    __slots__ = ("asked",)

    async def request(self, *args: Any, **kwargs: Any) -> Any:
        self.asked = getattr(self, "asked", 0) + 1
        return await super().request(*args, **kwargs)


def made(kind: str, faults: Sequence[Fault] = (), *, asynchronous: bool, **more: Any) -> tuple[Any, list[Any]]:
    """A bare client of the kind and the log of what its server saw."""
    sends, log = transport(kind, faults, asynchronous=asynchronous)
    if kind == "ollama":
        cls: Any = ollama.AsyncClient if asynchronous else ollama.Client
        return cls("http://ollama.test:11434", transport=sends, **more), log
    return openai_client(sends, asynchronous, **more), log


def openai_client(sends: Any, asynchronous: bool, cls: Any = None, **more: Any) -> Any:
    """An OpenAI client on this transport."""
    http: Any = httpx2.AsyncClient if asynchronous else httpx2.Client
    cls = cls or (openai.AsyncOpenAI if asynchronous else openai.OpenAI)
    given: dict[str, Any] = {"api_key": KEY, "base_url": "http://openai.test:8080/v1", **more}
    return cls(http_client=http(transport=sends, follow_redirects=True), **given)


def azure(sends: Any, asynchronous: bool, **more: Any) -> Any:
    """An Azure client: with a deployment in the path of each call, or one of its own."""
    cls: Any = openai.AsyncAzureOpenAI if asynchronous else openai.AzureOpenAI
    http: Any = httpx2.AsyncClient if asynchronous else httpx2.Client
    return cls(
        http_client=http(transport=sends), api_key=KEY, azure_endpoint="https://shop.openai.azure.com",
        api_version="2024-10-21", **more,
    )


MAKES: dict[str, tuple[str, Callable[[Any, bool], Any]]] = {
    "plain": ("openai", openai_client),
    "with options": ("openai", lambda s, a: openai_client(s, a).with_options(timeout=5)),
    "subclass": ("openai", lambda s, a: openai_client(s, a, AsyncSub if a else Sub)),
    "azure": ("azure.ai.openai", azure),
    "azure deployment": ("azure.ai.openai", lambda s, a: azure(s, a, azure_deployment="m")),
    "azure v1": (
        "azure.ai.openai", lambda s, a: openai_client(s, a, base_url="https://shop.openai.azure.com/openai/v1/")
    ),
    "proxy": ("openai", lambda s, a: openai_client(s, a, base_url="http://proxy.test/some/where/v1")),
}
"""By name: the provider that the span must name, and how the client is made."""
