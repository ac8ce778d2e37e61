"""Content attributes: what may be recorded, in which form, how large. May import active, to_json and redact.

Content is whatever a person or a model wrote: messages, arguments, results, reasons, error texts. It is recorded only
when capture is ``full``, as JSON text in exactly the shape that was given (never cut in the middle), with keys and
tokens masked.
"""

from __future__ import annotations

import hashlib
import json
import logging
from typing import Any

from opentelemetry.trace import Span

from spanseal.genai import semconv
from spanseal.genai.wire_json import mend_text
from spanseal.telemetry.active import active
from spanseal.telemetry.content.redact import redact
from spanseal.telemetry.content.to_json import to_json

_log = logging.getLogger(__name__)


def set_content(span: Span, key: str, value: Any, *, masked: bool = False) -> None:
    """Record content on a span, if capture is ``full``; never raises.

    A ``str`` is recorded as it is (it is text, or JSON that is already rendered); every other value becomes JSON text
    first. Lone surrogates become U+FFFD, keys and tokens ``[redacted:class:length]``. A value larger than
    ``max_value_bytes`` is replaced by ``{"spanseal.omitted": {"bytes": n, "sha256": "…"}}``. ``masked`` says that the
    caller has done the masking (:mod:`spanseal.telemetry.content.masked_json`).

    >>> from opentelemetry.trace import INVALID_SPAN
    >>> set_content(INVALID_SPAN, "gen_ai.input.messages", [{"role": "user", "parts": []}])
    """
    try:
        current = active()
        if current.capture != "full" or not span.is_recording():
            if current.content_on_events and current.signals is not None and span.is_recording():
                text = value if isinstance(value, str) else to_json(value)
                current.signals.keep(span, key, text if masked else plain_text(text))
            return
        text = value if isinstance(value, str) else to_json(value)
        span.set_attribute(key, _bounded(text if masked else plain_text(text), current.max_value_bytes))
    except Exception:  # noqa: BLE001 - telemetry raises nothing into the application (DESIGN 10.4)
        _log.debug("content attribute %s could not be recorded", key, exc_info=True)


def plain_text(text: str) -> str:
    """``text`` fit for an attribute: valid Unicode, keys and tokens masked.

    >>> plain_text("Authorization: Bearer abcdefghijklmnop")
    'Authorization: [redacted:bearer:23]'
    """
    return redact(mend_text(text))


def fits(text: str) -> bool:
    """Whether a content value of this text is recorded as it is."""
    return _bounded(text, active().max_value_bytes) is text


def _bounded(text: str, limit: int) -> str:
    if len(text) * 4 <= limit:  # no character takes more than four bytes
        return text
    raw = text.encode()
    if len(raw) <= limit:
        return text
    return json.dumps({semconv.OMITTED: {"bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}})
