"""Programs that call a model in every way a client offers. Each runs on a sync or an async client, bare or not."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import openai
from pydantic import BaseModel

_T = TypeVar("_T")
MESSAGES = [{"role": "user", "content": "hi"}]


class Number(BaseModel):
    """What the model is asked for."""

    n: int


@dataclass(frozen=True)
class Way:
    """A program, and what its one span must say (operation, format), or None for what is not recorded."""

    name: str
    kind: str
    run: Callable[[Any], Coroutine[Any, Any, Any]]
    span: tuple[str, str] | None
    model: str = "m"

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


def run(way: Callable[[Any], Coroutine[Any, Any, _T]], client: Any, *, asynchronous: bool) -> _T:
    """The program's result: in an event loop for an async client, without any for a sync one."""
    if asynchronous:
        return asyncio.run(way(client))
    program = way(client)
    try:
        program.send(None)
    except StopIteration as done:
        return done.value
    program.close()
    raise AssertionError("a synchronous program waited")


async def now(value: Any) -> Any:
    """The value, awaited where the client is asynchronous."""
    return await value if inspect.isawaitable(value) else value


async def items(stream: Any) -> list[Any]:
    """All that a stream gives."""
    if hasattr(stream, "__aiter__"):
        return [item async for item in stream]
    return list(stream)


@asynccontextmanager
async def opened(manager: Any) -> AsyncGenerator[Any]:
    """``with`` or ``async with``, whichever it has."""
    if hasattr(manager, "__aenter__"):
        async with manager as value:
            yield value
    else:
        with manager as value:
            yield value


def _calls(resource: str) -> Callable[..., dict[str, Callable[[Any], Coroutine[Any, Any, Any]]]]:
    """The ways of calling one resource's ``create`` of the OpenAI client, with these arguments."""

    def named(**given: Any) -> dict[str, Callable[[Any], Coroutine[Any, Any, Any]]]:
        def of(client: Any) -> Any:
            for name in resource.split("."):
                client = getattr(client, name)
            return client

        async def create(client: Any) -> Any:
            return await now(of(client).create(**given))

        async def raw(client: Any) -> Any:
            answer = await now(of(client).with_raw_response.create(**given))
            return answer, await now(answer.parse())

        async def streaming(client: Any) -> Any:
            async with opened(of(client).with_streaming_response.create(**given)) as answer:
                return await now(answer.read()), answer

        async def streaming_lines(client: Any) -> Any:
            async with opened(of(client).with_streaming_response.create(**given)) as answer:
                return await items(answer.iter_lines())

        return {"create": create, "raw": raw, "streaming": streaming, "streaming lines": streaming_lines}

    return named


def _streams(resource: str) -> Callable[..., dict[str, Callable[[Any], Coroutine[Any, Any, Any]]]]:
    def named(**given: Any) -> dict[str, Callable[[Any], Coroutine[Any, Any, Any]]]:
        ways = _calls(resource)(stream=True, **given)

        async def stream(client: Any) -> Any:
            return await items(await ways["create"](client))

        async def raw(client: Any) -> Any:
            return await items((await ways["raw"](client))[1])

        async def with_block(client: Any) -> Any:
            async with opened(await ways["create"](client)) as answer:
                return await items(answer)

        async def first_only(client: Any) -> Any:
            async with opened(await ways["create"](client)) as answer:
                if hasattr(answer, "__anext__"):
                    return await answer.__anext__()
                return next(answer)

        async def closed(client: Any) -> Any:
            await now((answer := await ways["create"](client)).close())
            return answer.response

        return {
            "stream": stream, "raw stream": raw, "stream in with": with_block, "stream left early": first_only,
            "stream closed": closed, "streaming sse": ways["streaming lines"],
        }

    return named


async def _chat_parse(client: Any) -> Any:
    return await now(client.chat.completions.parse(model="m", messages=MESSAGES, response_format=Number))


async def _chat_helper(client: Any) -> Any:
    async with opened(client.chat.completions.stream(model="m", messages=MESSAGES, response_format=Number)) as stream:
        return await items(stream), await now(stream.get_final_completion())


async def _responses_parse(client: Any) -> Any:
    return await now(client.responses.parse(model="m", input="hi", text_format=Number))


async def _responses_helper(client: Any) -> Any:
    async with opened(client.responses.stream(model="m", input="hi", text_format=Number)) as stream:
        return await items(stream), await now(stream.get_final_response())


def _post(path: str, **body: Any) -> Callable[[Any], Coroutine[Any, Any, Any]]:
    async def post(client: Any) -> Any:
        return await now(client.post(path, cast_to=dict, body={"model": "m", **body}))

    return post


async def _post_bytes(client: Any) -> Any:
    content = b'{ "model": "m", "messages": [] }'
    return await now(client.post("/chat/completions", cast_to=dict, content=content))


async def _post_stream(client: Any) -> Any:
    kind: Any = openai.AsyncStream if isinstance(client, openai.AsyncOpenAI) else openai.Stream
    body = {"model": "m", "messages": MESSAGES, "stream": True}
    return await items(
        await now(client.post("/chat/completions", cast_to=dict, body=body, stream=True, stream_cls=kind[dict]))
    )


