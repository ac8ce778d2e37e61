"""Spans as values."""

from __future__ import annotations

import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.records.otlp_json import any_values, attributes, spell
from tests.unit.records.test_otlp_cut import RICH, SPAN, TRACE

from spanseal.errors import OtlpError
from spanseal.records.otlp import EventRecord, LinkRecord, Value, parse_line, parse_span
from spanseal.records.otlp.attributes import attributes as read_attributes


def test_every_field_of_a_span() -> None:
    first, second = parse_line(RICH)
    assert (first.trace_id, first.span_id, first.parent_span_id) == (TRACE, SPAN, "0102030405060709")
    assert (first.name, first.kind, first.start, first.end, first.flags) == ("chat", 3, 1, 2, 257)
    assert first.attributes["gen_ai.operation.name"] == "chat"
    assert (first.attributes["n"], first.attributes["d"], first.attributes["l"]) == (7, 0.5, (True,))
    assert first.events == (EventRecord("e", 1, {"exception.message": "boom"}),)
    assert first.links == (LinkRecord(TRACE, SPAN, {}),)
    assert (first.status_code, first.status_message) == (2, "it failed")
    assert (first.scope_name, first.scope_version) == ("s", "1")
    assert (second.parent_span_id, second.kind, second.start, second.attributes) == ("", 0, 0, {})


def test_a_span_by_itself_with_its_resource_and_scope() -> None:
    raw = parse_line(RICH)[0].raw
    resource = b'{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]}'
    record = parse_span(raw, resource, b'{"name":"lib","version":"2"}')
    assert record.raw == raw
    assert record.resource == {"service.name": "shop"}
    assert (record.scope_name, record.scope_version) == ("lib", "2")


@pytest.mark.parametrize("raw", [b"", b"[]", b"{}", b'{"resourceSpans":[]}'])
def test_what_is_no_span_is_refused(raw: bytes) -> None:
    with pytest.raises(OtlpError):
        parse_span(raw)


def test_a_span_that_nests_too_deeply_is_refused() -> None:
    raw = f'{{"traceId":"{TRACE}","spanId":"{SPAN}","x":{"[" * 254 + "]" * 254}}}'
    with pytest.raises(OtlpError, match="nested deeper"):
        parse_span(raw.encode())


def test_dropped_counts_are_summed() -> None:
    raw = f'{{"traceId":"{TRACE}","spanId":"{SPAN}","droppedAttributesCount":1,"droppedEventsCount":"2"}}'
    assert parse_span(raw.encode()).dropped == 3


@given(attributes(any_values()), st.randoms(use_true_random=False))
def test_values_read_as_what_they_say(pairs: list[dict[str, Any]], rng: random.Random) -> None:
    raw = spell({"traceId": TRACE, "spanId": SPAN, "attributes": pairs}, rng)
    assert same(parse_span(raw).attributes, {pair["key"]: plain(pair.get("value", {})) for pair in pairs})


def plain(value: dict[str, Any]) -> Value:
    """An independent reading of an AnyValue."""
    match value:
        case {"stringValue": str(text)}:
            return text
        case {"boolValue": flag}:
            return flag
        case {"intValue": number}:
            return int(number)
        case {"doubleValue": number}:
            return float(number)
        case {"bytesValue": text}:
            return {"": b"", "AA==": b"\0", "/+8=": b"\xff\xef"}[text]
        case {"arrayValue": {"values": items}}:
            return tuple(plain(item) for item in items)
        case {"kvlistValue": {"values": pairs}}:
            return {pair["key"]: plain(pair.get("value", {})) for pair in pairs}
        case _:
            return None


def same(left: Any, right: Any) -> bool:
    """Equality of values in which NaN equals NaN and True is not 1."""
    if isinstance(left, tuple) and isinstance(right, tuple):
        return len(left) == len(right) and all(map(same, left, right))  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)  # pyright: ignore[reportUnknownVariableType]
    if isinstance(left, float) and math.isnan(left):
        return isinstance(right, float) and math.isnan(right)
    return type(left) is type(right) and left == right  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def test_a_kind_of_value_from_the_future_reads_as_none() -> None:
    assert read_attributes([{"key": "k", "value": {"decimalValue": "1.10"}}]) == {"k": None}


def test_nesting_as_deep_as_json_may_go_is_read_without_recursion_trouble() -> None:
    inner = '{"stringValue":"x"}'
    for _ in range(80):
        inner = f'{{"arrayValue":{{"values":[{inner}]}}}}'
    raw = f'{{"traceId":"{TRACE}","spanId":"{SPAN}","attributes":[{{"key":"k","value":{inner}}}]}}'
    assert isinstance(parse_span(raw.encode()).attributes["k"], tuple)
