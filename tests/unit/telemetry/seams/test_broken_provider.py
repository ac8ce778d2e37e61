"""The program's own provider breaks (processor, sampler, exporter, ids, logging): its calls go on as without us."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.sdk.trace.sampling import Sampler
from tests.unit.telemetry.seams.clients import made
from tests.unit.telemetry.seams.observed import differences, observe
from tests.unit.telemetry.seams.programs import RECORDED, run

from spanseal.telemetry.active import Active, activate
from spanseal.telemetry.instrument import instrument

_WAYS = [way for way in RECORDED if str(way) in ("openai:chat create", "openai:chat stream", "ollama:generate stream")]


def _fails(*_: Any, **__: Any) -> Any:
    raise RuntimeError("the program's own")


def _with(processor: SpanProcessor) -> TracerProvider:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(processor)
    return provider


class _OnStart(SpanProcessor):
    on_start: Any = _fails


class _OnEnd(SpanProcessor):
    on_end: Any = _fails


class _Sampler(Sampler):
    should_sample: Any = _fails

    def get_description(self) -> str:
        return "fails"


class _Exporter(SpanExporter):
    export: Any = _fails


class _SpanIds(RandomIdGenerator):
    generate_span_id: Any = _fails


class _TraceIds(RandomIdGenerator):
    generate_trace_id: Any = _fails


class _NoTracer(trace.TracerProvider):
    get_tracer: Any = _fails


PROVIDERS: dict[str, Callable[[], trace.TracerProvider]] = {
    "processor at start": lambda: _with(_OnStart()),
    "processor at end": lambda: _with(_OnEnd()),
    "exporter": lambda: _with(SimpleSpanProcessor(_Exporter())),
    "sampler": lambda: TracerProvider(sampler=_Sampler(), shutdown_on_exit=False),
    "span ids": lambda: TracerProvider(id_generator=_SpanIds(), shutdown_on_exit=False),
    "trace ids": lambda: TracerProvider(id_generator=_TraceIds(), shutdown_on_exit=False),
    "no tracer": _NoTracer,
    "no-op": trace.NoOpTracerProvider,
}


@contextmanager
def on(provider: trace.TracerProvider) -> Generator[None]:
    """Our spans go to this provider."""
    before = activate(Active(capture="full", provider=provider))
    try:
        yield
    finally:
        activate(before)


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("way", _WAYS, ids=str)
def test_the_program_goes_on(provider: str, way: Any) -> None:
    for asynchronous in (False, True):
        client, log = made(way.kind, asynchronous=asynchronous)
        bare = dataclasses.asdict(observe(way, client, log, asynchronous=asynchronous))
        other, log = made(way.kind, asynchronous=asynchronous)
        with on(PROVIDERS[provider]()):
            ours = dataclasses.asdict(observe(way, instrument(other), log, asynchronous=asynchronous))
        assert differences(ours, bare) == []


class _Refusing(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        raise LookupError("the program's own filter")


def test_a_logging_filter_that_raises() -> None:
    client, _ = made("openai", asynchronous=False)
    refusing, log = _Refusing(), logging.getLogger("spanseal")
    log.addFilter(refusing)
    try:
        with on(_with(_OnStart())):
            assert run(_WAYS[0].run, instrument(client), asynchronous=False).id == "c1"
    finally:
        log.removeFilter(refusing)


class _Deep(SpanProcessor):
    """Uses up the stack, so that even saying so fails."""

    def on_start(self, span: Span, parent_context: Any = None) -> None:
        self._deeper(span)

    def on_end(self, span: ReadableSpan) -> None:
        self._deeper(span)

    def _deeper(self, span: ReadableSpan) -> None:
        self._deeper(span)  # a function with defaults would never hit the limit: Python forgets to look there


def test_no_stack_left() -> None:
    client, _ = made("openai", asynchronous=False)
    with on(_with(_Deep())):
        assert run(_WAYS[0].run, instrument(client), asynchronous=False).id == "c1"
