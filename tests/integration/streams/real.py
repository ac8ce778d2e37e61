"""Clients of real servers for each way to read a stream, closed in time, and the spans that come out."""

from __future__ import annotations

import gc
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import ollama
import openai
from opentelemetry.sdk.trace import ReadableSpan
from tests.unit.telemetry.stream_ways import Flow, Way, reading
from tests.unit.telemetry.wire_world import recording

from spanseal.telemetry.capture.streams.open_calls import drain, end_all


def bare(way: Way, url: str, *, timeout: float = 120.0) -> Any:
    """The client before anything is done to it; ``url`` is the server's base URL as that client wants it."""
    if way.server == "openai":
        made: Any = openai.AsyncOpenAI if way.asynchronous else openai.OpenAI
        return made(base_url=url, api_key="none", timeout=timeout, max_retries=2)
    made = ollama.AsyncClient if way.asynchronous else ollama.Client
    return made(url, timeout=timeout, trust_env=False)


@asynccontextmanager
async def open_flow(way: Way, url: str, model: str, *, timeout: float = 120.0, **more: Any) -> AsyncGenerator[Flow]:
    """A stream of this way; its client is closed afterwards."""
    client = bare(way, url, timeout=timeout)
    flow = Flow(way, reading(way, client, model), model, **more)
    try:
        yield flow
    finally:
        await flow.drop()
        closing: Awaitable[None] | None = client.close()
        if closing is not None:
            await closing
        gc.collect()


def told(run: Callable[[], object]) -> list[ReadableSpan]:
    """The spans of what ``run`` does; streams still open afterwards are ended as at the end of the process."""
    with recording() as exporter:
        run()
        assert drain(5.0)
        end_all()
        return list(exporter.get_finished_spans())
