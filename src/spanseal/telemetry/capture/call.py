"""One model call, one span: begun when the client is called, ended once on every way out. Makes every chat span.

Used by the instrumented clients (``clients``) and by :class:`spanseal.adapters.base.LLMAdapter` for models
that no instrumented client calls. Nothing here raises into the application. May import genai and records and this
folder; no model client.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar, Token
from dataclasses import dataclass, field, replace
from typing import Any, Final

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind

from spanseal.genai import semconv as sc
from spanseal.genai.wire import WireFormat, wire_format
from spanseal.telemetry.active import active
from spanseal.telemetry.capture.call_record import error_type, record_end
from spanseal.telemetry.capture.history import Told
from spanseal.telemetry.capture.request import parsed_request, record_request
from spanseal.telemetry.capture.rest import Rest
from spanseal.telemetry.capture.streams import open_calls
from spanseal.telemetry.capture.streams.assembly import Assembly
from spanseal.telemetry.capture.streams.http_attempt import HttpAttempt
from spanseal.telemetry.capture.streams.once import Once
from spanseal.telemetry.capture.streams.pace import Pace
from spanseal.telemetry.capture.streams.reader import Reader
from spanseal.telemetry.content.redaction.tool_credentials import (
    carries_credentials,
    tool_credentials,
    without_tool_credentials,
)
from spanseal.telemetry.guard import guarded
from spanseal.telemetry.run_context import current_attempt, current_conversation
from spanseal.telemetry.signals import signals
from spanseal.telemetry.spans.same_call import outer_call
from spanseal.telemetry.spans.tracer import tracer


@dataclass(frozen=True, slots=True)
class Target:
    """Whom a client calls: the wire format's name, the convention's provider name, host and port, the client's keys
    (only to strike them out of error texts; never recorded)."""

    format: str
    provider: str
    address: str = ""
    port: int | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)


class ModelCall:
    """The call under way. Made by :func:`begin`; :meth:`settle` must follow on every way out of the client's call.

    ``reader`` watches what the program will read a stream with.
    """

    def __init__(self, target: Target, model: str, reader: Reader | None = None) -> None:
        self.target = target
        self.ambient: BaseException | None = None
        self.reader = _reader.get() or reader or Reader()
        self.claims = 0
        self._wire: WireFormat = wire_format(target.format)
        self._clock = active().effects.clock
        self._started = self._clock.monotonic()
        self._attempts: list[HttpAttempt] = []
        self._sent = b""
        self._told: Told | None = None
        self._handed_out = False
        self._open = Once()
        self._pid = os.getpid()
        self._context = otel_context.get_current()
        self._labels = _first(target, self._wire, model)
        self.span: Span = tracer().start_span(
            f"{self._wire.OPERATION} {model}".rstrip(), kind=SpanKind.CLIENT, attributes=self._labels
        )
        for name, attributes in _notes.get():
            self.span.add_event(name, attributes)

    def claim(self, target: Target, model: str) -> None:
        """An inner client makes the call that an adapter had begun: what it sends counts from here."""
        self.claims += 1
        self.target = target
        self._wire = wire_format(target.format)
        self._attempts.clear()
        self._sent = b""
        self.span.update_name(f"{self._wire.OPERATION} {model}".rstrip())
        self._labels = _first(target, self._wire, model)
        for key, value in self._labels.items():
            self.span.set_attribute(key, value)

    def attempt(self, raw: bytes, keys: Sequence[str] = ()) -> HttpAttempt:
        """The client sends ``raw`` now (once, or again in a retry), and ``keys`` in its headers."""
        if new := tuple(key for key in keys if key not in self.target.secrets):
            self.target = replace(self.target, secrets=(*self.target.secrets, *new))
        if raw != self._sent:
            self._sent = raw
            self._record_request(raw)
        attempt = HttpAttempt(self, len(self._attempts) + 1, self._clock)
        attempt.pace = Pace(self.span, self._labels)
        self._attempts.append(attempt)
        return attempt

    @guarded
    def _record_request(self, raw: bytes) -> None:
        if self.span.is_recording():
            body = parsed_request(raw)
            bare = without_tool_credentials(raw) if carries_credentials(raw, body) else raw
            if bare is not raw:
                self.target = replace(self.target, secrets=(*self.target.secrets, *tool_credentials(raw)))
            self._told = record_request(self.span, self._wire, raw, bare, body, self.target.secrets)

    @guarded
    def note(self, attempt: HttpAttempt, error: BaseException | None = None) -> None:
        """An attempt was answered, or failed without an answer: an event on the span."""
        if attempt.plain_stream and self.span.is_recording():
            attempt.assembly = Assembly(self._wire, active().redactor.finds)
        event: dict[str, Any] = {sc.HTTP_ATTEMPT_NUMBER: attempt.number}
        if attempt.status is not None:
            event[sc.HTTP_STATUS] = attempt.status
        if error is not None:
            event[sc.ERROR_TYPE] = error_type(error)
        self.span.add_event(sc.EVENT_HTTP_ATTEMPT, event)

    @guarded
    def settle(self, error: BaseException | None = None, handed: object = None) -> None:
        """The client's call returned ``handed`` or raised: ends the span, unless that is yet to be read."""
        last = self._last
        if error is not None or last is None or not last.stream or last.end is not None:
            self._finish(error)
            return
        if handed is not None:
            self.reader.watch(handed)
        self.ambient = sys.exc_info()[1]
        self._handed_out = True
        open_calls.keep(self)
        if last.end is not None:
            self._finish(None)

    @guarded
    def body_over(self, attempt: HttpAttempt) -> None:
        """The reading of a body has ended; errors of earlier attempts are the retry's business.

        Out of garbage collection only queue: a processor may wait for a lock that the interrupted code holds.
        """
        if not self._handed_out or attempt is not self._last:
            return
        if attempt.end == sc.STREAM_ABANDONED or open_calls.collecting():
            open_calls.drop(self)
        else:
            self._finish(None)

    def read_on(self, attempt: HttpAttempt) -> Rest:
        """Bytes come after the span has ended: they go into a span of their own."""
        return Rest(self.span, self._context, self._wire, self.target.secrets, attempt, self.reader)

    def progress(self) -> tuple[int, bool]:
        """How often the answer was read, and whether it is being read now."""
        last = self._last
        return (0, False) if last is None else (last.reads, last.reading)

    def end_held(self) -> None:
        """End the span of a call whose answer the program holds without reading it."""
        last = self._last
        if last is not None:
            last.hold()
        self._finish(None)

    def end_dropped(self) -> None:
        """End the span of a call that nobody reads on; its end is the time of the last bytes."""
        self._finish(None)

    @property
    def _last(self) -> HttpAttempt | None:
        return self._attempts[-1] if self._attempts else None

    def _finish(self, error: BaseException | None) -> None:
        if os.getpid() != self._pid:
            open_calls.forget(self)
            return  # a child after fork: the parent ends its own span
        if not self._open.first():
            return
        open_calls.forget(self)
        last = self._last
        self._record_end(last, error)
        if last is not None and last.pace is not None:
            last.pace.tell()
        late = self._handed_out and last is not None and last.end in (None, sc.STREAM_ABANDONED, sc.STREAM_HELD)
        self.span.end(last.last_ns if late and last is not None and last.last_ns else None)
        signals.ended_unseen(self.span)
        self._attempts.clear()  # they point back here, and hold the bytes
        self._told, self._sent = None, b""

    @guarded
    def _record_end(self, last: HttpAttempt | None, error: BaseException | None) -> None:
        if not self.span.is_recording():
            return
        if self._told is not None:
            self._told.remember(self.span)
        record_end(
            self.span, self._wire, last, error, started=self._started, sent=self._sent, secrets=self.target.secrets
        )


