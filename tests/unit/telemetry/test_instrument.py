"""Instrumenting is invisible, idempotent and reversible; ends at process exit and fork are ends too."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import ollama
import openai
import pytest
from tests.unit.telemetry.wire_world import KINDS, bare_client, recording, stream, whole, world

from spanseal.errors import UsageError
from spanseal.genai import semconv as sc
from spanseal.telemetry.instrument import instrument, uninstrument
from spanseal.telemetry.instrumentor import SpansealInstrumentor
from spanseal.telemetry.run_context import attempt

both = pytest.mark.parametrize("kind", KINDS)


@both
def test_same_object_same_name_still_an_instance(kind: str) -> None:
    client = bare_client(kind, [whole(kind)], [])
    before: Any = client.__class__
    assert instrument(client) is client
    assert isinstance(client, before)
    assert (type(client).__name__, type(client).__module__) == (before.__name__, before.__module__)


@both
def test_twice_is_once(kind: str) -> None:
    with world(kind, [whole(kind)]) as here:
        instrument(here.client)
        here.ask()
        assert len(here.spans()) == 1


@both
def test_uninstrument_restores(kind: str) -> None:
    with world(kind, [whole(kind)]) as here:
        before = type(here.client).__mro__[1]
        uninstrument(here.client)
        assert type(here.client) is before
        here.ask()
        assert here.spans() == []


@both
def test_user_agent_is_the_clients_own(kind: str) -> None:
    seen: list[Any] = []
    bare = bare_client(kind, [whole(kind)], seen)
    ask = bare.chat if kind == "ollama" else bare.chat.completions.create
    ask(model="m", messages=[])
    with world(kind, [whole(kind)]) as here:
        here.ask()
        assert here.requests[0].headers["user-agent"] == seen[0].headers["user-agent"]


def test_copies_are_instrumented_too() -> None:
    with world("openai", [whole("openai")]) as here:
        for client in (here.client.with_options(timeout=3), here.client.copy(), copy.copy(here.client)):
            client.chat.completions.create(model="m", messages=[])
        assert len(here.spans()) == 3


def test_another_client_on_the_same_connections_is_not() -> None:
    with world("openai", [whole("openai")]) as here:
        other = openai.OpenAI(api_key="x", base_url="http://o.test", http_client=here.client._client)
        other.chat.completions.create(model="m", messages=[])
        assert here.spans() == []


def test_what_is_no_client_is_refused() -> None:
    with pytest.raises(UsageError, match=r"not builtins\.dict"):
        instrument(dict[str, str]())


def test_zero_code_and_back() -> None:
    instrumentor = SpansealInstrumentor()
    instrumentor.instrument()
    try:
        with recording() as exporter:
            for kind in KINDS:
                client = bare_client(kind, [whole(kind)], [])
                ask: Any = client.chat if kind == "ollama" else client.chat.completions.create
                ask(model="m", messages=[])
            assert len(exporter.get_finished_spans()) == 2
            assert type(openai.AzureOpenAI(api_key="k", azure_endpoint="https://a.test", api_version="1")) is not (
                openai.AzureOpenAI
            )
    finally:
        instrumentor.uninstrument()
    assert type(bare_client("openai", [], [])) is openai.OpenAI
    assert type(ollama.Client()) is ollama.Client


_PROGRAM = """
import gc, json, os, sys, threading
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from spanseal.telemetry.active import Active, activate
from spanseal.telemetry.instrument import instrument
from tests.unit.telemetry.wire_world import bare_client, stream

for number, end in enumerate(json.loads(sys.argv[1])):
    child = os.fork()
    if child == 0:
        break
    os.waitpid(child, 0)
else:
    sys.exit(0)

class Out(SpanExporter):
    def export(self, spans):
        for span in spans:
            os.write(1, f"{number} {span.attributes['spanseal.llm.stream.end']}\\n".encode())
        return SpanExportResult.SUCCESS

provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(Out()))
activate(Active(capture="full", provider=provider))
client = instrument(bare_client("openai", [stream("openai")], []))
held = client.chat.completions.create(model="m", messages=[], stream=True)
next(held)
exec(end)
"""
ENDS = (
    ("", "held"),
    ("sys.exit(3)", "held"),
    ("raise SystemError('x')", "held"),
    ("list(held)", "complete"),
    ("threading.Thread(target=list, args=(held,)).start()", "complete"),
    ("threading.Thread(target=held.close, daemon=True).start(); threading.Event().wait(0.2)", "partial"),
    ("pid = os.fork()\nif pid == 0: sys.exit(0)\nos.waitpid(pid, 0)", "held"),
    ("pid = os.fork()\nif pid == 0: list(held); os._exit(0)\nos.waitpid(pid, 0)\nlist(held)", "complete"),
)


def test_one_end_whatever_ends_the_process() -> None:
    root = Path(__file__).resolve().parents[3]
    command = [sys.executable, "-W", "ignore", "-c", _PROGRAM, json.dumps([end for end, _ in ENDS])]
    done = subprocess.run(command, capture_output=True, cwd=root, timeout=120)
    expected = [f"{number} {mark}" for number, (_, mark) in enumerate(ENDS)]
    assert done.stdout.decode().splitlines() == expected, done.stderr.decode()


def test_a_client_call_from_json_names_its_model() -> None:
    with world("openai", [whole("openai")]) as here:
        here.client.post("/chat/completions", cast_to=dict, body={"model": "p", "messages": []})
        span = here.span()
    assert span.name == "chat p"
    assert json.loads(here.attributes()[sc.LLM_RESPONSE_BODY])["id"] == "r1"


def test_an_openai_client_on_legacy_httpx() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=whole("openai").body)

    old: Any = httpx.Client(transport=httpx.MockTransport(handler))
    with world("openai", [whole("openai")]) as here:
        client = instrument(openai.OpenAI(api_key="k", base_url="http://o.test/v1", http_client=old))
        assert client.chat.completions.create(model="m", messages=[]).choices[0].message.content == "hello"
        assert here.attributes()[sc.RESPONSE_FINISH_REASONS] == ("stop",)


def test_an_ollama_attempt_is_that_of_the_call_not_of_the_reading() -> None:
    with world("ollama", [stream("ollama")]) as here:
        with attempt(4):
            reading = here.ask(stream=True)
        list(reading)
        assert here.attributes()[sc.LLM_ATTEMPT] == 4
