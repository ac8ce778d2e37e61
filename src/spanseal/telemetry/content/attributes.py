"""Content attributes: what may be recorded, in which form, how large. May import active and the siblings.

Content is whatever a person or a model wrote: messages, arguments, results, reasons, error texts. It is recorded only
when capture is ``full``, as JSON text in exactly the shape that was given (never cut in the middle), masked. With
capture ``off`` its size and a salted digest stay.
"""

from __future__ import annotations

import logging
from typing import Any, cast

from opentelemetry.trace import Span

from spanseal.genai.semconv import CONTENT_DIGESTS
from spanseal.telemetry.active import active
from spanseal.telemetry.content.digests import digest_attributes, scope_is_masked, scope_masked
from spanseal.telemetry.content.masked_json import as_array, masked_items
from spanseal.telemetry.content.plain import plain_text
from spanseal.telemetry.content.to_json import to_json
from spanseal.telemetry.content.values import bounded

__all__ = ["content_attributes", "plain_text", "set_content", "set_digest"]

_log = logging.getLogger(__name__)


def set_content(span: Span, key: str, value: Any, *, masked: bool = False) -> None:
    """Record content on a span; never raises.

    A ``str`` is recorded as it is (it is text, or JSON that is already rendered); every other value becomes JSON text
    first. Lone surrogates become U+FFFD, what is masked ``[redacted:class:length]``. A value larger than
    ``max_value_bytes`` goes into spans of its own, a mark with its length and digest stands in its place
    (:mod:`spanseal.records.large_values`). ``masked`` says that the caller has done the masking
    (:mod:`spanseal.telemetry.content.masked_json`). With capture ``off`` only size and salted digest are told; so it is
    with digests over content once something in their run was masked, from which a short secret could be guessed.

    >>> from opentelemetry.trace import INVALID_SPAN
    >>> set_content(INVALID_SPAN, "gen_ai.input.messages", [{"role": "user", "parts": []}])
    """
    try:
        if span.is_recording():
            span.set_attributes(content_attributes(span, key, value, masked=masked))
    except Exception:  # noqa: BLE001 - telemetry raises nothing into the application (DESIGN 10.4)
        _log.debug("content attribute %s could not be set", key, exc_info=True)


def content_attributes(span: Span, key: str, value: Any, *, masked: bool = False) -> dict[str, Any]:
    """What :func:`set_content` sets, for a caller that sets more at once; nothing if it cannot be told. Never raises.

    >>> from opentelemetry.trace import INVALID_SPAN
    >>> sorted(content_attributes(INVALID_SPAN, "x", "text"))
    ['spanseal.bytes.x', 'spanseal.digest.x']
    """
    try:
        text = value if isinstance(value, str) else to_json(value)
        current = active()
        if current.capture != "full":
            if current.content_on_events and current.signals is not None:
                current.signals.keep(span, key, text if masked else plain_text(text))
            return digest_attributes(span, key, text)
        if current.redactor.secret_key(key):
            value = text = current.redactor.removed(text)
        if key in CONTENT_DIGESTS and scope_is_masked(span):
            return digest_attributes(span, key, text)
        if not masked:
            text, changed = _masked(value, text)
            if changed:
                scope_masked(span)
        current.redactor.masked_already(text)
        return {key: bounded(span, text)}
    except Exception:  # noqa: BLE001 - as above
        _log.debug("content attribute %s could not be recorded", key, exc_info=True)
        return {}


def _masked(value: Any, text: str) -> tuple[str, bool]:
    """``text``, which tells ``value``, masked; and whether anything was."""
    if isinstance(value, list):  # of messages, most of which were searched before
        items, changed = masked_items([to_json(item) for item in cast("list[Any]", value)])
        return as_array(items), changed
    plain = plain_text(text)
    return plain, plain is not text


def set_digest(span: Span, key: str, text: str) -> None:
    """Tell size and salted digest of content that this span does not hold, in every capture mode; never raises."""
    try:
        if span.is_recording():
            span.set_attributes(digest_attributes(span, key, text))
    except Exception:  # noqa: BLE001 - as above
        _log.debug("the digest of %s could not be recorded", key, exc_info=True)
