"""Salted digests of values that are not recorded: equal values of one run can be told to be equal, and no more.

The digest is HMAC-SHA-256, its first 32 hex digits, under a key made of a secret of this process and the run's id
(outside of a run: the trace's). The secret is kept in memory only and dies with the process: without it nobody can try
short values out, with the process gone nobody can at all, and values of two runs cannot be compared. A forked child
has its parent's secret. May import semconv and ``spans.limits``.
"""

from __future__ import annotations

import contextlib
import hmac
from collections import OrderedDict
from collections.abc import Mapping
from functools import lru_cache
from secrets import token_bytes
from typing import Any, Final, cast

from opentelemetry.trace import Span

from spanseal.genai import semconv as sc
from spanseal.telemetry.spans.limits import kept_attributes

_SECRET: Final = token_bytes(32)
_MOST: Final = 10_000
_masked: Final[OrderedDict[str, None]] = OrderedDict()


def scope_masked(span: Span) -> None:
    """Something of what ``span``'s run (or trace) said was masked."""
    _masked[scope_of(span)] = None
    if len(_masked) > _MOST:
        with contextlib.suppress(KeyError):  # another thread forgot it in between
            _masked.popitem(last=False)


def scope_is_masked(span: Span) -> bool:
    """Whether that was so in this process, among the last ten thousand runs."""
    return bool(_masked) and scope_of(span) in _masked


def salted_digest(span: Span, data: bytes) -> str:
    """The digest of ``data`` among the values of the run (or trace) that ``span`` belongs to; 32 hex digits."""
    return hmac.digest(_salt(scope_of(span)), data, "sha256").hex()[:32]


def run_of_span(span: Span) -> str:
    """The run that the span was numbered in; empty where there is none."""
    run = attributes_of(span).get(sc.RUN_ID)
    return run if isinstance(run, str) else ""


def attributes_of(span: Span) -> Mapping[str, Any]:
    """What is set on a span so far, as far as it tells."""
    found = kept_attributes(span) or getattr(span, "attributes", None)
    return cast("Mapping[str, Any]", found) if isinstance(found, Mapping) else {}


def scope_of(span: Span) -> str:
    """What content of this span is kept and erased with: its run, else its trace."""
    return run_of_span(span) or f"{span.get_span_context().trace_id:032x}"


def digest_attributes(span: Span, key: str, text: str) -> dict[str, Any]:
    """Size and salted digest of the content ``key`` of ``span``, as attributes for it. May raise."""
    data = text.encode("utf-8", "surrogatepass")
    return {sc.BYTES_OF + key: len(data), sc.DIGEST_OF + key: salted_digest(span, data)}


@lru_cache(256)
def _salt(scope: str) -> bytes:
    return hmac.digest(_SECRET, scope.encode(), "sha256")
