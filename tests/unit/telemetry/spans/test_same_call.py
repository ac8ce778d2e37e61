"""Our chat span names another instrumentation's span of the same call, and no other span."""

from __future__ import annotations

from collections.abc import Callable, Generator

import pytest
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import Span, Tracer

from spanseal.genai import semconv as sc
from spanseal.telemetry.spans.same_call import outer_call
from spanseal.testing import capture_spans

CHAT = {sc.OPERATION_NAME: sc.OP_CHAT}


@pytest.fixture
def tracer_of() -> Generator[Callable[[str], Tracer]]:
    """Gives tracers of a provider with our processor."""
    with capture_spans() as captured:
        yield captured.provider.get_tracer


@pytest.fixture
def work(tracer_of: Callable[[str], Tracer]) -> Span:
    """A span of the application."""
    return tracer_of("application").start_span("work")


Theirs = Callable[..., Span]


@pytest.fixture
def theirs(tracer_of: Callable[[str], Tracer]) -> Theirs:
    """Starts a span as another instrumentation does."""

    def start(words: dict[str, str] = CHAT, scope: str = "other") -> Span:
        return tracer_of(scope).start_span("theirs", attributes=words)

    return start


def id_of(span: Span) -> str:
    return f"{span.get_span_context().span_id:016x}"


@pytest.mark.parametrize("words", [CHAT, {"openinference.span.kind": "LLM"}, {"llm.request.type": "chat"}])
def test_the_current_span_is_named(theirs: Theirs, words: dict[str, str]) -> None:
    span = theirs(words)
    with trace.use_span(span, end_on_exit=True):
        assert outer_call() == id_of(span)
    assert outer_call() == ""


def test_a_span_that_was_started_here_without_being_current_is_named_until_it_ends(theirs: Theirs, work: Span) -> None:
    with trace.use_span(work, end_on_exit=True):
        span = theirs()
        assert outer_call() == id_of(span)
        span.end()
        assert outer_call() == ""


def test_a_span_started_under_another_parent_is_not(theirs: Theirs, work: Span) -> None:
    span = theirs()
    with trace.use_span(work, end_on_exit=True):
        assert outer_call() == ""
    assert outer_call() == id_of(span)
    span.end()


@pytest.mark.parametrize("operation", ["", sc.OP_EXECUTE_TOOL, sc.OP_INVOKE_AGENT])
def test_spans_of_tools_agents_and_work_are_not(theirs: Theirs, operation: str) -> None:
    with trace.use_span(theirs({sc.OPERATION_NAME: operation}), end_on_exit=True):
        assert outer_call() == ""


def test_our_own_span_is_not(theirs: Theirs) -> None:
    with trace.use_span(theirs(scope=sc.SCOPE_NAME), end_on_exit=True):
        assert outer_call() == ""


def test_a_span_of_a_parent_process_or_none_is_not() -> None:
    far = trace.NonRecordingSpan(trace.SpanContext(1, 2, is_remote=True))
    token = otel_context.attach(trace.set_span_in_context(far))
    assert outer_call() == ""
    otel_context.detach(token)
    assert outer_call() == ""
