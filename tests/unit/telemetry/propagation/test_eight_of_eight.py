"""Eight model calls at once, by real clients, in every kind of pool: each has the right parent and the right run."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.unit.telemetry.carrying import assert_child, carrying, span
from tests.unit.telemetry.line_ledger import check_ledgers
from tests.unit.telemetry.model_server import answering
from tests.unit.telemetry.processes import agent, spans_in
from tests.unit.telemetry.wire_world import KINDS, bare_client, stream, whole

from spanseal.adapters.base import LLMAdapter
from spanseal.adapters.ollama import OllamaAdapter
from spanseal.adapters.openai import OpenAIAdapter
from spanseal.genai import semconv
from spanseal.genai.messages import Message
from spanseal.telemetry.instrument import instrument
from spanseal.telemetry.run_span import run_span
from spanseal.telemetry.spans.tracer import tracer

SAY: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def ask(kind: str, client: Any) -> Any:
    return client.chat(**SAY) if kind == "ollama" else client.chat.completions.create(**SAY)


def adapter_of(kind: str, client: Any, *, asynchronous: bool) -> LLMAdapter:
    given: dict[str, Any] = {"async_client" if asynchronous else "client": client}
    return OllamaAdapter("m", **given) if kind == "ollama" else OpenAIAdapter("m", **given)


def asking(kind: str, how: str, *, asynchronous: bool) -> Callable[[], Any]:
    """One call of a client of this kind, instrumented or behind an adapter."""
    client = bare_client(kind, [whole(kind)], [], asynchronous=asynchronous)
    if how == "instrumented":
        instrument(client)
        return lambda: ask(kind, client)
    adapter = adapter_of(kind, client, asynchronous=asynchronous)
    return lambda: (adapter.acomplete if asynchronous else adapter.complete)([Message("user", "hi")])


@pytest.mark.parametrize("how", ["instrumented", "adapter"])
@pytest.mark.parametrize("kind", KINDS)
def test_in_a_thread_pool(kind: str, how: str) -> None:
    with carrying() as captured, ThreadPoolExecutor(8) as pool:
        once = asking(kind, how, asynchronous=False)
        with run_span("warm up"):
            pool.submit(once).result()
        for name in ("first", "second"):
            with run_span(name), tracer().start_as_current_span(f"around {name}"):
                for future in [pool.submit(once) for _ in range(8)]:
                    future.result()
    assert_children(captured.named("chat"), captured)


@pytest.mark.parametrize("how", ["instrumented", "adapter"])
@pytest.mark.parametrize("kind", KINDS)
def test_in_a_task_group(kind: str, how: str) -> None:
    async def main(once: Callable[[], Any]) -> None:
        with run_span("warm up"):
            await once()
        for name in ("first", "second"):
            with run_span(name), tracer().start_as_current_span(f"around {name}"):
                async with asyncio.TaskGroup() as group:
                    for _ in range(8):
                        group.create_task(once())

    with carrying() as captured:
        asyncio.run(main(asking(kind, how, asynchronous=True)))
    assert_children(captured.named("chat"), captured)


def assert_children(chats: Any, captured: Any) -> None:
    """One call in the first run, eight in each of the other two, each below the span around it."""
    assert len(chats) == 17
    counts = {"invoke_agent warm up": 1, "around first": 8, "around second": 8}
    for above, count in counts.items():
        parent = captured.one(above)
        mine = [each for each in chats if each.parent.span_id == parent.get_span_context().span_id]
        assert len(mine) == count
        for each in mine:
            assert each.attributes[semconv.RUN_ID] == parent.attributes[semconv.RUN_ID]


WORKERS = """
import ollama, openai, os, spanseal
url = os.environ["MODEL_URL"]
say = dict(model="m", messages=[{"role": "user", "content": "hi"}])
def ask(kind):
    if kind == "ollama":
        return spanseal.instrument(ollama.Client(url)).chat(**say).message.content
    client = spanseal.instrument(openai.OpenAI(base_url=url + "/v1", api_key="k"))
    return client.chat.completions.create(**say).choices[0].message.content
