"""Spans in memory: as often as one likes, nested, and nothing left behind."""

from __future__ import annotations

import pytest
from opentelemetry import trace

from spanseal.genai import semconv
from spanseal.records.otlp import parse_line
from spanseal.telemetry.active import active
from spanseal.telemetry.run_span import run_span
from spanseal.telemetry.spans.tracer import tracer
from spanseal.testing import capture_spans


@pytest.mark.parametrize("turn", range(3))
def test_each_block_sees_its_own_spans(turn: int) -> None:
    before, provider = active(), trace.get_tracer_provider()
    with capture_spans() as outer:
        tracer().start_span("first").end()
        with capture_spans(capture="off") as inner:
            assert active().capture == "off"
            tracer().start_span("second").end()
        tracer().start_span(f"third {turn}").end()
    assert [span.name for span in outer.spans] == ["first", f"third {turn}"]
    assert [span.name for span in inner.spans] == ["second"]
    assert (active(), trace.get_tracer_provider()) == (before, provider)


def test_an_exception_switches_back_too() -> None:
    before = active()
    with pytest.raises(KeyError), capture_spans():
        raise KeyError
    assert active() is before


def test_names_are_found_and_missing_ones_are_told() -> None:
    with capture_spans() as captured:
        for name in ("chat a", "chat b", "chatter"):
            tracer().start_span(name).end()
    assert [span.name for span in captured.named("chat")] == ["chat a", "chat b"]
    assert captured.one("chatter").name == "chatter"
    with pytest.raises(AssertionError, match="2 spans named 'chat'"):
        captured.one("chat")
    with pytest.raises(AssertionError, match="0 spans"):
        captured.one("gone")


def test_lines_are_what_an_export_would_write() -> None:
    with capture_spans() as captured, run_span("a"):
        pass
    (line,) = captured.lines()
    (record,) = parse_line(line.rstrip(b"\n"))
    assert record.attributes[semconv.SEQ] == 0
    assert semconv.MANIFEST in record.attributes
