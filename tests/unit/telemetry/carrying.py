"""What ``configure()`` switches on to carry runs along in this process, around spans in memory."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from opentelemetry.instrumentation.threading import (  # pyright: ignore[reportMissingTypeStubs] - it ships no types
    ThreadingInstrumentor,
)
from tests.unit.telemetry.ledger_of import attribute, ledgers

from spanseal.genai import semconv
from spanseal.telemetry.propagation.process_pools import carry, stop_carrying
from spanseal.telemetry.propagation.thread_callbacks import carry_into_threads, stop_carrying_into_threads
from spanseal.telemetry.spans.tracer import tracer
from spanseal.testing import Captured, capture_spans


@contextmanager
def carrying(*, check: bool = True) -> Generator[Captured]:
    """What ``configure()`` switches on for threads, around spans in memory, whose ledgers are checked at the end."""
    ThreadingInstrumentor().instrument()
    carry_into_threads()
    carry(_nothing, {})
    try:
        with capture_spans() as captured:
            yield captured
        for ledger in ledgers(captured.spans).values() if check else ():
            ledger.check()
    finally:
        stop_carrying()
        stop_carrying_into_threads()
        ThreadingInstrumentor().uninstrument()


def _nothing() -> None:
    """Workers in this process are configured."""


def span(name: str) -> None:
    """A span that ends at once."""
    with tracer().start_as_current_span(name):
        pass


def assert_child(captured: Captured, name: str, parent: str) -> None:
    """Every span of that name is a child of the one span ``parent`` and belongs to its run."""
    above = captured.one(parent)
    found = captured.named(name)
    assert found, name
    for each in found:
        assert each.parent is not None
        assert each.parent.span_id == above.get_span_context().span_id, name  # pyright: ignore[reportOptionalMemberAccess]
        assert attribute(each, semconv.RUN_ID) == attribute(above, semconv.RUN_ID), name
