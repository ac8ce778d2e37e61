"""What is sealed span by span, and what only as raw bytes because it would cost too much to take apart or to open.

The log's format and every reader's memory have limits; a line beyond them is no less evidence, so it is kept as it
came, and nothing behind it waits. The limits lie far above what exporters send. May import records.
"""

from __future__ import annotations

import re
from typing import Final

from spanseal.records.otlp import CutLine

_STRING: Final = re.compile(rb'"[^"]*"?')

MAX_VALUES: Final = 2_000_000
"""Objects and lists of one line, counted by their brackets: about 1 GB of memory while it is cut."""
MAX_SPANS: Final = 100_000
MAX_PRIVATE: Final = 60_000
"""Private values of one span; their number is a u16 in the span's leaf and skeleton."""
MAX_SCOPES: Final = 16_384
"""Runs and traces of one line; each has a key of its own, and their number is a u16 in the line's group."""
MAX_EXPANDED: Final = 256 << 20
"""Bytes of a frame's lines with the context (resource and scope) repeated for each span, as commitments have it."""


def worth_cutting(raw: bytes) -> bool:
    """Whether a line's values can be read at a bounded cost.

    >>> worth_cutting(b'{"resourceSpans":[]}'), worth_cutting(b"{" * 2_000_001)
    (True, False)
    """
    if len(raw) <= MAX_SPANS:
        return True
    return raw.count(b'"spanId"') <= MAX_SPANS and (_brackets(raw) <= MAX_VALUES or _brackets(_bare(raw)) <= MAX_VALUES)


def _brackets(raw: bytes) -> int:
    return raw.count(b"{") + raw.count(b"[")


def _bare(raw: bytes) -> bytes:
    """A line without its strings: JSON in them is content, however deep it is escaped, and no value."""
    return _STRING.sub(b"", raw.replace(rb"\\", b"").replace(rb"\"", b""))


def expanded(document: CutLine) -> int:
    """Bytes of all spans, each with its context."""
    return sum(len(span.raw) + len(span.resource) + len(span.scope) for span in document.spans)


def sealable(document: CutLine, scopes: int, size: int) -> bool:
    """Whether a line's spans, of so many scopes and this expanded size, fit into one frame."""
    return (
        scopes <= MAX_SCOPES
        and size <= MAX_EXPANDED
        and all(len(span.private) <= MAX_PRIVATE for span in document.spans)
    )
