"""What is no strict OTLP trace document is refused, by name and place, by the cutter and the reader alike."""

from __future__ import annotations

import pytest
from tests.unit.records.test_otlp_cut import SPAN, TRACE, attribute, line_of, span_of

from spanseal.errors import OtlpError
from spanseal.records.otlp import cut_line, parse_line


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"resourceSpans":[],"resourceSpans":[]}', "twice"),
        (b'{"resourceSpans":[],"resource\\u0053pans":[]}', "twice"),
        (line_of(span_of()).replace(b'"spanId"', b'"traceId":"x","spanId"'), "twice"),
        (line_of(span_of(x={"deep": [{"a": 1}]})).replace(b'"a":1', b'"a":1,"a":1'), "twice"),
        (line_of(span_of(attributes=[attribute("a", "1"), attribute("a", "2")])), "twice"),
        (line_of(span_of(name="N")).replace(b'"N"', b'"\\ud800"'), "not strict JSON"),
        (line_of(span_of(name="N")).replace(b'"N"', b'"\xed\xa0\x80"'), "not strict JSON"),
        (line_of(span_of(name="N")).replace(b'"N"', b'"\xff"'), "not strict JSON"),
        (line_of(span_of(x=5)).replace(b"5", b"NaN"), "not strict JSON"),
        (line_of(span_of(x=5)).replace(b"5", b"-Infinity"), "not strict JSON"),
        (line_of(span_of(x=5)).replace(b"5", b"1e999"), "not strict JSON"),
        (b"\xef\xbb\xbf" + line_of(), "not strict JSON"),
        (line_of() + line_of(), "not strict JSON"),
        (line_of() + b"\0", "not strict JSON"),
        (b"", "not strict JSON"),
        (b"[" * 100_000, "not strict JSON"),
        (b'{"resourceSpans":[' + b"[" * 500 + b"]" * 500 + b"]}", "nested deeper"),
        (b"[]", "the line is an array"),
        (b"{}", "no resourceSpans"),
        (b'{"resourceLogs":[]}', "not traces: the line has resourceLogs"),
        (b'{"resourceMetrics":[]}', "resourceMetrics"),
        (b'{"resourceSpans":{}}', "resourceSpans is an object, not an array"),
        (b'{"resourceSpans":null}', "resourceSpans is null"),
        (b'{"resourceSpans":[1]}', "an entry of resourceSpans is a number"),
        (b'{"resourceSpans":[{"resource":[]}]}', "resource is an array"),
        (line_of(span_of(traceId=TRACE.upper())), "traceId"),
        (line_of(span_of(traceId="0" * 32)), "traceId"),
        (line_of(span_of(traceId=TRACE + "\n")), "traceId"),
        (line_of(span_of(traceId=5)), "traceId"),
        (line_of({"spanId": SPAN}), "traceId"),
        (line_of(span_of(spanId="AAAAAAAAAAA=")), "spanId"),
        (line_of(span_of(spanId="")), "spanId"),
        (line_of(span_of(parentSpanId="xyz")), "parentSpanId"),
        (line_of(span_of(name=None)), "name is null"),
        (line_of(span_of(kind="SPAN_KIND_CLIENT")), "kind"),
        (line_of(span_of(startTimeUnixNano=1.5)), "startTimeUnixNano"),
        (line_of(span_of(startTimeUnixNano="-1")), "out of range"),
        (line_of(span_of(startTimeUnixNano="01")), "startTimeUnixNano"),
        (line_of(span_of(endTimeUnixNano=str(1 << 64))), "out of range"),
        (line_of(span_of(endTimeUnixNano=True)), "endTimeUnixNano"),
        (line_of(span_of(status=[])), "status"),
        (line_of(span_of(status={"code": 3})), "code"),
        (line_of(span_of(attributes={})), "attributes"),
        (line_of(span_of(attributes=[{"value": {}}])), "no key"),
        (line_of(span_of(attributes=["k"])), "an attribute is a string"),
        (line_of(span_of(attributes=[{"key": "k", "value": {"bytesValue": 1}}])), "bytesValue is a number"),
        (line_of(span_of(attributes=[{"key": "k", "value": "bare"}])), "value is a string"),
        (line_of(span_of(attributes=[{"key": "k", "value": {"stringValue": 1}}])), "stringValue is a number"),
        (line_of(span_of(attributes=[{"key": "k", "value": {"boolValue": "true"}}])), "boolValue"),
        (line_of(span_of(attributes=[{"key": "k", "value": {"intValue": "1.0"}}])), "intValue"),
        (line_of(span_of(attributes=[{"key": "k", "value": {"intValue": str(1 << 63)}}])), "out of range"),
        (line_of(span_of(attributes=[{"key": "k", "value": {"doubleValue": "1"}}])), "doubleValue"),
        (line_of(span_of(attributes=[{"key": "k", "value": {"bytesValue": "!"}}])), "base64"),
        (line_of(span_of(attributes=[{"key": "k", "value": {"intValue": "1", "boolValue": True}}])), "two kinds"),
        (line_of(span_of(links=[{"traceId": TRACE}])), "spanId"),
        (line_of(span_of(events=[5])), "an event is a number"),
    ],
)  # fmt: skip
def test_what_is_refused_is_refused_by_name(line: bytes, why: str) -> None:
    for read in (cut_line, parse_line):
        with pytest.raises(OtlpError, match=why):
            read(line)


def test_the_offset_of_an_error_counts_bytes_not_characters() -> None:
    with pytest.raises(OtlpError) as caught:
        cut_line('{"a":"\u20ac\u20ac", x}'.encode())
    assert caught.value.offset == 15
