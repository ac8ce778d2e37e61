"""One way to open an inner span of a run and to put events on it. May import tracing, content and active."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager

from opentelemetry.trace import Span, SpanKind
from opentelemetry.util.types import AttributeValue

from spanseal.telemetry.active import active
from spanseal.telemetry.content import plain_text
from spanseal.telemetry.tracing import fail, tracer


@contextmanager
def open_span(name: str) -> Generator[Span]:
    """An INTERNAL span that is current inside the block.

    An exception marks it ERROR with the exception's type (its text only with ``capture="full"``) and passes
    unchanged, KeyboardInterrupt and CancelledError too. The SDK's own exception event is not used: it records texts
    and stack traces whatever the capture mode.

    >>> with open_span("step") as span:
    ...     span.is_recording()
    False
    """
    opened = tracer().start_as_current_span(
        name, kind=SpanKind.INTERNAL, record_exception=False, set_status_on_exception=False
    )
    with opened as span:
        try:
            yield span
        except BaseException as error:
            fail(span, type(error).__name__, str(error))
            raise


def add_event(span: Span, name: str, clear: Mapping[str, AttributeValue], content: Mapping[str, str]) -> None:
    """An event with ``clear`` attributes, and those of ``content`` that are not empty when capture is ``full``."""
    attributes = dict(clear)
    if active().capture == "full":
        attributes |= {key: plain_text(text) for key, text in content.items() if text}
    span.add_event(name, attributes)
