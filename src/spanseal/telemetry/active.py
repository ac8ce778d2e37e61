"""What is switched on in this process: capture mode, effects, ledger. Read by everything here, set by configure.

May import the settings, records, ``ledger.state``, ``content.redaction``, ``export.sink`` and the OpenTelemetry API
only, so that any module of this folder can import it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol, TypeAlias

from opentelemetry.trace import Span, SpanContext, TracerProvider

from spanseal.effects import Effects
from spanseal.records.history import Bases
from spanseal.settings import DEFAULT_MAX_VALUE_BYTES, capture_variables, load_settings
from spanseal.telemetry.content.redaction.redactor import Redactor
from spanseal.telemetry.export.sink import Health
from spanseal.telemetry.ledger.state import RunContext

Capture: TypeAlias = Literal["off", "full"]
History: TypeAlias = Literal["full", "delta"]


class Signals(Protocol):
    """What is told beside spans: numbers and events (``signals.signals``)."""

    def ended(self, span: Any) -> None:
        """Measure a span that the SDK has ended, and emit its events."""
        ...

    def chunks(self, span: SpanContext, attributes: Mapping[str, Any], gaps: list[float]) -> None:
        """The seconds between the chunks of a stream."""
        ...

    def keep(self, span: Span, key: str, text: str) -> None:
        """Content for the event of a span that does not carry it itself."""
        ...

    def emit(self, name: str, attributes: Mapping[str, Any], where: SpanContext) -> None:
        """An event of the span at ``where``."""
        ...


class Ledger(Protocol):
    """What numbers the spans of this process and hands them on (``ledger.processor``)."""

    def close_root(self, span: Span, end: int, run_id: str = "") -> int:
        """Set the manifest on the root of a run, just before it ends at the returned time (nanoseconds)."""
        ...

    def run_around(self, span: Span) -> RunContext | None:
        """The run that a span under way here belongs to; None outside of a run."""
        ...

    def bases_of(self, span: Span) -> Bases | None:
        """The calls of its run that a span may build its history on; None outside of a run."""
        ...

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """True if everything has been delivered."""
        ...

    def health(self) -> Health:
        """How the exports are doing, all together."""
        ...

    def shutdown(self, timeout: float = 5.0) -> None:
        """Deliver what can be delivered in ``timeout`` seconds, then stop."""
        ...


@dataclass(frozen=True, slots=True)
class Active:
    """The telemetry of this process as the rest of the code sees it.

    ``capture`` is ``off`` or ``full``; ``provider`` None means OpenTelemetry's global one; ``ledger`` None means that
    spans are not numbered. ``max_value_bytes`` bounds one content value, in bytes of UTF-8. ``history`` is ``full``, or
    ``delta``: inside a run a call records only the messages that are new since an earlier one. ``redactor`` masks every
    text before it is recorded. ``stream_idle_seconds`` ends a stream that is held but not read (0: never). ``events``
    says that the conventions' events are emitted as log records too, ``content_on_events`` that those carry content;
    ``signals`` None means that only the application's own meter and logger providers hear of anything.
    """

    capture: Capture = "off"
    effects: Effects = field(default_factory=Effects)
    max_value_bytes: int = DEFAULT_MAX_VALUE_BYTES
    provider: TracerProvider | None = None
    ledger: Ledger | None = None
    configured: bool = False
    history: History = "full"
    redactor: Redactor = field(default_factory=Redactor)
    stream_idle_seconds: float = 600.0
    events: bool = False
    content_on_events: bool = False
    signals: Signals | None = None


_LOOK_AGAIN: Final = 0.05  # seconds


class _Holder:
    """The one mutable place; replaced as a whole, so a reader never sees half a change."""

    current: Active | None = None
    by_variables: tuple[tuple[str | None, ...], Active] | None = None
    looked: float = -1.0


def active() -> Active:
    """What is switched on; safe before :func:`spanseal.configure`: capture as the variables say, else off."""
    return _Holder.current or _unconfigured()


def activate(new: Active | None) -> Active | None:
    """Switch to ``new`` (None: back to unconfigured) and return what was there, for a later switch back."""
    old, _Holder.current = _Holder.current, new
    _Holder.looked = -1.0  # the variables may have changed meanwhile
    return old


def _unconfigured() -> Active:
    """As the variables say; they are looked at again when a moment has passed, for a call asks some forty times."""
    known, now = _Holder.by_variables, time.monotonic()
    if known is None or now - _Holder.looked > _LOOK_AGAIN:
        variables, _Holder.looked = capture_variables(), now
        if known is None or known[0] != variables:
            known = _Holder.by_variables = (variables, _from_variables())
    return known[1]


def _from_variables() -> Active:
    try:
        settings = load_settings()
    except Exception:  # noqa: BLE001 - reported by configure(); a mere reader must not fail on it
        return Active()
    asked: Capture = "full" if settings.genai_capture else "off"
    return Active(
        capture=settings.capture or asked,
        max_value_bytes=settings.max_value_bytes,
        redactor=Redactor(settings.redact, settings.redact_keys),
        stream_idle_seconds=settings.stream_idle_seconds,
    )
