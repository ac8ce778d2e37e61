"""The application: switches on what its argument lists, in that order, makes the same calls, prints spans and results.

``python -m tests.integration.beside.program URL FOLDER [STEP…]``. Steps: ``ours`` (the clients are made here, through
``spanseal.instrument``), ``zero`` (our instrumentor), and the names of :data:`OTHERS`. Each call is made inside a span
``case NAME`` of the application, so that it is known which spans are of which call.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import ollama
import openai
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

OTHERS = {
    "official": ("opentelemetry.instrumentation.genai.openai:OpenAIInstrumentor",),
    "openinference": ("openinference.instrumentation.openai:OpenAIInstrumentor",),
    "openllmetry": (
        "opentelemetry.instrumentation.openai:OpenAIInstrumentor",
        "opentelemetry.instrumentation.ollama:OllamaInstrumentor",
    ),
    "http": (
        "opentelemetry.instrumentation.httpx:HTTPXClientInstrumentor",
        "opentelemetry.instrumentation.httpx:HTTPX2ClientInstrumentor",
    ),
}
"""What can be switched on beside ours: the classes of each."""
SAID: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Count to three."}]


class Clients:
    """The four clients, made once."""

    def __init__(self, url: str, wrap: Callable[[Any], Any]) -> None:
        key: dict[str, Any] = {"api_key": "sk-nobody", "base_url": f"{url}/v1", "max_retries": 1}
        self.openai: Any = wrap(openai.OpenAI(**key))
        self.aopenai: Any = wrap(openai.AsyncOpenAI(**key))
        self.ollama: Any = wrap(ollama.Client(host=url))
        self.aollama: Any = wrap(ollama.AsyncClient(host=url))


def chat(c: Clients, model: str = "m", **more: Any) -> Any:
    """A chat completion."""
    return c.openai.chat.completions.create(model=model, messages=SAID, temperature=0, **more)


def openai_cases() -> dict[str, Callable[[Clients], Any]]:
    """The calls through OpenAI's client that wait."""
    return {
        "create": lambda c: chat(c).choices[0].message.content,
        "stream": lambda c: _words(chat(c, stream=True)),
        "usage": lambda c: _words(chat(c, stream=True, stream_options={"include_usage": True})),
        "closed": _closed,
        "raw": lambda c: c.openai.chat.completions.with_raw_response.create(model="m", messages=SAID).parse().id,
        "retried": lambda c: chat(c, "busy").id,
        "refused": lambda c: chat(c, "refused"),
        "responses": lambda c: c.openai.responses.create(model="m", input="Count.").output_text,
        "responses stream": lambda c: [event.type for event in c.openai.responses.create(
            model="m", input="Count.", stream=True)],
        "embeddings": lambda c: c.openai.embeddings.create(
            model="m", input="x", encoding_format="float").data[0].embedding,
    }  # fmt: skip


def ollama_cases() -> dict[str, Callable[[Clients], Any]]:
    """The calls through Ollama's client that wait."""
    return {
        "ollama chat": lambda c: c.ollama.chat(model="m", messages=SAID).message.content,
        "ollama stream": lambda c: [p.message.content for p in c.ollama.chat(model="m", messages=SAID, stream=True)],
        "ollama generate": lambda c: c.ollama.generate(model="m", prompt="Count.").response,
        "ollama embed": lambda c: list(c.ollama.embed(model="m", input="x").embeddings[0]),
        "ollama refused": lambda c: c.ollama.chat(model="refused", messages=SAID),
    }


