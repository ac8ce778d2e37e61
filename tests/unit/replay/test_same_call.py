"""Two spans of one model call are one call; two calls stay two."""

from __future__ import annotations

from spanseal.genai import semconv as sc
from spanseal.records.otlp import SpanRecord
from spanseal.replay.same_call import doubles
from spanseal.replay.sources.base import SourceSpan

OTHER = "opentelemetry.instrumentation.genai.openai"


def span(span_id: str, parent: str, scope: str = OTHER, at: tuple[int, int] = (0, 9), **more: str) -> SourceSpan:
    found = {sc.OPERATION_NAME: sc.OP_CHAT} | {key.replace("__", "."): value for key, value in more.items()}
    record = SpanRecord("t", span_id, parent, "", 3, *at, found, (), (), 0, "", {}, scope, "", 0, "", 0, b"")
    return SourceSpan(record, "here")


def ours(span_id: str, parent: str, names: str = "", response: str = "r1", at: tuple[int, int] = (2, 7)) -> SourceSpan:
    more = {sc.LLM_SAME_CALL: names} if names else {}
    return span(span_id, parent, sc.SCOPE_NAME, at, **{sc.RESPONSE_ID: response}, **more)


def ids(*spans: SourceSpan) -> set[str]:
    return {span_id for _, span_id in doubles(spans)}


def test_a_named_span_is_the_same_call_and_so_is_the_one_around_it() -> None:
    assert ids(span("a", ""), span("b", "a"), ours("c", "b", names="b")) == {"a", "b"}


def test_a_span_in_ours_is_the_same_call_in_openinference_words_too() -> None:
    inner = span("d", "c", openinference__span__kind="LLM", gen_ai__operation__name="")
    assert ids(ours("c", ""), inner, span("e", "d")) == {"d", "e"}


def test_a_span_beside_ours_with_its_response_id_is_the_same_call() -> None:
    assert ids(ours("c", "p"), span("b", "p", gen_ai__response__id="r1")) == {"b"}
    assert ids(ours("c", "p"), span("b", "p", gen_ai__response__id="r2")) == set()
    assert ids(ours("c", "p"), span("b", "p")) == set()
    assert ids(ours("c", "p"), span("b", "q", gen_ai__response__id="r1")) == set()
    assert ids(ours("c", "p", at=(10, 12)), span("b", "p", gen_ai__response__id="r1")) == set()


def test_another_call_in_a_span_around_ours_stays_a_call() -> None:
    """A framework's span around two calls, of which only one went through a client of ours."""
    assert ids(span("a", ""), ours("b", "a", names="a"), span("c", "a", gen_ai__response__id="r9")) == {"a"}


def test_without_ours_or_without_theirs_nothing_is_double() -> None:
    assert ids(span("a", ""), span("b", "a")) == set()
    assert ids(ours("a", ""), ours("b", "a")) == set()


def test_a_circle_of_names_ends() -> None:
    assert ids(span("a", "b"), span("b", "a"), ours("c", "b", names="b")) == {"a", "b"}
