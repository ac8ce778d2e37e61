"""The judge itself: what it would have to find is found."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry.trace import SpanKind
from tests.unit.conformance.judge import judge

from spanseal.telemetry.spans.failure import fail
from spanseal.telemetry.spans.tracer import tracer
from spanseal.testing import capture_spans

GOOD: dict[str, Any] = {
    "gen_ai.operation.name": "chat", "gen_ai.provider.name": "ollama", "gen_ai.request.model": "m",
    "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]',
}
HOLDS = frozenset({"gen_ai.request.model"})
USUAL = {("inference", "content is JSON text, though structure is possible")}


def found(attributes: dict[str, Any], *, name: str = "chat m", kind: SpanKind = SpanKind.CLIENT) -> set[str]:
    with capture_spans() as captured:
        tracer().start_span(name, kind=kind, attributes=attributes).end()
    return {what for _, what in judge(captured.spans[0], HOLDS, content=True) - USUAL}


def test_a_good_span_has_no_finding() -> None:
    assert found(GOOD) == set()


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        ({"gen_ai.system": "x"}, "gen_ai.system: unknown to the conventions"),
        ({"gen_ai.tool.name": "x"}, "gen_ai.tool.name: not of this type"),
        ({"shop": "x"}, "shop: neither a name of the conventions nor ours"),
        ({"gen_ai.usage.input_tokens": 1.5}, "gen_ai.usage.input_tokens: float, not int"),
        ({"gen_ai.request.temperature": 1}, "gen_ai.request.temperature: int, not float"),
        ({"gen_ai.response.finish_reasons": "stop"}, "gen_ai.response.finish_reasons: no array of strings"),
        ({"gen_ai.output.type": "xml"}, "gen_ai.output.type: 'xml' is no word of the conventions"),
        ({"gen_ai.request.seed": 1}, "gen_ai.request.seed: its condition does not hold, there"),
        ({"gen_ai.input.messages": "[}"}, "gen_ai.input.messages: no JSON"),
        ({"gen_ai.input.messages": '[{"role": "user"}]'}, "gen_ai.input.messages: not the shape of its schema"),
        (
            {"gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "text": "x"}]}]'},
            "gen_ai.input.messages: not the shape of its schema",
        ),
        ({"gen_ai.tool.definitions": '[{"type": "function"}]'}, "gen_ai.tool.definitions: not the shape of its schema"),
    ],
)
def test_what_is_wrong_is_found(change: dict[str, Any], finding: str) -> None:
    assert finding in found(GOOD | change)


def test_what_is_missing_is_found() -> None:
    without = {key: value for key, value in GOOD.items() if key not in ("gen_ai.provider.name", "gen_ai.request.model")}
    assert found(without, name="chat") == {
        "gen_ai.provider.name: required, missing", "gen_ai.request.model: its condition holds, missing",
    }


def test_name_kind_and_error_are_judged() -> None:
    assert found(GOOD, name="llm") == {"name is not operation and gen_ai.request.model"}
    assert found(GOOD, kind=SpanKind.INTERNAL) == {"kind INTERNAL"}
    with capture_spans() as captured:
        span = tracer().start_span("chat m", kind=SpanKind.CLIENT, attributes=GOOD)
        fail(span, "429")
        span.end()
    assert judge(captured.spans[0], HOLDS, content=True) == USUAL
    assert ("inference", "gen_ai.input.messages: nobody asked for content, there") in judge(
        captured.spans[0], HOLDS, content=False
    )