async def async_cases(c: Clients) -> dict[str, Any]:
    """The same of the asynchronous clients; three at once among them."""
    create = c.aopenai.chat.completions.create

    async def streamed() -> list[str]:
        parts = await create(model="m", messages=SAID, stream=True)
        return [part.choices[0].delta.content or "" async for part in parts if part.choices]

    async def at_once() -> list[str]:
        return [answer.model for answer in await asyncio.gather(*(create(model=m, messages=SAID) for m in "abc"))]

    async def ollama_stream() -> list[str]:
        parts = await c.aollama.chat(model="m", messages=SAID, stream=True)
        return [part.message.content async for part in parts]

    async def one() -> str:
        return (await create(model="m", messages=SAID)).id

    async def ollama_chat() -> str:
        return (await c.aollama.chat(model="m", messages=SAID)).message.content

    cases = {"async create": one, "async stream": streamed, "async at once": at_once,
             "async ollama chat": ollama_chat, "async ollama stream": ollama_stream}  # fmt: skip
    results: dict[str, Any] = {}
    for name, case in cases.items():
        with _tracer().start_as_current_span(f"case {name}"):
            results[name] = await case()
    await c.aopenai.close()
    return results


def run_agent(c: Clients, folder: str) -> str:
    """An agent of ours, one of whose tools calls a model through the application's own client."""
    from spanseal import OpenAIAdapter, VerifiableAgent, tool

    @tool
    def ask(question: str) -> str:
        """Ask the model behind the application's own client."""
        return str(c.openai.chat.completions.create(model="inner", messages=[{"role": "user", "content": question}]).id)

    result = VerifiableAgent(OpenAIAdapter("agent", client=c.openai), tools=[ask], name="asker").run("Which one?")
    return str(result.answer)


def _closed(c: Clients) -> str:
    with chat(c, stream=True) as parts:
        return str(next(iter(parts)).choices[0].delta.content)


def _words(parts: Any) -> list[str]:
    return [part.choices[0].delta.content or "" for part in parts if part.choices]


def _tracer() -> trace.Tracer:
    return trace.get_tracer("application")


def _result(case: Callable[[], Any]) -> Any:
    try:
        return case()
    except Exception as error:
        return f"{type(error).__module__}.{type(error).__qualname__}: {error}"


def _switch_on(steps: list[str], url: str, folder: str) -> Clients:
    clients: Clients | None = None
    if "ours" in steps or "zero" in steps:
        import spanseal

        spanseal.configure(service_name="beside", export=folder, capture="full")
    for step in steps:
        if step == "ours":
            import spanseal

            clients = Clients(url, spanseal.instrument)
        elif step == "zero":
            from spanseal.telemetry.instrumentor import SpansealInstrumentor

            SpansealInstrumentor().instrument()
        for found in OTHERS.get(step, ()):
            module, _, name = found.partition(":")
            getattr(import_module(module), name)().instrument()
    return clients or Clients(url, lambda client: client)


def _told(span: ReadableSpan) -> dict[str, Any]:
    where, scope = span.get_span_context(), span.instrumentation_scope
    return {
        "id": f"{where.span_id:016x}" if where else "", "parent": f"{span.parent.span_id:016x}" if span.parent else "",
        "name": span.name, "scope": scope.name if scope else "", "kind": span.kind.name,
        "status": [span.status.status_code.name, span.status.description],
        "attributes": json.loads(json.dumps(dict(span.attributes or {}), default=str)),
        "events": [[event.name, json.loads(json.dumps(dict(event.attributes or {}), default=str))]
                   for event in span.events],
    }  # fmt: skip


def main(url: str, folder: str, *steps: str) -> None:
    """Make the calls and print what came of them."""
    if not isinstance(trace.get_tracer_provider(), TracerProvider):
        trace.set_tracer_provider(TracerProvider())
    provider: Any = trace.get_tracer_provider()
    memory = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    clients = _switch_on(list(steps), url, folder)
    results: dict[str, Any] = {}
    for name, case in (openai_cases() | ollama_cases()).items():
        with _tracer().start_as_current_span(f"case {name}"):
            results[name] = _result(lambda case=case: case(clients))
    results |= asyncio.run(async_cases(clients))
    if "ours" in steps or "zero" in steps:
        results["agent"] = run_agent(clients, folder)
    provider.force_flush()
    print(json.dumps({"results": results, "spans": [_told(span) for span in memory.get_finished_spans()]}))
    provider.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