def complete(kind):
    adapter = spanseal.OllamaAdapter("m", host=url) if kind == "ollama" else (
        spanseal.OpenAIAdapter("m", base_url=url + "/v1", api_key="k"))
    return adapter.complete([spanseal.Message("user", "hi")]).text
"""

POOLS = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from workers import ask, complete
configure("a", export=sys.argv[1])
context = multiprocessing.get_context(sys.argv[2])
kinds = ["openai", "ollama"] * 4
if __name__ == "__main__":
    with run_span("warm up"):
        pool = ProcessPoolExecutor(2, context) if sys.argv[3] == "executor" else context.Pool(2)
        list(pool.map(ask, ["openai"]))
    for name, once in (("first", ask), ("second", complete)):
        with run_span(name), tracer().start_as_current_span("around " + name):
            assert list(pool.map(once, kinds)) == ["hello"] * 8
    if sys.argv[3] == "executor":
        pool.shutdown()
    else:
        pool.close()
        pool.join()
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    with answering(tmp_path_factory.mktemp("model")) as url:
        yield url


@pytest.mark.parametrize(("pool", "method"), [("executor", "spawn"), ("pool", "fork")])
def test_in_a_process_pool(pool: str, method: str, tmp_path: Path, model: str) -> None:
    """Eight calls of instrumented clients in the first run, eight of adapters in the second, half of each kind."""
    (tmp_path / "workers.py").write_text(WORKERS)
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    out = tmp_path / "spans"
    agent(POOLS, str(out), method, pool, environ={"PYTHONPATH": path, "MODEL_URL": model, "NO_PROXY": "*"})
    spans = spans_in(out)
    check_ledgers(spans)
    by_id = {span.span_id: span for span in spans}
    chats = [span for span in spans if span.name == "chat m"]
    above = [by_id[chat.parent_span_id] for chat in chats]
    assert sorted(parent.name for parent in above) == [
        *["around first"] * 8, *["around second"] * 8, "invoke_agent warm up",
    ]  # fmt: skip
    for chat, parent in zip(chats, above, strict=True):
        assert chat.attributes[semconv.RUN_ID] == parent.attributes[semconv.RUN_ID]
        assert chat.trace_id == parent.trace_id
    of = [(parent.name, str(chat.attributes[semconv.PROVIDER_NAME])) for chat, parent in zip(chats, above, strict=True)]
    for name in ("around first", "around second"):
        assert sorted(provider for where, provider in of if where == name) == ["ollama"] * 4 + ["openai"] * 4


@pytest.mark.parametrize("how", ["instrumented", "adapter"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_the_consumer_of_a_stream_does_is_not_part_of_the_call(kind: str, how: str) -> None:
    client = bare_client(kind, [stream(kind)], [])
    with carrying() as captured, run_span("a"):
        chunks: Iterable[Any]
        if how == "adapter":
            chunks = adapter_of(kind, client, asynchronous=False).stream([Message("user", "hi")])
        elif kind == "ollama":
            chunks = instrument(client).chat(**SAY, stream=True)
        else:
            chunks = instrument(client).chat.completions.create(**SAY, stream=True)
        for _ in chunks:
            span("between")
        span("after")
    for name in ("between", "after", "chat"):
        assert_child(captured, name, "invoke_agent a")


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_consumer_of_an_async_stream_does_is_not_part_of_the_call(kind: str) -> None:
    async def main() -> None:
        with run_span("a"):
            client = bare_client(kind, [stream(kind)], [], asynchronous=True)
            async for _ in adapter_of(kind, client, asynchronous=True).astream([Message("user", "hi")]):
                span("between")

    with carrying() as captured:
        asyncio.run(main())
    for name in ("between", "chat"):
        assert_child(captured, name, "invoke_agent a")
