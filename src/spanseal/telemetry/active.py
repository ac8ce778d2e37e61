"""What is switched on in this process: capture mode, effects, ledger. Read by everything here, set by configure.

May import the settings and the OpenTelemetry API only, so that any module of this folder can import it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from spanseal.effects import Effects
from spanseal.settings import DEFAULT_MAX_VALUE_BYTES, capture_variables, load_settings

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

    from spanseal.telemetry.ledger_processor import LedgerProcessor

Capture: TypeAlias = Literal["off", "full"]


@dataclass(frozen=True, slots=True)
class Active:
    """The telemetry of this process as the rest of the code sees it.

    ``capture`` is ``off`` or ``full``; ``provider`` None means OpenTelemetry's global one; ``ledger`` None means that
    spans are not numbered. ``max_value_bytes`` bounds one content value, in bytes of UTF-8.
    """

    capture: Capture = "off"
    effects: Effects = field(default_factory=Effects)
    max_value_bytes: int = DEFAULT_MAX_VALUE_BYTES
    provider: TracerProvider | None = None
    ledger: LedgerProcessor | None = None
    configured: bool = False


class _Holder:
    """The one mutable place; replaced as a whole, so a reader never sees half a change."""

    current: Active | None = None
    by_variables: tuple[tuple[str | None, ...], Active] | None = None


def active() -> Active:
    """What is switched on; safe before :func:`spanseal.configure`: capture as the variables say, else off."""
    return _Holder.current or _unconfigured()


def activate(new: Active | None) -> Active | None:
    """Switch to ``new`` (None: back to unconfigured) and return what was there, for a later switch back."""
    old, _Holder.current = _Holder.current, new
    return old


def _unconfigured() -> Active:
    variables = capture_variables()
    known = _Holder.by_variables
    if known is None or known[0] != variables:
        known = _Holder.by_variables = (variables, _from_variables())
    return known[1]


def _from_variables() -> Active:
    try:
        settings = load_settings()
    except Exception:  # noqa: BLE001 - reported by configure(); a mere reader must not fail on it
        return Active()
    asked: Capture = "full" if settings.genai_capture else "off"
    return Active(capture=settings.capture or asked, max_value_bytes=settings.max_value_bytes)
