"""Which earlier call of its run a chat span's messages build on, with ``history="delta"``.

Only a call that has ended and was recorded whole is built on: what it says no longer changes. May import genai,
records, active and content.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson
from opentelemetry.trace import Span

from spanseal.genai import semconv as sc
from spanseal.genai.wire_json import loads_fast
from spanseal.records.history import Bases, Placed, shapes_of, tail_params
from spanseal.records.replay_record import Split
from spanseal.telemetry.active import active
from spanseal.telemetry.content.masked_json import as_array
from spanseal.telemetry.content.values import kept_whole

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Told:
    """What a span tells of its request: the replay record, the messages as JSON; ``placed`` None: in full."""

    record: Split
    messages: str
    placed: Placed | None = None
    bases: Bases | None = None

    def remember(self, span: Span) -> None:
        """The span ends as it is: later calls may build on it, if it could be recorded whole."""
        if self.bases is None or self.placed is None:
            return
        if kept_whole(self.messages) and kept_whole(self.record.params):
            self.bases.add(f"{span.get_span_context().span_id:016x}", self.placed)


def tell(span: Span, record: Split, texts: Sequence[str]) -> Told:
    """What the span is to tell of a request with this record, whose messages are ``texts`` (JSON for the attribute).

    In full outside of a run, with ``history="full"``, and where the body itself must be stored.
    """
    in_full = Told(record, as_array(texts))
    if active().history == "full" or not record.params or not texts:
        return in_full
    try:
        return _shortened(span, in_full, texts)
    except Exception:  # noqa: BLE001 - a fault here may cost bytes, never content
        _log.debug("a history could not be shortened", exc_info=True)
        return in_full


def _shortened(span: Span, in_full: Told, texts: Sequence[str]) -> Told:
    ledger, record, messages = active().ledger, in_full.record, in_full.messages
    bases = None if ledger is None else ledger.bases_of(span)
    if bases is None:
        return in_full
    params = loads_fast(record.params)
    placed = bases.place(texts, shapes_of(params, "messages"), whole_fits=kept_whole(messages))
    if placed.base:
        params = orjson.dumps(tail_params(params, placed.kept)).decode()
        record, messages = replace(record, params=params), as_array(texts[placed.kept :])
    return Told(record, messages, placed, bases)


def base_attributes(placed: Placed | None, before: Mapping[str, Any]) -> dict[str, Any]:
    """Name the base; where an earlier attempt of the same call named one (``before``: what is set on the span) and this
    one has none, take it back."""
    if placed is not None and placed.base:
        return {sc.HISTORY_BASE: placed.base, sc.HISTORY_KEPT: placed.kept}
    return {sc.HISTORY_BASE: ""} if sc.HISTORY_BASE in before else {}
