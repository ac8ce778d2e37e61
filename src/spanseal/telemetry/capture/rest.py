"""A stream that is read on after the watchdog has ended its call's span: what still came is a span of its own.

The first span is with its readers already and cannot change. The second is named ``spanseal.stream.rest``, stands in
the same trace as a child of the first, links to it, and holds the texts that came after those of the first, word for
word, and how the reading ended at last; an event that the first had to cut is whole in the second. It is no model call:
it has no operation, so nothing counts the call twice. May import call_record and streams.
"""

from __future__ import annotations

import os

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, Span, SpanKind

from spanseal.genai import semconv as sc
from spanseal.genai.wire import WireFormat
from spanseal.telemetry.active import active
from spanseal.telemetry.capture.call_record import record_rest
from spanseal.telemetry.capture.streams import open_calls
from spanseal.telemetry.capture.streams.http_attempt import HttpAttempt
from spanseal.telemetry.capture.streams.once import Once
from spanseal.telemetry.capture.streams.reader import Reader
from spanseal.telemetry.guard import guarded
from spanseal.telemetry.spans.tracer import tracer


class Rest:
    """Takes an attempt over. ``context`` is the one that the call began in, ``first`` the call's ended span."""

    def __init__(
        self, first: Span, context: Context, wire: WireFormat, secrets: tuple[str, ...], attempt: HttpAttempt,
        reader: Reader,
    ) -> None:
        self.ambient: BaseException | None = None
        self.reader = reader
        self._given = (first, context, wire, secrets)
        self._attempt = attempt
        self._before = attempt.told
        self._open = Once()
        self._pid = os.getpid()
        attributes = {sc.LLM_FORMAT: wire.FORMAT, sc.CAPTURE_MODE: active().capture}
        self._span = tracer().start_span(
            sc.SPAN_STREAM_REST, trace.set_span_in_context(first, context), SpanKind.INTERNAL, attributes,
            [Link(first.get_span_context())],
        )
        open_calls.keep(self)

    def note(self, attempt: HttpAttempt, error: BaseException | None = None) -> None:
        """Nothing: the head of the answer came before."""

    def settle(self, error: BaseException | None = None) -> None:
        """Nothing: the client's call returned before."""

    def body_over(self, attempt: HttpAttempt) -> None:
        """The reading has ended."""
        if attempt.end == sc.STREAM_ABANDONED or open_calls.collecting():
            open_calls.drop(self)
        else:
            self.end_dropped()

    def read_on(self, attempt: HttpAttempt) -> Rest:
        """And once more."""
        return Rest(*self._given, attempt, self.reader)

    def progress(self) -> tuple[int, bool]:
        """How often it was read, and whether it is being read now."""
        return self._attempt.reads, self._attempt.reading

    def end_held(self) -> None:
        """Nobody reads on again."""
        self._attempt.hold()
        self.end_dropped()

    def end_dropped(self) -> None:
        """End the span, once."""
        if os.getpid() != self._pid or not self._open.first():
            return
        open_calls.forget(self)
        self._record()
        self._span.end()

    @guarded
    def _record(self) -> None:
        _, _, wire, secrets = self._given
        record_rest(self._span, wire, self._attempt, self._before, secrets=secrets)
