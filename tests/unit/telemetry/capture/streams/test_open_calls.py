"""Dropped calls are ended from a thread of their own: garbage collection may run under anybody's lock."""

from __future__ import annotations

import gc
import logging
import threading
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from tests.unit.telemetry.wire_world import KINDS, attributes_of, bare_client, stream, whole, world

from spanseal.genai import semconv as sc
from spanseal.telemetry.active import Active, activate
from spanseal.telemetry.capture.streams import open_calls
from spanseal.telemetry.capture.streams.open_calls import drain
from spanseal.telemetry.instrument import instrument


class Collecting(SpanProcessor):
    """Collects garbage while it holds a lock that is not re-entrant, as an exporter's allocation might."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.ended: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        with self.lock:
            gc.collect()
            self.ended.append(span)


@pytest.mark.timeout(30)
def test_garbage_collected_under_a_processors_lock() -> None:
    collecting = Collecting()
    provider = TracerProvider()
    provider.add_span_processor(collecting)
    before = activate(Active(capture="full", provider=provider))
    gc.disable()
    try:
        client = instrument(bare_client("openai", [stream("openai"), whole("openai")], []))
        for _ in client.chat.completions.create(model="m", messages=[], stream=True):
            break
        client.chat.completions.create(model="m", messages=[])
        assert drain(10.0)
    finally:
        gc.enable()
        activate(before)
    marks: list[Any] = [attributes_of(span).get(sc.LLM_STREAM_END) for span in collecting.ended]
    assert marks == [None, "abandoned"]


class Closing:
    """A program's own object, in a cycle, that closes its stream when it goes."""

    def __init__(self, reading: Any) -> None:
        self.reading = reading
        self.me = self

    def __del__(self) -> None:
        self.reading.close()


class Logging(SpanProcessor):
    """Says something about each span through a handler that takes a plain lock and collects garbage under it."""

    def __init__(self) -> None:
        self.log = logging.getLogger("of-a-processor")
        self.ended: list[ReadableSpan] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.log.warning("ended %s", span.name)
        self.ended.append(span)


class PlainHandler(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.plain = threading.Lock()

    def emit(self, record: logging.LogRecord) -> None:
        with self.plain:
            gc.collect()


@pytest.mark.timeout(30)
@pytest.mark.parametrize("kind", KINDS)
def test_a_program_closes_in_garbage_collection(kind: str) -> None:
    """Under the processor's lock, and under that of the logging: the first would be waited for by who holds it."""
    collecting, saying, handler = Collecting(), Logging(), PlainHandler()
    provider = TracerProvider()
    provider.add_span_processor(collecting)
    provider.add_span_processor(saying)
    saying.log.addHandler(handler)
    before = activate(Active(capture="full", provider=provider))
    gc.collect()
    gc.disable()
    try:
        client = instrument(bare_client(kind, [stream(kind), whole(kind)], []))
        ask: Any = client.chat if kind == "ollama" else client.chat.completions.create
        reading = ask(model="m", messages=[], stream=True)
        next(iter(reading))
        Closing(reading)
        ask(model="m", messages=[])
        assert drain(10.0)
        del reading
    finally:
        gc.enable()
        activate(before)
        saying.log.removeHandler(handler)
    words = [attributes_of(span).get(sc.LLM_STREAM_END) for span in saying.ended]
    assert sorted(filter(None, words)) == ["partial"]
    assert len(words) == 2


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_kept_of_calls_that_ended(kind: str) -> None:
    with world(kind, [stream(kind)]) as here:
        for number in range(6):
            for _ in here.ask(stream=True):
                if number % 2:
                    break
        gc.collect()
        assert len(here.spans()) == 6
    assert open_calls._OPEN.calls == {}  # pyright: ignore[reportPrivateUsage] - the leak would be there


def test_drain_without_anything_dropped() -> None:
    assert drain(5.0)


@pytest.mark.timeout(30)
def test_a_call_that_cannot_be_ended_does_not_stop_the_others() -> None:
    ended = threading.Event()

    class Broken:
        def progress(self) -> tuple[int, bool]:
            return 0, True

        def end_held(self) -> None: ...
        def end_dropped(self) -> None:
            raise RuntimeError("a bug of ours")

    class Fine:
        def progress(self) -> tuple[int, bool]:
            return 0, True

        def end_held(self) -> None: ...
        def end_dropped(self) -> None:
            ended.set()

    calls = Broken(), Fine()
    for call in calls:
        open_calls.keep(call)
        open_calls.drop(call)
        open_calls.forget(call)
    assert drain(10.0)
    assert ended.is_set()
