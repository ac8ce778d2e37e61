"""Which model call the code that runs here belongs to, and its span as the current one.

Two plain functions and no context manager: they stand in the way of every call, and neither may raise. May import
guard and, for its type, call.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import context as otel_context
from opentelemetry import trace

from spanseal.telemetry.guard import guarded

if TYPE_CHECKING:
    from spanseal.telemetry.capture.call import ModelCall

_current: Final[ContextVar[ModelCall | None]] = ContextVar("spanseal_model_call", default=None)


class Entered:
    """What :func:`leave` takes back."""

    __slots__ = ("attached", "token")

    def __init__(self, token: Token[ModelCall | None]) -> None:
        self.token = token
        self.attached: Any = None


@guarded
def enter(call: ModelCall | None) -> Entered | None:
    """From here on attempts belong to ``call`` and its span is the current one; None hides an outer call."""
    if call is None and _current.get() is None:
        return None
    entered = Entered(_current.set(call))
    if call is not None:
        _attach(entered, call)
    return entered


@guarded
def _attach(entered: Entered, call: ModelCall) -> None:
    entered.attached = otel_context.attach(trace.set_span_in_context(call.span))


@guarded
def leave(entered: Entered | None) -> None:
    """Back to what was before; nothing where a coroutine is closed from elsewhere, in another context."""
    if entered is None:
        return
    try:
        _current.reset(entered.token)
    except ValueError:
        return
    if entered.attached is not None:
        otel_context.detach(entered.attached)


def current_call() -> ModelCall | None:
    """The call that an attempt made here belongs to."""
    return _current.get()
