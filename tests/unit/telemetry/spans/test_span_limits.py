"""Span limits from the environment or in code: nothing of our own spans is lost, and nobody gets cut JSON unmarked."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from spanseal.genai import semconv as sc
from spanseal.replay.reader import RunReader
from spanseal.telemetry.spans.inner import add_event
from spanseal.telemetry.spans.limits import tell_limits, tight_limits
from spanseal.telemetry.spans.tracer import tracer
from spanseal.testing import capture_spans

LONG = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "word " * 60}]}])
PROGRAM = """
import sys
import spanseal
from spanseal.genai import semconv as sc
from spanseal.telemetry.content.attributes import set_content
from spanseal.telemetry.run_span import run_span
from spanseal.telemetry.spans.inner import add_event, open_span, tell
spanseal.configure("t", export=sys.argv[1])
with run_span("a", input_messages=sys.argv[2]) as run:
    with open_span("execute_tool t") as span:
        tell(span, {sc.OPERATION_NAME: sc.OP_EXECUTE_TOOL, sc.TOOL_NAME: "t", sc.TOOL_CALL_ID: "c" * 40})
        set_content(span, sc.TOOL_CALL_RESULT, sys.argv[2])
    with open_span("verification v") as span:
        for number in range(5):
            clear = {sc.EVALUATION_NAME: f"check {number}", sc.EVALUATION_SCORE_LABEL: "fail"}
            add_event(span, sc.EVENT_EVALUATION_RESULT, clear, {sc.EVALUATION_EXPLANATION: "because " * 40})
        tell(span, {sc.VERIFICATION_PIPELINE: "v", sc.VERIFICATION_PASSED: False})
    run.finish("completed", "answered")
"""


@pytest.mark.parametrize(
    ("variable", "words"),
    [
        ("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "texts of attributes cut at 7 characters"),
        ("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "texts of attributes cut at 7 characters"),
        ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "at most 7 attributes"),
        ("OTEL_ATTRIBUTE_COUNT_LIMIT", "at most 7 attributes of an event"),
        ("OTEL_SPAN_EVENT_COUNT_LIMIT", "at most 2 events"),
        ("OTEL_EVENT_ATTRIBUTE_COUNT_LIMIT", "at most 2 attributes of an event"),
        ("OTEL_LINK_ATTRIBUTE_COUNT_LIMIT", "at most 2 attributes of a link"),
    ],
)
def test_a_limit_of_the_environment_is_told_and_takes_nothing(variable: str, words: str, tmp_path: Path) -> None:
    most = "2" if "2" in words else "7"
    env = {variable: most, "SPANSEAL_STATE_DIR": str(tmp_path / "state"), "PATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "spans"), LONG],
        env=env, capture_output=True, text=True, check=True,
    )
    assert done.stderr.count("span limits are in force") == 1
    assert words in done.stderr
    run = RunReader.open(tmp_path / "spans").runs()[0]
    assert (run.grade, run.agent, run.outcome, run.notes) == ("complete", "a", "completed", ())
    assert run.question[0].text == "word " * 60
    assert run.tools[0].result == json.loads(LONG)
    assert run.tools[0].call_id == "c" * 40
    assert [check.explanation for check in run.checks] == ["because " * 40] * 5


def test_others_get_marks_in_place_of_cut_json() -> None:
    memory = InMemorySpanExporter()
    limits = SpanLimits(max_attribute_length=130, max_span_attributes=200)
    with capture_spans(limits=limits) as captured:
        captured.provider.add_span_processor(SimpleSpanProcessor(memory))
        with tracer().start_as_current_span("s", attributes={"first": LONG}) as span:
            span.set_attribute("json", LONG)
            span.set_attribute("list", [LONG, "short"])
            span.set_attributes({"text": "word " * 60, "number": 7})
            add_event(span, "e", {}, {"said": LONG})
    (seen,) = memory.get_finished_spans()
    theirs: Any = seen.attributes
    for key in ("first", "json"):
        assert json.loads(theirs[key])["spanseal.omitted"]["bytes"] == len(LONG)
    assert theirs["text"].endswith("…")
    assert len(theirs["text"]) == 130
    assert json.loads((seen.events[0].attributes or {})["said"])  # pyright: ignore[reportArgumentType]
    ours: Any = captured.one("s")
    assert ours.attributes["json"] == ours.attributes["first"] == LONG
    assert ours.attributes["list"] == (LONG, "short")
    assert ours.events[0].attributes["said"] == LONG
    assert (ours.dropped_attributes, ours.status.status_code.name) == (0, "UNSET")


def test_where_even_the_mark_is_too_long_the_attribute_is_left_out() -> None:
    memory = InMemorySpanExporter()
    with capture_spans(limits=SpanLimits(max_attribute_length=20)) as captured:
        captured.provider.add_span_processor(SimpleSpanProcessor(memory))
        with tracer().start_as_current_span("s") as span:
            span.set_attribute("json", LONG)
    assert "json" not in (memory.get_finished_spans()[0].attributes or {})
    assert (captured.one("s").attributes or {})["json"] == LONG


def test_usual_limits_are_not_told(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "spanseal"):
        tell_limits(TracerProvider(shutdown_on_exit=False))
        tell_limits(object())
    assert not caplog.records
    assert tight_limits(TracerProvider(span_limits=SpanLimits(max_links=3), shutdown_on_exit=False)) == (
        "at most 3 links",
    )


def test_what_our_spans_say_is_given_free_when_they_end() -> None:
    from spanseal.telemetry.spans import limits as span_limits

    with capture_spans(limits=SpanLimits(max_attribute_length=20)), tracer().start_as_current_span(sc.SPAN_STEP):
        assert len(span_limits._kept) == 1  # pyright: ignore[reportPrivateUsage]
    assert not span_limits._kept  # pyright: ignore[reportPrivateUsage]
