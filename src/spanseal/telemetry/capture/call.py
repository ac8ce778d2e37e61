"""One model call, one span: begun when the client is called, ended once on every way out. Makes every chat span.

Used by the instrumented clients (``*_client``) and by :class:`spanseal.adapters.base.LLMAdapter` for models
that no instrumented client calls. Nothing here raises into the application. May import genai and records and this
folder; no model client.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar, Token
from dataclasses import dataclass, field
from typing import Any, Final

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind

from spanseal.errors import text_of
from spanseal.genai import semconv as sc
from spanseal.genai.wire import WireFormat, wire_format
from spanseal.telemetry.active import active
from spanseal.telemetry.capture import open_calls
from spanseal.telemetry.capture.history import Told
from spanseal.telemetry.capture.http_attempt import HttpAttempt
from spanseal.telemetry.capture.request import record_request
from spanseal.telemetry.capture.response import record_response
from spanseal.telemetry.content.redact import scrubbed
from spanseal.telemetry.guard import guarded
from spanseal.telemetry.run_context import current_attempt, current_conversation
from spanseal.telemetry.tracing import fail, tracer


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
    """The call under way. Made by :func:`begin`; :meth:`settle` must follow on every way out of the client's call."""

    def __init__(self, target: Target, model: str) -> None:
        self.target = target
        self.ambient: BaseException | None = None
        self.claims = 0
        self._wire: WireFormat = wire_format(target.format)
        self._clock = active().effects.clock
        self._started = self._clock.monotonic()
        self._attempts: list[HttpAttempt] = []
        self._sent = b""
        self._told: Told | None = None
        self._handed_out = False
        self._ended = False
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self.span: Span = tracer().start_span(
            f"{sc.OP_CHAT} {model}".rstrip(), kind=SpanKind.CLIENT, attributes=_first(target, model)
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
        for key, value in _first(target, model).items():
            self.span.set_attribute(key, value)

    def attempt(self, raw: bytes) -> HttpAttempt:
        """The client sends ``raw`` now (once, or again in a retry)."""
        if raw != self._sent:
            self._sent = raw
            self._record_request(raw)
        attempt = HttpAttempt(self, len(self._attempts) + 1, self._clock)
        self._attempts.append(attempt)
        return attempt

    @guarded
    def _record_request(self, raw: bytes) -> None:
        if self.span.is_recording():
            self._told = record_request(self.span, self._wire, raw, self.target.secrets)

    @guarded
    def note(self, attempt: HttpAttempt, error: BaseException | None = None) -> None:
        """An attempt was answered, or failed without an answer: an event on the span."""
        event: dict[str, Any] = {sc.HTTP_ATTEMPT_NUMBER: attempt.number}
        if attempt.status is not None:
            event[sc.HTTP_STATUS] = attempt.status
        if error is not None:
            event[sc.ERROR_TYPE] = error_type(error)
        self.span.add_event(sc.EVENT_HTTP_ATTEMPT, event)

    @guarded
    def settle(self, error: BaseException | None = None) -> None:
        """The client's call returned or raised: ends the span, unless a body was handed out to be read."""
        last = self._last
        if error is not None or last is None or not last.stream or last.end is not None:
            self._finish(error)
            return
        self.ambient = sys.exc_info()[1]
        self._handed_out = True
        open_calls.keep(self)
        if last.end is not None:
            self._finish(None)

    @guarded
    def body_over(self, attempt: HttpAttempt) -> None:
        """A body was read or closed; errors of earlier attempts are the retry's business."""
        if self._handed_out and attempt is self._last:
            self._finish(None)

    @guarded
    def body_dropped(self, attempt: HttpAttempt) -> None:
        """A body was dropped, maybe by garbage collection."""
        if self._handed_out and attempt is self._last:
            open_calls.drop(self)

    def end_dropped(self) -> None:
        """End the span of a call that nobody reads on; its end is the time of the last bytes."""
        self._finish(None)

    @property
    def _last(self) -> HttpAttempt | None:
        return self._attempts[-1] if self._attempts else None

    def _finish(self, error: BaseException | None) -> None:
        with self._lock:
            if self._ended:
                return
            self._ended = True
        open_calls.forget(self)
        if os.getpid() != self._pid:
            return  # a child after fork: the parent ends its own span
        last = self._last
        self._record_end(last, error)
        dropped = self._handed_out and last is not None and last.end in (None, "abandoned")
        self.span.end(last.last_ns if dropped and last is not None and last.last_ns else None)
        self._attempts.clear()  # they point back here, and hold the bytes
        self._told = None

    @guarded
    def _record_end(self, last: HttpAttempt | None, error: BaseException | None) -> None:
        if not self.span.is_recording():
            return
        if self._told is not None:
            self._told.remember(self.span)
        cause = error or (last.error if last is not None else None)
        fault = "" if last is None else self._record_answer(last)
        if cause is not None:
            fail(self.span, error_type(cause), scrubbed(_described(cause), self.target.secrets))
        elif last is not None and last.status is not None and last.status >= 400:
            text = (last.body() or b"").decode("utf-8", "replace")
            fail(self.span, str(last.status), scrubbed(text, self.target.secrets))
        elif fault and last is not None and last.settled_end() in ("complete", "failed"):
            fail(self.span, sc.ERROR_MALFORMED_RESPONSE, fault)

    def _record_answer(self, last: HttpAttempt) -> str:
        if last.stream:
            self.span.set_attribute(sc.LLM_STREAM_END, last.settled_end())
            if last.first is not None:
                self.span.set_attribute(sc.RESPONSE_TIME_TO_FIRST_CHUNK, last.first - self._started)
        body = last.body()
        if last.status is None or body is None:
            return ""
        keys = self.target.secrets
        return record_response(self.span, self._wire, body, stream=last.is_event_stream, secrets=keys)


@dataclass(slots=True)
class _Offer:
    call: ModelCall
    taken: bool = False


_current: Final[ContextVar[ModelCall | None]] = ContextVar("spanseal_model_call", default=None)
_offered: Final[ContextVar[_Offer | None]] = ContextVar("spanseal_offered_call", default=None)
_notes: Final[ContextVar[tuple[tuple[str, Mapping[str, Any]], ...]]] = ContextVar("spanseal_notes", default=())


@guarded
def begin(target: Target, model: str, context: Context | None = None) -> ModelCall:
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
        return ModelCall(target, model)
    finally:
        if token is not None:
            otel_context.detach(token)


@contextmanager
def current(call: ModelCall | None) -> Generator[None]:
    """``call`` is what attempts inside belong to, and its span is the current one; None hides an outer call."""
    token = _current.set(call)
    attached = None if call is None else otel_context.attach(trace.set_span_in_context(call.span))
    try:
        yield
    finally:
        if attached is not None:
            otel_context.detach(attached)
        _reset(_current, token)


def current_call() -> ModelCall | None:
    """The call that an attempt made here belongs to."""
    return _current.get()


@contextmanager
def offering(call: ModelCall | None) -> Generator[None]:
    """Offer ``call`` to the first instrumented client that is called inside."""
    token = _offered.set(None if call is None else _Offer(call))
    attached = None if call is None else otel_context.attach(trace.set_span_in_context(call.span))
    try:
        yield
    finally:
        if attached is not None:
            otel_context.detach(attached)
        _reset(_offered, token)


@contextmanager
def noting(*events: tuple[str, Mapping[str, Any]]) -> Generator[None]:
    """Calls begun inside carry these events (name and attributes)."""
    token = _notes.set(events)
    try:
        yield
    finally:
        _reset(_notes, token)


def _reset(variable: ContextVar[Any], token: Token[Any]) -> None:
    with suppress(ValueError):  # a coroutine that is closed from elsewhere leaves in another context
        variable.reset(token)


def error_type(error: BaseException) -> str:
    """The convention's ``error.type``: the HTTP status where the error has one, else the exception's class name."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status >= 400:
        return str(status)
    return type(error).__qualname__


def _described(error: BaseException) -> str:
    cause = "" if error.__cause__ is None else text_of(error.__cause__)
    return f"{text_of(error)} ({cause})" if cause else text_of(error)


def _first(target: Target, model: str) -> dict[str, Any]:
    """The attributes that samplers look at come first."""
    attributes: dict[str, Any] = {
        sc.OPERATION_NAME: sc.OP_CHAT, sc.PROVIDER_NAME: target.provider, sc.REQUEST_MODEL: model,
        sc.SERVER_ADDRESS: target.address, sc.SERVER_PORT: target.port,
        sc.CONVERSATION_ID: current_conversation(),
        sc.LLM_FORMAT: target.format, sc.LLM_ATTEMPT: current_attempt(), sc.CAPTURE_MODE: active().capture,
    }
    return {key: value for key, value in attributes.items() if value is not None and value != ""}
