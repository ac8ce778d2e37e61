"""An OpenAI client whose server is a function in this process, and conversations to send it.

``bare_create`` is ``chat.completions.create`` as the SDK has it, whatever an instrumentor does to the class later;
with the client that :func:`bare_client` makes nothing of an instrumentation is in the way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import openai
from openai._base_client import SyncAPIClient
from openai.resources.chat.completions import Completions

from spanseal.genai.messages import Message, ToolSpec

ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "bench",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Noted. " * 20}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3000, "completion_tokens": 40, "total_tokens": 3040},
}
TOOL = ToolSpec("search", "Searches.", {"type": "object", "properties": {"query": {"type": "string"}}})
FUNCTION = {"name": TOOL.name, "description": TOOL.description, "parameters": TOOL.parameters}
OPTIONS: dict[str, Any] = {
    "model": "bench", "tools": [{"type": "function", "function": FUNCTION}], "temperature": 0,
}  # fmt: skip
_create: Any = Completions.create
_request: Any = SyncAPIClient.request


def conversation(count: int, first_new: int, number: int) -> list[Message]:
    """A system message, then turns of about 600 bytes each; from ``first_new`` on they differ by ``number``."""
    marks = [number if n >= first_new else 0 for n in range(count)]
    roles = ("assistant", "user")
    turns = [Message(roles[n % 2], f"Turn {n}.{marks[n]}: " + "some words of a turn, " * 26) for n in range(1, count)]
    return [Message("system", "You are a careful assistant."), *turns]


def wire(messages: list[Message]) -> list[dict[str, Any]]:
    """The same as an application writes it."""
    return [{"role": message.role, "content": message.text} for message in messages]


class _Bare(openai.OpenAI):
    request = _request


def answering() -> httpx2.MockTransport:
    """A server that gives :data:`ANSWER` to everything."""
    return httpx2.MockTransport(lambda request: httpx2.Response(200, json=ANSWER))


def streaming(chunks: int) -> httpx2.MockTransport:
    """A server that streams so many chunks."""
    common = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "bench"}
    choice = {"index": 0, "delta": {"content": "word "}, "finish_reason": None}
    line = f"data: {json.dumps(common | {'choices': [choice]})}\n\n".encode()

    def pieces() -> Iterator[bytes]:
        yield from (line for _ in range(chunks))
        yield b"data: [DONE]\n\n"

    return httpx2.MockTransport(
        lambda request: httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=pieces())
    )


def client_of(transport: httpx2.MockTransport, kind: Callable[..., openai.OpenAI] = openai.OpenAI) -> openai.OpenAI:
    """A client of that server."""
    return kind(api_key="bench", base_url="http://bench.invalid/v1", http_client=httpx2.Client(transport=transport))


def bare_client(transport: httpx2.MockTransport) -> openai.OpenAI:
    """A client of that server that no instrumentor reaches."""
    return client_of(transport, _Bare)


def bare_create(client: openai.OpenAI, **arguments: Any) -> Any:
    """``client.chat.completions.create`` as the SDK has it."""
    return _create(client.chat.completions, **arguments)
