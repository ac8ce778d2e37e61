"""Our encoder against the official one, and what the official one leaves to be mended."""

from __future__ import annotations

import io
import json
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.json.file import FileSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, StatusCode, TraceFlags, TraceState
from opentelemetry.trace import set_span_in_context as in_context

from spanseal.records.otlp import parse_line
from spanseal.telemetry.content.redaction.redactor import Redactor
from spanseal.telemetry.export.attribute_list import AttributeList
from spanseal.telemetry.export.encode import LineEncoder, batch

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
KEY = TEXT.filter(bool).filter(lambda key: not Redactor().secret_key(key))
LEAF: Any = st.one_of(
    TEXT, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.binary(max_size=9), st.none()
)
VALUE: Any = st.recursive(
    LEAF,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEY, inner, max_size=3),
    max_leaves=6,
)
ATTRIBUTES = st.dictionaries(KEY, VALUE, max_size=5)


def finished(build: Any, **provider: Any) -> tuple[ReadableSpan, bytes]:
    """The span that ``build`` makes, and the line that the official file exporter writes for it."""
    memory, stream = InMemorySpanExporter(), io.StringIO()
    made = TracerProvider(resource=Resource({"service.name": "täst", "n": 1}), shutdown_on_exit=False, **provider)
    made.add_span_processor(SimpleSpanProcessor(memory))
    made.add_span_processor(SimpleSpanProcessor(FileSpanExporter(stream=stream)))
    build(made.get_tracer("scope", "1.2", "https://schema.example/1", {"a": True}))
    made.shutdown()
    return memory.get_finished_spans()[0], stream.getvalue().encode()


@given(ATTRIBUTES, ATTRIBUTES, TEXT, st.sampled_from(list(SpanKind)), st.sampled_from(list(StatusCode)), st.booleans())
def test_every_span_says_what_the_official_encoder_says(
    attributes: dict[str, Any], more: dict[str, Any], text: str, kind: SpanKind, code: StatusCode, remote: bool
) -> None:
    other = SpanContext(2**127, 2**63, remote, TraceFlags(1), TraceState([("a", "1"), ("b", "2")]))

    def build(tracer: Any) -> None:
        span = tracer.start_span(
            text, in_context(NonRecordingSpan(other)), kind, attributes, [Link(other, more), Link(other)]
        )
        span.add_event(text, more, 7)
        span.set_status(code, text if code is StatusCode.ERROR else None)
        span.end()

    span, official = finished(build)
    ours = LineEncoder().line(span, {})
    assert json.loads(ours) == json.loads(official)
    assert list(json.loads(ours)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]) == list(
        json.loads(official)["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    )
    parse_line(ours.rstrip(b"\n"))


def test_equal_values_of_different_types_stay_apart() -> None:
    encoder, values = LineEncoder(), [1, True, 1.0, "1", (1, True), (True, 1), "1"]

    def line(value: Any) -> bytes:
        def build(tracer: Any) -> None:
            tracer.start_span("s", attributes={"a": value}).end()

        return encoder.line(finished(build)[0], {})

    lines = [line(value) for value in values]
    assert [repr(parse_line(line.rstrip(b"\n"))[0].attributes["a"]) for line in lines] == list(map(repr, values))


def test_keys_that_are_masked_alike_are_one() -> None:
    said = {"to ann@example.org": 1, "to bob@example.org": "b", "n": 2, "bearer abcdefghijkl": "x"}
    writer = AttributeList(Redactor(("email",), ()))
    found = orjson.loads(writer.written(said, {"s": 7}, clear={"n"}))
    assert [pair["key"] for pair in found] == ["to [redacted:email:15]", "n", "bearer abcdefghijkl", "s"]
    assert found[0]["value"] == {"stringValue": "b"}
    assert orjson.loads(writer.written({**said, "long": "x" * 9}, most=8))[-1]["key"] == "bearer abcdefghijkl"


def test_dropped_counts_are_told() -> None:
    def build(tracer: Any) -> None:
        other = SpanContext(1, 2, False)
        span = tracer.start_span("s", attributes={"a": 1, "b": 2}, links=[Link(other, {"x": 1, "y": 2})] * 2)
        span.add_event("one", {"x": 1, "y": 2})
        span.add_event("two")
        span.end()

    limits = SpanLimits(max_span_attributes=1, max_events=1, max_links=1, max_event_attributes=1, max_link_attributes=1)
    span, official = finished(build, span_limits=limits)
    assert json.loads(LineEncoder().line(span, {})) == json.loads(official)
    assert b'"droppedEventsCount":1' in official


def test_what_strict_readers_refuse_is_mended() -> None:
    def build(tracer: Any) -> None:
        span = tracer.start_span(
            "bad \ud800 name", attributes={"big": 2**70, "small": -(2**63), "bad\udfff": "x\ud800"}
        )
        span.set_attribute("deep", {"k\ud800": ["\ud800", 2**64]})
        span.end()

    span, _ = finished(build)
    record = parse_line(LineEncoder().line(span, {}).rstrip(b"\n"))[0]
    assert record.name == "bad \ufffd name"
    assert record.attributes["big"] == str(2**70)
    assert record.attributes["small"] == -(2**63)
    assert record.attributes["bad\ufffd"] == "x\ufffd"
    assert record.attributes["deep"] == {"k\ufffd": ("\ufffd", str(2**64))}


def test_stamps_replace_what_the_sdk_cut_or_dropped() -> None:
    def build(tracer: Any) -> None:
        tracer.start_span("s", attributes={"cut": "abc", "kept": 1}).end()

    span, _ = finished(build)
    record = parse_line(LineEncoder().line(span, {"cut": "abcdef", "gone": 7, "kept": 1}).rstrip(b"\n"))[0]
    assert record.attributes == {"cut": "abcdef", "kept": 1, "gone": 7}


def test_secrets_in_the_spans_of_others_are_masked() -> None:
    def build(tracer: Any) -> None:
        span = tracer.start_span("s", attributes={"http.header": ["Bearer abcdefghijklmnop"], "n": 1})
        span.record_exception(ValueError("key sk-abcdefghijklmnopqrst is wrong"))
        span.end()

    span, official = finished(build)
    line = LineEncoder().line(span, {})
    assert b"Bearer abc" in official
    assert b"Bearer abc" not in line
    assert b"sk-abc" not in line
    assert b"[redacted:bearer:23]" in line
    assert b"[redacted:api-key:23]" in line


def test_times_of_any_number_are_whole_nanoseconds() -> None:
    def build(tracer: Any) -> None:
        tracer.start_span("s", start_time=1.5e18).end(1.6e18)

    record = parse_line(LineEncoder().line(finished(build)[0], {}).rstrip(b"\n"))[0]
    assert (record.start, record.end) == (1_500_000_000_000_000_000, 1_600_000_000_000_000_000)


def test_lines_join_to_one_request() -> None:
    def build(tracer: Any) -> None:
        tracer.start_span("s").end()

    encoder = LineEncoder()
    spans = [finished(build)[0] for _ in range(3)]
    body = orjson.loads(batch([encoder.line(span, {}) for span in spans]))
    assert len(body["resourceSpans"]) == 3
    assert all(len(group["scopeSpans"][0]["spans"]) == 1 for group in body["resourceSpans"])
