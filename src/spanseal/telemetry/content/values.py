"""A value over the size policy goes into spans of its own, beside the span that it belongs to. DESIGN 5.

They are numbered like any span of the run, sealed, encrypted and erased with it, so their loss shows. A value that
occurs again in the same run is only referred to. Only where spans are numbered and exported by us; elsewhere the value
is not kept, and the mark in its place says so by naming no parts. May import active, digests, records
and ``spans.tracer``.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from typing import Final

from opentelemetry import trace
from opentelemetry.trace import Span

from spanseal.genai import semconv as sc
from spanseal.records.large_values import PART_BYTES, Mark, mark_in, parts_of
from spanseal.telemetry.active import Active, active
from spanseal.telemetry.content.digests import run_of_span
from spanseal.telemetry.spans.tracer import tracer

_MOST: Final = 4096


class _Written:
    """Which values of which runs are written, for the telemetry that is switched on."""

    by: Active | None = None
    values: OrderedDict[tuple[str, str], int] = OrderedDict()  # noqa: RUF012 - replaced with ``by``


def bounded(span: Span, text: str) -> str:
    """``text`` if it is small enough for an attribute of ``span``, else the mark; its parts are exported by then.

    A text that would itself be read as a mark goes aside too, however small.
    """
    current = active()
    forged = sc.OMITTED in text and mark_in(text) is not None
    if len(text) * 4 <= current.max_value_bytes and not forged:  # no character takes more than four bytes
        return text
    raw = text.encode("utf-8", "surrogatepass")
    if len(raw) <= current.max_value_bytes and not forged:
        return text
    sha256 = hashlib.sha256(raw).hexdigest()
    if current.ledger is None:
        return Mark(len(raw), sha256).text()
    return Mark(len(raw), sha256, _parts(current, span, text, len(raw), sha256)).text()


def kept_whole(text: str) -> bool:
    """Whether a value of this text can be read back as it is."""
    current = active()
    return current.ledger is not None or len(text) * 4 <= current.max_value_bytes


def _parts(current: Active, span: Span, text: str, size: int, sha256: str) -> int:
    if _Written.by is not current:
        _Written.by, _Written.values = current, OrderedDict()
    place = (run_of_span(span), sha256)
    known = _Written.values.get(place) if place[0] else None
    if known is not None:
        return known
    count = _write(span, text, size, sha256)
    _Written.values[place] = count
    while len(_Written.values) > _MOST:
        _Written.values.popitem(last=False)
    return count


def _write(span: Span, text: str, size: int, sha256: str) -> int:
    parts = list(parts_of(text, PART_BYTES))
    context = trace.set_span_in_context(span)
    clock = active().effects.clock
    for number, part in enumerate(parts, 1):
        now = clock.time_ns()
        attributes = {
            sc.VALUE_SHA256: sha256, sc.VALUE_BYTES: size, sc.VALUE_PART: number, sc.VALUE_PARTS: len(parts),
            sc.VALUE_TEXT: part,
        }
        tracer().start_span(sc.SPAN_VALUE, context, attributes=attributes, start_time=now).end(now)
    return len(parts)