@dataclass(slots=True)
class _Offer:
    call: ModelCall
    taken: bool = False


_offered: Final[ContextVar[_Offer | None]] = ContextVar("spanseal_offered_call", default=None)
_notes: Final[ContextVar[tuple[tuple[str, Mapping[str, Any]], ...]]] = ContextVar("spanseal_notes", default=())
_reader: Final[ContextVar[Reader | None]] = ContextVar("spanseal_reader", default=None)


@guarded
def begin(target: Target, model: str, context: Context | None = None, reader: Reader | None = None) -> ModelCall:
    """Begin a call; its span is a child of what is current in ``context`` (default: here).

    An adapter that has offered its own call gets that one back instead of a second span.
    """
    offer = _offered.get()
    if offer is not None and not offer.taken:
        offer.taken = True
        offer.call.claim(target, model)
        return offer.call
    token = None if context is None else otel_context.attach(context)  # the attempt's number is read from it too
    try:
        return ModelCall(target, model, reader)
    finally:
        if token is not None:
            otel_context.detach(token)


@contextmanager
def offering(call: ModelCall | None) -> Generator[None]:
    """Offer ``call`` to the first instrumented client that is called inside."""
    token = _offered.set(None if call is None else _Offer(call))
    attached = None if call is None else otel_context.attach(trace.set_span_in_context(call.span))
    try:
        yield
    finally:
        if _reset(_offered, token) and attached is not None:
            otel_context.detach(attached)


@contextmanager
def reading_with(reader: Reader) -> Generator[None]:
    """The answers of calls begun inside are read with what ``reader`` watches, unless something around that is."""
    token = _reader.set(_reader.get() or reader)
    try:
        yield
    finally:
        _reset(_reader, token)


@contextmanager
def noting(*events: tuple[str, Mapping[str, Any]]) -> Generator[None]:
    """Calls begun inside carry these events (name and attributes)."""
    token = _notes.set(events)
    try:
        yield
    finally:
        _reset(_notes, token)


def _reset(variable: ContextVar[Any], token: Token[Any]) -> bool:
    """False where a coroutine is closed from elsewhere, in another context: there is nothing to take back there."""
    try:
        variable.reset(token)
    except ValueError:
        return False
    return True


def _first(target: Target, wire: WireFormat, model: str) -> dict[str, Any]:
    """The attributes that samplers look at come first."""
    attributes: dict[str, Any] = {
        sc.OPERATION_NAME: wire.OPERATION, sc.PROVIDER_NAME: target.provider, sc.REQUEST_MODEL: model,
        sc.SERVER_ADDRESS: target.address, sc.SERVER_PORT: target.port,
        sc.CONVERSATION_ID: current_conversation(),
        sc.LLM_FORMAT: target.format, sc.LLM_ATTEMPT: current_attempt(), sc.CAPTURE_MODE: active().capture,
        sc.LLM_SAME_CALL: outer_call(),
    }
    return {key: value for key, value in attributes.items() if value is not None and value != ""}
