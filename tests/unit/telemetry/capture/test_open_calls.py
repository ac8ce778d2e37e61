"""Dropped calls are ended from a thread of their own: garbage collection may run under anybody's lock."""

from __future__ import annotations

import gc
import threading
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from tests.unit.telemetry.wire_world import KINDS, attributes_of, bare_client, stream, whole, world

from spanseal.genai import semconv as sc
from spanseal.telemetry.active import Active, activate
from spanseal.telemetry.capture import open_calls
from spanseal.telemetry.capture.open_calls import drain
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
        def end_dropped(self) -> None:
            raise RuntimeError("a bug of ours")

    class Fine:
        def end_dropped(self) -> None:
            ended.set()

    calls = Broken(), Fine()
    for call in calls:
        open_calls.keep(call)
        open_calls.drop(call)
        open_calls.forget(call)
    assert drain(10.0)
    assert ended.is_set()
