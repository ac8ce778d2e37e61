"""Two spans, one model call: which span of another instrumentation tells the call that ours begins to tell.

Another instrumentor of the same client opens its span around ours (the official one and OpenLLMetry: ours is its
child), beside it (OpenLLMetry for Ollama does not make its span current) or inside it (OpenInference). Neither takes
anything from the other; ours names theirs, so that whoever adds up calls or tokens can leave one of the two out.
May import genai names.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, Span

from spanseal.genai import semconv
from spanseal.genai.model_calls import tells_model_call

_latest: Final[ContextVar[Span | None]] = ContextVar("spanseal_foreign_call", default=None)


def saw(span: Span) -> None:
    """A span starts here; kept in mind if it is another instrumentation's of a model call."""
    if _is_foreign_call(span):
        _latest.set(span)


def outer_call() -> str:
    """The id (16 hex digits) of another instrumentation's span of the call that begins here; empty if there is none.

    That is the current span, or one that was started here under the same parent and has not ended.
    """
    current = trace.get_current_span()
    if isinstance(current, Span) and current.end_time is None and _is_foreign_call(current):
        return _id_of(current)
    latest = _latest.get()
    if latest is None:
        return ""
    if latest.end_time is not None:
        _latest.set(None)
        return ""
    parent, where = latest.parent, current.get_span_context()
    same_place = where == parent if parent is not None else not where.is_valid
    return _id_of(latest) if same_place else ""


def _is_foreign_call(span: ReadableSpan) -> bool:
    scope, found = span.instrumentation_scope, span.attributes
    if not found or (scope is not None and scope.name == semconv.SCOPE_NAME):
        return False
    return tells_model_call(found)


def _id_of(span: Span) -> str:
    return f"{span.get_span_context().span_id:016x}"
