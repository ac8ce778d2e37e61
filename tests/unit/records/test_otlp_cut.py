"""The cutter: byte-exact for every spelling, and never anything but a cut or an OtlpError."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.records.otlp_json import documents, spell

from spanseal.errors import OtlpError
from spanseal.genai import semconv
from spanseal.records.otlp import CutLine, CutSpan, cut_line, parse_line, parse_span
from spanseal.records.otlp.cut import PLACEHOLDERS, cut_general
from spanseal.records.otlp.cut_canonical import cut_canonical

TRACE, SPAN = "0102030405060708090a0b0c0d0e0f10", "0102030405060708"


def line_of(*spans: dict[str, Any], **scope: Any) -> bytes:
    return orjson.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans), **scope}]}]})


def span_of(**fields: Any) -> dict[str, Any]:
    return {"traceId": TRACE, "spanId": SPAN, **fields}


def attribute(key: str, text: str) -> dict[str, Any]:
    return {"key": key, "value": {"stringValue": text}}


RICH = line_of(
    span_of(
        parentSpanId="0102030405060709", name="chat", kind=3, startTimeUnixNano="1", endTimeUnixNano="2", flags=257,
        attributes=[
            attribute("gen_ai.operation.name", "chat"), attribute("spanseal.run.id", "run-1"),
            attribute("gen_ai.input.messages", '[{"role":"user","parts":["\\"quoted\\" \\\\ \u20ac"]}]'),
            {"key": "n", "value": {"intValue": "7"}}, {"key": "d", "value": {"doubleValue": 0.5}},
            {"key": "l", "value": {"arrayValue": {"values": [{"boolValue": True}]}}},
        ],
        events=[{"timeUnixNano": "1", "name": "e", "attributes": [attribute("exception.message", "boom")]}],
        links=[{"traceId": TRACE, "spanId": SPAN, "traceState": "a=b"}],
        status={"code": 2, "message": "it failed"}, later={"field": [1]},
    ),
    span_of(name="second"),
    scope={"name": "s", "version": "1"},
)  # fmt: skip


def whole_line(cut: CutLine) -> bytes:
    assert len(cut.glue) == len(cut.spans) + 1
    return cut.glue[0] + b"".join(s.raw + g for s, g in zip(cut.spans, cut.glue[1:], strict=True))


def whole_span(span: CutSpan) -> bytes:
    assert len(span.skeleton) == len(span.private) + 1
    return span.skeleton[0] + b"".join(p.raw + s for p, s in zip(span.private, span.skeleton[1:], strict=True))


def withheld(span: CutSpan) -> bytes:
    slots = (PLACEHOLDERS[p.kind] + s for p, s in zip(span.private, span.skeleton[1:], strict=True))
    return span.skeleton[0] + b"".join(slots)


@given(documents(), st.randoms(use_true_random=False))
def test_any_spelling_of_any_document_is_cut_byte_for_byte_and_reads_the_same(
    document: dict[str, Any], rng: random.Random
) -> None:
    line = spell(document, rng)
    cut = cut_line(line)
    assert whole_line(cut) == line
    records = parse_line(line)
    assert [(s.trace_id, s.span_id, s.raw) for s in cut.spans] == [(r.trace_id, r.span_id, r.raw) for r in records]
    expected = [
        (span, scope, group)
        for group in document["resourceSpans"]
        for scope in group.get("scopeSpans", [])
        for span in scope.get("spans", [])
    ]
    for span, (value, scope, group) in zip(cut.spans, expected, strict=True):
        assert whole_span(span) == span.raw
        assert orjson.loads(span.raw) == value
        assert orjson.loads(span.scope or b"null") == scope.get("scope")
        assert orjson.loads(span.resource or b"null") == group.get("resource")
        assert orjson.loads(span.scope_schema_url or b"null") == scope.get("schemaUrl")
        assert orjson.loads(span.resource_schema_url or b"null") == group.get("schemaUrl")
        check_privacy(span, value)


@given(documents())
def test_the_quick_way_and_the_general_way_cut_alike(document: dict[str, Any]) -> None:
    line = orjson.dumps(document)
    assert cut_canonical(line, semconv.CLEAR_KEYS, semconv.RUN_ID) is not None
    assert cut_line(line) == cut_general(line)


@pytest.mark.parametrize("place", ["span", "status", "event", "value", "event value", "scope"])
def test_both_ways_refuse_the_same_depth(place: str) -> None:
    pair = {"key": "k", "value": {"unknown": "DEEP"}}
    span = span_of(**{
        "span": {"x": "DEEP"}, "status": {"status": {"x": "DEEP"}}, "event": {"events": [{"x": "DEEP"}]},
        "value": {"attributes": [pair]}, "event value": {"events": [{"attributes": [pair]}]}, "scope": {},
    }[place])  # fmt: skip
    template = line_of(span, **({"x": "DEEP"} if place == "scope" else {}))
    accepted: list[bool] = []
    for depth in range(235, 257):
        line = template.replace(b'"DEEP"', b"[" * depth + b"]" * depth)
        outcomes = {accepts(read, line) for read in (cut_line, cut_general, parse_line)}
        assert len(outcomes) == 1, depth
        accepted += outcomes
        if accepted[-1]:
            assert parse_span(cut_line(line).spans[0].raw).span_id == SPAN
    assert accepted == sorted(accepted, reverse=True)
    assert {*accepted} == {True, False}


def accepts(read: Callable[[bytes], object], line: bytes) -> bool:
    try:
        read(line)
    except OtlpError:
        return False
    return True


def check_privacy(span: CutSpan, value: dict[str, Any]) -> None:
    """What is left without the private slices still parses, has the clear values, and no others."""
    left = orjson.loads(withheld(span))
    for name in ("name", "kind", "startTimeUnixNano", "parentSpanId", "flags"):
        assert left.get(name) == value.get(name)
    assert left.get("w", {}) == {}
    assert left.get("traceState", "") == ""
    assert left.get("status", {}).get("message", "") == ""
    owners = [(left, value), *zip(left.get("events", []), value.get("events", []), strict=True)]
    owners += zip(left.get("links", []), value.get("links", []), strict=True)
    for mine, full in owners:
        for kept, pair in zip(mine.get("attributes", []), full.get("attributes", []), strict=True):
            assert kept["key"] == pair["key"]
            assert kept.get("note", {}) == {}
            if "value" in pair:
                assert kept["value"] == (pair["value"] if pair["key"] in semconv.CLEAR_KEYS else {})
    assert parse_span(withheld(span)).span_id == span.span_id


@pytest.mark.parametrize("line", [RICH, b" " + RICH], ids=["canonical", "any spelling"])
def test_what_is_private_and_what_is_not(line: bytes) -> None:
    first, second = cut_line(line).spans
    assert [(p.path, p.kind) for p in first.private] == [
        ("attributes.gen_ai.input.messages", "any"), ("attributes.n", "any"), ("attributes.d", "any"),
        ("attributes.l", "any"), ("events.0.attributes.exception.message", "any"), ("links.0.traceState", "string"),
        ("status.message", "string"), ("later", "any"),
    ]  # fmt: skip
    assert first.private[1].raw == b'{"intValue":"7"}'
    assert (first.run_id, second.run_id) == ("run-1", "")
    assert second.private == ()
    assert first.scope == b'{"name":"s","version":"1"}'
    assert first.resource == b""


def test_the_clear_keys_are_the_callers_choice() -> None:
    span = cut_line(line_of(span_of(attributes=[attribute("mine", "x"), attribute("gen_ai.operation.name", "y")])),
                    frozenset({"mine"})).spans[0]  # fmt: skip
    assert [p.path for p in span.private] == ["attributes.gen_ai.operation.name"]
    assert span.run_id == ""


def test_a_key_spelled_with_escapes_is_the_key_it_spells() -> None:
    line = line_of(span_of(attributes=[attribute("spanseal.run.id", "r")])).replace(
        b"spanseal.run", b"spansea\\u006c.run"
    )
    span = cut_line(line).spans[0]
    assert (span.run_id, span.private) == ("r", ())


def test_a_key_spelled_with_quotes_in_it_is_whole_in_any_spelling() -> None:
    line = line_of(span_of(attributes=[attribute('a"b\\', "x"), attribute("c", "y")]))
    for spelled in (line, b" " + line, line.replace(b"{", b"{ ")):
        assert [p.path for p in cut_line(spelled).spans[0].private] == ['attributes.a"b\\', "attributes.c"]


@pytest.mark.parametrize("change", ["truncated", "nul", "random"])
def test_a_damaged_byte_anywhere_gives_a_correct_cut_or_an_otlp_error(change: str) -> None:
    rng = random.Random(change)
    refused = accepted = 0
    for at in range(len(RICH)):
        match change:
            case "truncated":
                line = RICH[:at]
            case "nul":
                line = RICH[:at] + b"\0" + RICH[at + 1 :]
            case _:
                line = RICH[:at] + rng.randbytes(1) + RICH[at + 1 :]
        try:
            cut = cut_line(line)
        except OtlpError as error:
            refused += 0 <= error.offset <= len(line)
            with pytest.raises(OtlpError):
                parse_line(line)
            continue
        accepted += 1
        assert whole_line(cut) == line
        assert all(whole_span(span) == span.raw for span in cut.spans)
        assert len(parse_line(line)) == len(cut.spans)
    assert refused + accepted == len(RICH)
    assert refused > len(RICH) // 3
    assert change == "random" or refused == len(RICH)


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_no_otlp(data: bytes) -> None:
    with pytest.raises(OtlpError):
        cut_line(data)


@pytest.mark.parametrize(
    "line",
    [
        b'{"resourceSpans":[]}',
        b'{"resourceSpans":[{}]}',
        b'{"resourceSpans":[{"resource":{},"scopeSpans":[]},{"scopeSpans":[{"spans":[]},{}]}]}',
    ],
)
def test_documents_without_spans_are_all_glue(line: bytes) -> None:
    assert cut_line(line) == CutLine((line,), ())
