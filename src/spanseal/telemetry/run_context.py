"""The run and the attempt as values in the OpenTelemetry context, so that they go wherever spans go.

May import ledger.state. What opens a run is ``run_span``; what carries it further is in ``propagation``.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from opentelemetry import context as otel_context

from spanseal.telemetry.ledger.state import RunContext, RunState, run_of

_ATTEMPT: Final = otel_context.create_key("spanseal-attempt")


def current_run() -> RunContext | None:
    """The run that this code belongs to, or None outside of any (or inside a foreign agent's run only)."""
    state: RunState | None = run_of(otel_context.get_current())
    return None if state is None else state.context


def current_conversation() -> str:
    """The application's id of the conversation that this code belongs to, empty where it gave none."""
    run = current_run()
    return "" if run is None else run.conversation_id


@contextmanager
def attempt(number: int) -> Generator[None]:
    """Model calls inside are the attempt ``number`` (1 is the first) at one and the same answer.

    >>> with attempt(2):
    ...     current_attempt()
    2
    """
    token = otel_context.attach(otel_context.set_value(_ATTEMPT, number))
    try:
        yield
    finally:
        otel_context.detach(token)


def current_attempt() -> int:
    """The attempt that model calls belong to; 1 unless :func:`attempt` says otherwise."""
    found = otel_context.get_value(_ATTEMPT)
    return found if isinstance(found, int) else 1
