"""Span limits of the SDK, set by the environment or in code: what they would damage on our own spans is kept beside.

The SDK cuts texts in the middle, JSON too, and drops the oldest attributes and events. Where limits are tight, our
spans are watched: what is set on them goes into :class:`Kept` whole, and is put back before our exporters get the span.
On the span itself, which other people's exporters get, a text that would be cut says so: JSON becomes the mark of a
value that is elsewhere (or is left out, where even that is too long), other text ends in an ellipsis. Spans of others
are not ours to watch. May import active and records; opentelemetry.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, cast

from opentelemetry import trace
from opentelemetry.attributes import BoundedAttributes
from opentelemetry.sdk.trace import Event, ReadableSpan, Span, SpanLimits
from opentelemetry.trace import Link, SpanKind, Tracer

from spanseal.records.large_values import Mark
from spanseal.telemetry.active import active

_log = logging.getLogger("spanseal")
_USUAL: Final = 128
_NAMES: Final = (
    ("max_span_attribute_length", "texts of attributes cut at {} characters"),
    ("max_attribute_length", "texts in events and links cut at {} characters"),
    ("max_span_attributes", "at most {} attributes"),
    ("max_events", "at most {} events"),
    ("max_event_attributes", "at most {} attributes of an event"),
    ("max_links", "at most {} links"),
    ("max_link_attributes", "at most {} attributes of a link"),
)


@dataclass(slots=True)
class Kept:
    """What was set on a span of ours, whole."""

    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    events: list[Event] = field(default_factory=list[Event])
    links: tuple[Link, ...] = ()


_kept: Final[dict[tuple[int, int], Kept]] = {}


def tight_limits(provider: object) -> tuple[str, ...]:
    """In words, the limits of a provider that are tighter than the SDK's usual ones; none of a provider without any."""
    limits = getattr(provider, "_span_limits", None)
    if not isinstance(limits, SpanLimits):
        return ()
    found: list[str] = []
    for name, words in _NAMES:
        most = cast("int | None", getattr(limits, name, None))
        if most is not None and ("length" in name or most < _USUAL):
            found.append(words.format(most))
    return tuple(found)


def tell_limits(provider: object) -> None:
    """One line in the log where limits are tight: which, and what is done."""
    found = tight_limits(provider)
    if found:
        _log.warning(
            "span limits are in force (%s): spanseal keeps its own spans whole and exports them so; other exporters "
            "get a mark where a text would be cut; spans of other instrumentations are cut by the SDK",
            ", ".join(found),
        )


def watched(provider: object, tracer: Tracer) -> Tracer:
    """``tracer``, or where the provider's limits are tight one whose spans lose nothing."""
    if not tight_limits(provider):
        return tracer
    return _WatchingTracer(tracer, cast("SpanLimits", getattr(provider, "_span_limits")))  # noqa: B009 - private


def whole(span: ReadableSpan) -> ReadableSpan:
    """The ended span as it would be without limits. To be called once for each."""
    where = span.get_span_context() if _kept else None
    kept = None if where is None else _kept.pop((where.trace_id, where.span_id), None)
    if kept is None:
        return span
    return ReadableSpan(
        span.name, span.context, span.parent, span.resource, {**(span.attributes or {}), **kept.attributes},
        kept.events, kept.links, span.kind, None, span.status, span.start_time, span.end_time,
        span.instrumentation_scope,
    )


def kept_attributes(span: trace.Span) -> Mapping[str, Any]:
    """What is set on a watched span that is under way; empty for any other."""
    if not _kept:
        return {}
    where = span.get_span_context()
    found = _kept.get((where.trace_id, where.span_id))
    return {} if found is None else found.attributes