def _one(call: Callable[[Any], Any]) -> Callable[[Any], Coroutine[Any, Any, Any]]:
    async def one(client: Any) -> Any:
        value = await now(call(client))
        return await items(value) if hasattr(value, "__next__") or hasattr(value, "__anext__") else value

    return one


def _table(
    kind: str, span: tuple[str, str] | None, ways: dict[str, Callable[[Any], Coroutine[Any, Any, Any]]], prefix: str
) -> list[Way]:
    return [Way(f"{prefix} {name}".strip(), kind, way, span) for name, way in ways.items()]


_CHAT, _RESPONSES, _EMBED = ("chat", "openai.chat"), ("chat", "openai.responses"), ("embeddings", "openai.embeddings")
_CHAT_ASKED: dict[str, Any] = {"model": "m", "messages": MESSAGES}
_OPENAI = [
    *_table("openai", _CHAT, _calls("chat.completions")(**_CHAT_ASKED), "chat"),
    *_table("openai", _CHAT, _streams("chat.completions")(**_CHAT_ASKED), "chat"),
    *_table("openai", _CHAT, {"parse": _chat_parse, "helper": _chat_helper, "post stream": _post_stream}, "chat"),
    *_table("openai", _CHAT, {"post": _post("/chat/completions", messages=MESSAGES), "bytes": _post_bytes}, "chat"),
    *_table("openai", _RESPONSES, _calls("responses")(model="m", input="hi"), "responses"),
    *_table("openai", _RESPONSES, _streams("responses")(model="m", input="hi"), "responses"),
    *_table("openai", _RESPONSES, {"parse": _responses_parse, "helper": _responses_helper}, "responses"),
    *_table("openai", _RESPONSES, {"post": _post("/responses", input="hi")}, "responses"),
    Way("responses background", "openai", _calls("responses")(model="m", input="hi", background=True)["create"],
        _RESPONSES),
    Way("responses continued", "openai",
        _calls("responses")(model="m", input="hi", previous_response_id="r0")["create"], _RESPONSES),
    *_table("openai", _EMBED, _calls("embeddings")(model="m", input=["a", "b"]), "embeddings"),
    *_table("openai", _EMBED, {"post": _post("/embeddings", input="hi")}, "embeddings"),
]
_OLLAMA_CALLS: dict[str, tuple[tuple[str, str], Callable[[Any], Any]]] = {
    "chat": (("chat", "ollama.chat"), lambda c: c.chat("m", MESSAGES)),
    "chat stream": (("chat", "ollama.chat"), lambda c: c.chat("m", MESSAGES, stream=True)),
    "generate": (("text_completion", "ollama.generate"), lambda c: c.generate("m", "hi")),
    "generate stream": (("text_completion", "ollama.generate"), lambda c: c.generate("m", "hi", stream=True)),
    "embed": (("embeddings", "ollama.embed"), lambda c: c.embed("m", "hi")),
    "embeddings": (("embeddings", "ollama.embed"), lambda c: c.embeddings("m", "hi")),
}
RECORDED: list[Way] = [
    *_OPENAI, *(Way(name, "ollama", _one(call), span) for name, (span, call) in _OLLAMA_CALLS.items())
]

_OTHER_OPENAI: dict[str, Callable[[Any], Any]] = {
    "models": lambda c: c.models.list(),
    "model": lambda c: c.models.retrieve("m"),
    "file": lambda c: c.files.create(file=("a.jsonl", b"{}"), purpose="batch"),
    "file content": lambda c: c.files.content("f1"),
    "image": lambda c: c.images.generate(model="m", prompt="cat"),
    "batch": lambda c: c.batches.create(
        completion_window="24h", endpoint="/v1/chat/completions", input_file_id="f1"
    ),
    "moderation": lambda c: c.moderations.create(input="x"),
    "speech": lambda c: c.audio.speech.create(model="m", input="x", voice="alloy"),
    "stored completion": lambda c: c.chat.completions.retrieve("c1"),
    "stored completion changed": lambda c: c.chat.completions.update("c1", metadata={}),
    "stored response": lambda c: c.responses.retrieve("r1"),
    "response cancelled": lambda c: c.responses.cancel("r1"),
    "tokens counted": lambda c: c.responses.input_tokens.count(model="m", input="x"),
    "legacy completion": lambda c: c.completions.create(model="m", prompt="x"),
    "get": lambda c: c.get("/chat/completions", cast_to=dict),
}
_OTHER_OLLAMA: dict[str, Callable[[Any], Any]] = {
    "list": lambda c: c.list(),
    "show": lambda c: c.show("m"),
    "pull": lambda c: c.pull("m"),
    "pull stream": lambda c: c.pull("m", stream=True),
    "ps": lambda c: c.ps(),
    "copy": lambda c: c.copy("a", "b"),
    "delete": lambda c: c.delete("m"),
}
UNRECORDED: list[Way] = [
    *(Way(name, "openai", _one(call), None) for name, call in _OTHER_OPENAI.items()),
    *(Way(name, "ollama", _one(call), None) for name, call in _OTHER_OLLAMA.items()),
]
