"""Text fit to be recorded: valid Unicode, masked. May import active and the wire's JSON."""

from __future__ import annotations

from spanseal.genai.wire_json import mend_text
from spanseal.telemetry.active import active


def plain_text(text: str) -> str:
    """``text`` fit for an attribute: lone surrogates become U+FFFD, keys, tokens and what else is masked go.

    >>> plain_text("Authorization: Bearer abcdefghijklmnop")
    'Authorization: [redacted:bearer:23]'
    """
    return active().redactor.text(mend_text(text))