class _WatchingTracer(Tracer):
    def __init__(self, inner: Tracer, limits: SpanLimits) -> None:
        self._inner = inner
        self._limits = limits

    def start_span(
        self,
        name: str,
        context: Any = None,
        kind: SpanKind = SpanKind.INTERNAL,
        attributes: Any = None,
        links: Sequence[Link] | None = None,
        start_time: int | None = None,
        record_exception: bool = True,
        set_status_on_exception: bool = True,
    ) -> trace.Span:
        marked = _safely_marked(attributes or {}, self._limits.max_span_attribute_length)
        span = self._inner.start_span(
            name, context, kind, marked, links, start_time, record_exception, set_status_on_exception
        )
        if isinstance(span, Span):
            with suppress(Exception):  # telemetry raises nothing into the application (DESIGN 10.4)
                _watch(span, attributes or {}, tuple(links or ()), self._limits)
        return span

    @contextmanager
    def start_as_current_span(self, name: str, *args: Any, **options: Any) -> Generator[trace.Span]:  # pyright: ignore[reportIncompatibleMethodOverride] - the same for callers
        end_on_exit = bool(options.pop("end_on_exit", True))
        span = self.start_span(name, *args, **options)
        with trace.use_span(
            span,
            end_on_exit=end_on_exit,
            record_exception=bool(options.get("record_exception", True)),
            set_status_on_exception=bool(options.get("set_status_on_exception", True)),
        ):
            yield span


def _watch(span: Span, attributes: Mapping[str, Any], links: tuple[Link, ...], limits: SpanLimits) -> None:
    """From now on what is set on the span is kept; the span's own methods are shadowed on this one object."""
    where = span.get_span_context()
    kept = Kept({**(span.attributes or {}), **_valid(attributes)}, [], links)
    if active().ledger is not None:
        _kept[where.trace_id, where.span_id] = kept
    set_all, add = span.set_attributes, span.add_event

    def set_attributes(attributes: Mapping[str, Any]) -> None:
        with suppress(Exception):
            kept.attributes.update(_valid(attributes))
        set_all(_safely_marked(attributes, limits.max_span_attribute_length))

    def set_attribute(key: str, value: Any) -> None:
        set_attributes({key: value})

    def add_event(name: str, attributes: Mapping[str, Any] | None = None, timestamp: int | None = None) -> None:
        at = time.time_ns() if timestamp is None else timestamp
        with suppress(Exception):
            kept.events.append(Event(name, _valid(attributes or {}), at))
        add(name, _safely_marked(attributes or {}, limits.max_attribute_length), at)

    for method in (set_attributes, set_attribute, add_event):
        setattr(span, method.__name__, method)


def _safely_marked(attributes: Mapping[str, Any], limit: int | None) -> Mapping[str, Any]:
    """As :func:`_marked`; where that fails the attributes as they are, which the SDK then cuts."""
    try:
        return _marked(attributes, limit)
    except Exception:  # noqa: BLE001 - telemetry raises nothing into the application (DESIGN 10.4)
        return attributes


def _valid(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """What the SDK takes, without its limits."""
    return dict(BoundedAttributes(None, attributes, immutable=False))


def _marked(attributes: Mapping[str, Any], limit: int | None) -> dict[str, Any]:
    """Attributes of which the SDK cuts no text: what is too long says so."""
    if limit is None:
        return dict(attributes)
    fitting = {key: _fitting(value, limit) for key, value in attributes.items()}
    return {key: value for key, value in fitting.items() if value is not None or attributes[key] is None}


def _fitting(value: Any, limit: int) -> Any:
    if isinstance(value, list | tuple):
        items = [_fitting(item, limit) for item in cast("Sequence[Any]", value)]
        return [item for item in items if item is not None]
    if not isinstance(value, str) or len(value) <= limit:
        return value
    if value[:1] not in ("{", "["):
        return value[: limit - 1] + "…" if limit else None
    raw = value.encode("utf-8", "surrogatepass")
    mark = Mark(len(raw), hashlib.sha256(raw).hexdigest()).text()
    return mark if len(mark) <= limit else None
