"""The run in W3C ``tracestate``, so that it crosses processes and hosts beside the trace id. May import ledger.state.

``spanseal=RUN`` or ``spanseal=RUN/PARENT``, ids of 32 hex digits: random, so nothing is told but who belongs together.
Entries of others are never changed, moved out or reordered; where ours does not fit it is left out. Source: W3C Trace
Context, "tracestate Header Field Values": 32 members; a member that changes goes to the front.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import SpanContext
from opentelemetry.trace.span import TraceState

from spanseal.genai import semconv
from spanseal.telemetry.active import active
from spanseal.telemetry.ledger.state import RunContext, run_of

KEY: Final = "spanseal"
_MOST_MEMBERS: Final = 32
_MOST_CHARACTERS: Final = 512  # what everybody on the way should pass on, W3C "tracestate Limits"
_VALUE: Final = re.compile(r"([0-9a-f]{32})(?:/([0-9a-f]{32}))?")


def run_in(where: SpanContext) -> RunContext | None:
    """The run that a span's ``tracestate`` names; None where it names none, or what it says is not ours.

    >>> state = TraceState([("spanseal", "a" * 32), ("theirs", "x")])
    >>> run_in(SpanContext(1, 2, is_remote=True, trace_state=state)).run_id == "a" * 32
    True
    """
    told = where.trace_state.get(KEY)
    found = None if told is None else _VALUE.fullmatch(told)
    return None if found is None else RunContext(found[1], "", found[2] or "")


def with_run_in(others: TraceState | None, run: RunContext) -> TraceState:
    """``others`` with this run in front; as it was if there is no room, or a run's id is not of our form."""
    state = TraceState() if others is None else others
    value = f"{run.run_id}/{run.parent_run_id}" if run.parent_run_id else run.run_id
    if state.get(KEY) == value or not _VALUE.fullmatch(value):
        return state
    rest = [f"{key}={told}" for key, told in state.items() if key != KEY]
    if len(rest) >= _MOST_MEMBERS or len(",".join((f"{KEY}={value}", *rest))) > _MOST_CHARACTERS:
        return state if KEY not in state else state.delete(KEY)
    return state.update(KEY, value)


def trace_state_of(others: TraceState | None, attributes: Mapping[str, Any] | None, context: Context) -> TraceState:
    """What a span that starts in ``context`` tells further: its own run if it opens one, else the one around it.

    A foreign agent's run gets its id here, since the ledger, which numbers the span, comes too late to tell it.
    """
    where = trace.get_current_span(context).get_span_context()
    opens = bool(attributes) and attributes.get(semconv.OPERATION_NAME) == semconv.OP_INVOKE_AGENT
    if not opens and others is not None and others is where.trace_state and KEY in others and not where.is_remote:
        return others  # nearly every span: its parent has told it
    bound = run_of(context)
    around = run_in(where)
    run = around if around is not None or bound is None else bound.context
    if opens:
        if bound is not None and bound.pending:
            run = bound.context
        else:
            parent = "" if run is None else run.run_id
            run = RunContext(active().effects.ids.run_id(), "", parent)
    if run is None:
        return TraceState() if others is None else others
    return with_run_in(others, run)


def current(context: Context | None) -> Context:
    """The context that a span starts in."""
    return otel_context.get_current() if context is None else context
