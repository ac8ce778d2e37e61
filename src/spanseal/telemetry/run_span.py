"""Opens a run: one ``invoke_agent`` span that ends with the outcome and the signed manifest (DESIGN 5 and 10.1-2).

May import active, content, spans, signals, open_calls and ``ledger.state``.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import Token
from typing import Any, Final, NamedTuple

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span

from spanseal.errors import text_of
from spanseal.genai import semconv
from spanseal.genai.messages import ChatRequest, Usage
from spanseal.genai.semconv_request import agent_request_attributes, agent_tool_definitions
from spanseal.genai.semconv_usage import usage_attributes
from spanseal.telemetry.active import Active, active
from spanseal.telemetry.capture.streams.open_calls import drain
from spanseal.telemetry.content.attributes import set_content
from spanseal.telemetry.guard import guarded
from spanseal.telemetry.ledger.state import RunContext, RunState, run_of, with_run
from spanseal.telemetry.signals.signals import ended_unseen
from spanseal.telemetry.spans.failure import fail
from spanseal.telemetry.spans.tracer import tracer

_WORD: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_BAD: Final = frozenset({"failed", "halted"})


class RunSpan:
    """A run that goes on. ``run_id`` is 32 hex digits; ``trace_id`` likewise, empty when nothing records.

    >>> with run_span("calculator") as run:
    ...     run.finish("halted", "budget")
    >>> run.outcome
    'halted'
    """

    def __init__(self, run_id: str, span: Span) -> None:
        self.run_id = run_id
        self.trace_id = _trace_id(span) or ""
        self.outcome = ""
        self._span = span

    def finish(
        self,
        outcome: str,
        stop_reason: str,
        output_messages: Any = None,
        usage: Usage | None = None,
        estimate: Usage | None = None,
        error_type: str = "",
        message: str = "",
        model: str = "",
        finish_reasons: Sequence[str] = (),
    ) -> None:
        """State how the run ended; the span itself ends when the ``with`` block does. Never raises.

        ``outcome`` is completed, halted, escalated or failed; halted and failed make the span's status ERROR.
        ``output_messages`` is semconv JSON (capture full only), ``message`` a text for the status, likewise.
        ``usage`` is what providers counted; what was only estimated goes into ``estimate``, marked ``estimated``.
        ``model`` is the one that every call asked, empty if they asked several; ``finish_reasons`` the last answer's.
        """
        self.outcome = outcome
        try:
            self._span.set_attribute(semconv.RUN_OUTCOME, outcome)
            if _WORD.fullmatch(stop_reason):
                self._span.set_attribute(semconv.RUN_STOP_REASON, stop_reason)
            elif stop_reason:  # a sentence may quote content
                set_content(self._span, semconv.RUN_STOP_REASON, stop_reason)
            if model:
                self._span.set_attribute(semconv.REQUEST_MODEL, model)
            if finish_reasons:
                self._span.set_attribute(semconv.RESPONSE_FINISH_REASONS, tuple(finish_reasons))
            if output_messages is not None:
                set_content(self._span, semconv.OUTPUT_MESSAGES, output_messages)
            counts = [usage_attributes(used) for used in (usage, estimate) if used is not None]
            for key, count in (item for each in counts for item in each.items()):
                if count is not None:
                    self._span.set_attribute(key, count)
        except Exception:  # noqa: BLE001 - telemetry raises nothing into the application (DESIGN 10.4)
            return
        if outcome in _BAD or error_type:
            fail(self._span, error_type or outcome, message)


@contextmanager
def run_span(
    agent_name: str,
    *,
    description: str = "",
    conversation_id: str = "",
    input_messages: Any = None,
    instructions: Any = None,
    request: ChatRequest | None = None,
) -> Generator[RunSpan]:
    """Open a run of the agent ``agent_name``; every span that starts inside belongs to it.

    ``input_messages`` and ``instructions`` are semconv JSON (or text that is already JSON). ``request`` carries the
    options and tools that hold for every call of the run. ``conversation_id`` is told on the run's model calls and
    tool calls too. A run inside a run is its own run, names its parent and, unless it is given one, has its
    conversation. An exception through the block makes the outcome *failed* and passes unchanged; leaving the block
    without :meth:`RunSpan.finish` makes it *completed*.

    >>> with run_span("calculator") as run:
    ...     run.finish("completed", "answered")
    >>> len(run.run_id)
    32
    """
    begun = _begun(agent_name, conversation_id, description)
    span = trace.INVALID_SPAN if begun is None else begun.span
    run = RunSpan(secrets.token_hex(16) if begun is None else begun.state.context.run_id, span)
    _tell_content(span, instructions, input_messages, request)
    token = None if begun is None else _entered(begun)
    try:
        yield run
    except BaseException as error:
        run.finish("failed", "exception", error_type=type(error).__qualname__, message=text_of(error))
        raise
    finally:
        if token is not None:
            otel_context.detach(token)
        if not run.outcome:
            run.finish("completed", "")
        if begun is not None:
            _end(begun.current, span, run.run_id)


class _Begun(NamedTuple):
    """A run whose span has started."""

    current: Active
    state: RunState
    span: Span


@guarded
def _begun(agent_name: str, conversation_id: str, description: str) -> _Begun:
    current = active()
    outer = run_of(otel_context.get_current())
    conversation = conversation_id or (outer.context.conversation_id if outer else "")
    parent = outer.context.run_id if outer else ""
    state = RunState(RunContext(current.effects.ids.run_id(), agent_name, parent, conversation), pending=True)
    return _Begun(current, state, _start(current, state, description))


@guarded
def _entered(begun: _Begun) -> Token[Context]:
    return otel_context.attach(trace.set_span_in_context(begun.span, with_run(begun.state)))


@guarded
def _tell_content(span: Span, instructions: Any, input_messages: Any, request: ChatRequest | None) -> None:
    for key, content in ((semconv.SYSTEM_INSTRUCTIONS, instructions), (semconv.INPUT_MESSAGES, input_messages)):
        if content:
            set_content(span, key, content)
    if request is not None:
        _tell_request(active(), span, request)


@guarded
def _tell_request(current: Active, span: Span, request: ChatRequest) -> None:
    for key, value in agent_request_attributes(request).items():
        if key != semconv.REQUEST_STOP_SEQUENCES or current.capture == "full":  # somebody wrote them: content
            span.set_attribute(key, value)
    if request.tools:
        set_content(span, semconv.TOOL_DEFINITIONS, agent_tool_definitions(request.tools))


@guarded
def _trace_id(span: Span) -> str:
    where = span.get_span_context()
    return trace.format_trace_id(where.trace_id) if where.is_valid else ""


def _start(current: Active, state: RunState, description: str) -> Span:
    context = state.context
    attributes = {
        semconv.OPERATION_NAME: semconv.OP_INVOKE_AGENT,
        semconv.AGENT_NAME: context.agent_name,
        semconv.CAPTURE_MODE: current.capture,
    }
    if description:
        attributes[semconv.AGENT_DESCRIPTION] = description
    if context.conversation_id:
        attributes[semconv.CONVERSATION_ID] = context.conversation_id
    try:
        return tracer().start_span(
            f"{semconv.OP_INVOKE_AGENT} {context.agent_name}".strip(),
            with_run(state),
            attributes=attributes,
            start_time=current.effects.clock.time_ns(),
        )
    except Exception:  # noqa: BLE001 - a broken provider must not stop the agent
        return trace.INVALID_SPAN


def _end(current: Active, span: Span, run_id: str) -> None:
    now: int | None = None
    try:
        drain()  # streams that the run dropped end before its manifest counts
        now = current.effects.clock.time_ns()
        if current.ledger is not None:
            now = current.ledger.close_root(span, now, run_id)
    except Exception:  # noqa: BLE001, S110 - without a manifest the run is truncated, and the span still ends
        pass
    try:
        span.end(now)
        ended_unseen(span)
    except Exception:  # noqa: BLE001 - some processor's fault; telemetry raises nothing (DESIGN 10.4)
        return
