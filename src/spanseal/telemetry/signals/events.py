"""The conventions' events as log records: through the application's logger provider, else beside our own spans.

``gen_ai.evaluation.result`` for each check, ``gen_ai.client.operation.exception`` for each model call that failed, and,
where it is asked for, ``gen_ai.client.inference.operation.details`` for each model call, with the attributes of its
span and content in structured form. Each belongs to its span. May import active, content.plain and the courier.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from opentelemetry import _logs as logs
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, StatusCode

from spanseal import __version__
from spanseal.genai import semconv as sc
from spanseal.genai.wire_json import loads
from spanseal.telemetry.active import active
from spanseal.telemetry.content.plain import plain_text
from spanseal.telemetry.signals.courier import SCOPE, Courier
from spanseal.telemetry.spans.attributes import plain_attributes

CONTENT: Final = frozenset({sc.INPUT_MESSAGES, sc.OUTPUT_MESSAGES, sc.SYSTEM_INSTRUCTIONS, sc.TOOL_DEFINITIONS})
"""The attributes that must be structured on events."""
_TOLD: Final = ("gen_ai.", "openai.", "server.", "error.")
_CLIENT: Final = sc.INFERENCE_OPERATIONS | {sc.OP_EMBEDDINGS}
_MOST_KEPT: Final = 1000  # spans whose content waits for their end


class Events:
    """Emits log records; ``courier`` takes them if the application has no logger provider. ``on`` False: none at all.

    ``details`` asks for the inference details, too. Nothing here raises into the application.
    """

    def __init__(self, courier: Courier | None = None, *, on: bool = True, details: bool = False) -> None:
        self._courier = courier
        self._on = on
        self.details = on and details
        self._kept: OrderedDict[int, dict[str, str]] = OrderedDict()

    def keep(self, span: Span, key: str, text: str) -> None:
        """Content for the event of a span that does not carry it itself; JSON text, redacted already."""
        if self.details and key in CONTENT:
            self._kept.setdefault(span.get_span_context().span_id, {})[key] = text
            if len(self._kept) > _MOST_KEPT:
                with contextlib.suppress(KeyError):
                    self._kept.popitem(last=False)

    def ended(self, span: ReadableSpan) -> None:
        """The events of a model call of ours that has ended."""
        where, scope = span.get_span_context(), span.instrumentation_scope
        kept = self._kept.pop(where.span_id, None) if self._kept and where is not None else None
        if not self._on or where is None or scope is None or scope.name != sc.SCOPE_NAME:
            return
        found = plain_attributes(span)
        operation = found.get(sc.OPERATION_NAME)
        if operation not in _CLIENT:
            return
        now = span.end_time or 0
        if span.status.status_code is StatusCode.ERROR:
            told = {key: found[key] for key in (sc.OPERATION_NAME, sc.PROVIDER_NAME, sc.REQUEST_MODEL) if key in found}
            told[sc.EXCEPTION_TYPE] = found.get(sc.ERROR_TYPE, sc.ERROR_OTHER)
            if span.status.description:  # a text only where content is recorded
                told[sc.EXCEPTION_MESSAGE] = span.status.description
            self.emit(sc.EVENT_OPERATION_EXCEPTION, told, where, logs.SeverityNumber.WARN, now)
        if self.details and operation in sc.INFERENCE_OPERATIONS:
            self.emit(sc.EVENT_INFERENCE_DETAILS, _details(found, kept or {}), where, logs.SeverityNumber.DEBUG, now)

    def emit(
        self,
        name: str,
        attributes: Mapping[str, Any],
        where: SpanContext,
        severity: logs.SeverityNumber = logs.SeverityNumber.INFO,
        now: int | None = None,
    ) -> None:
        """One event that belongs to the span at ``where``; ``now`` in nanoseconds."""
        if not self._on:
            return
        context = trace.set_span_in_context(NonRecordingSpan(where), Context())
        record = logs.LogRecord(
            timestamp=now or active().effects.clock.time_ns(), context=context, severity_number=severity,
            severity_text=severity.name, attributes=dict(attributes), event_name=name,
        )
        provider = logs.get_logger_provider()
        if type(provider).__name__ not in ("ProxyLoggerProvider", "NoOpLoggerProvider"):
            provider.get_logger(sc.SCOPE_NAME, __version__, sc.SCHEMA_URL).emit(record)
        elif self._courier is not None:
            self._courier.emit(ReadableLogRecord(record, self._courier.resource, SCOPE))


_by_default: Final = Events()


def emit_event(span: Span, name: str, clear: Mapping[str, Any], content: Mapping[str, str]) -> None:
    """An event of a span under way, as a log record: ``content`` only where events or spans may carry content."""
    try:
        current = active()
        attributes = dict(clear)
        if current.capture == "full" or current.content_on_events:
            attributes |= {key: plain_text(text) for key, text in content.items() if text}
        log = current.signals or _by_default
        log.emit(name, attributes, span.get_span_context())
    except Exception:  # noqa: BLE001 - telemetry raises nothing into the application (DESIGN 10.4)
        return


def _details(found: Mapping[str, Any], kept: Mapping[str, str]) -> dict[str, Any]:
    """The span's attributes that the conventions know, and our run id, by which one finds the rest."""
    told = {key: value for key, value in found.items() if key.startswith(_TOLD) or key == sc.RUN_ID}
    on_events = active().content_on_events
    for key in CONTENT:
        text: Any = told.pop(key, None)
        text = kept.get(key, text)
        if on_events and text is not None:
            told[key] = _structured(text)
    return told


def _structured(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    try:
        return loads(text.encode())
    except ValueError:
        return text
