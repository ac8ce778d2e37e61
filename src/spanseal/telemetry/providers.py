"""The tracer provider: a new one if the process has none, else the one that is there. DESIGN 10.3.

OpenTelemetry lets a process set its provider once. Ours therefore stays, and one relay per provider passes spans on to
whatever is configured at the time, or to nothing. May import genai's names and settings.
"""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.sampling import Decision, Sampler, SamplingResult
from opentelemetry.trace import Link, SpanKind
from opentelemetry.trace.span import TraceState
from opentelemetry.util.types import Attributes

from spanseal import __version__
from spanseal.genai import semconv
from spanseal.settings import Settings

_LIMITS: Final = {
    "max_span_attributes": ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", 4096),
    "max_events": ("OTEL_SPAN_EVENT_COUNT_LIMIT", 10_000),
    "max_links": ("OTEL_SPAN_LINK_COUNT_LIMIT", 1024),
}
AnyProvider: TypeAlias = Any


class RecordAll(Sampler):
    """Samples as ``inner`` says, but records what it drops: for the audit route, marked by the ledger processor."""

    def __init__(self, inner: Sampler) -> None:
        self._inner = inner
        self.switched_on = True

    def should_sample(
        self,
        parent_context: Context | None,
        trace_id: int,
        name: str,
        kind: SpanKind | None = None,
        attributes: Attributes = None,
        links: Sequence[Link] | None = None,
        trace_state: TraceState | None = None,
    ) -> SamplingResult:
        """``inner``'s result, with DROP turned into RECORD_ONLY."""
        result = self._inner.should_sample(parent_context, trace_id, name, kind, attributes, links, trace_state)
        if result.decision is Decision.DROP and self.switched_on:
            return SamplingResult(Decision.RECORD_ONLY, attributes, result.trace_state)
        return result

    def get_description(self) -> str:
        """For people."""
        return f"RecordAll({self._inner.get_description()})"


class OwnProvider(TracerProvider):
    """A provider of ours: records everything, with generous limits (the SDK drops the oldest beyond its limits)."""

    def __init__(self, service_name: str, settings: Settings, *, sampler: Sampler | None = None) -> None:
        limits = {key: most for key, (name, most) in _LIMITS.items() if name not in settings.sdk_limits}
        super().__init__(sampler=sampler, resource=_resource(service_name), span_limits=SpanLimits(**limits))
        self.record_all = RecordAll(self.sampler)
        self.sampler = self.record_all

    def restart(self, service_name: str) -> None:
        """A second life after shutdown: the resource tells the new name, also to tracers that exist already."""
        self.record_all.switched_on = True
        self._update_resource(_resource(service_name))

    def _handle_fork(self) -> None:
        """A child process is its own instance."""
        super()._handle_fork()
        self._update_resource(Resource({semconv.SERVICE_INSTANCE_ID: str(uuid.uuid4())}))


class Relay(SpanProcessor):
    """Passes spans on to ``target``; None: to nobody. A processor cannot be taken out of a provider again."""

    def __init__(self) -> None:
        self.target: SpanProcessor | None = None

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Pass on."""
        if self.target is not None:
            self.target.on_start(span, parent_context)

    def on_end(self, span: ReadableSpan) -> None:
        """Pass on."""
        if self.target is not None:
            self.target.on_end(span)

    def shutdown(self) -> None:
        """The provider's shutdown, at the latest at exit."""
        if self.target is not None:
            self.target.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        """Pass on; nobody has nothing to flush."""
        return self.target is None or self.target.force_flush(timeout_millis)


@dataclass(frozen=True, slots=True)
class Installed:
    """A provider with our relay in it; ``own`` if we made it, ``relay`` None if it takes no processors."""

    provider: AnyProvider
    relay: Relay | None
    own: bool


_relays: Final[weakref.WeakKeyDictionary[Any, Relay]] = weakref.WeakKeyDictionary()


def install(service_name: str, settings: Settings) -> Installed:
    """Our relay in the process's provider, which is made if there is none."""
    provider: AnyProvider = trace.get_tracer_provider()
    if isinstance(provider, trace.ProxyTracerProvider):
        provider = OwnProvider(service_name, settings)
        trace.set_tracer_provider(provider)
    elif isinstance(provider, OwnProvider):
        provider.restart(service_name)
    return Installed(provider, relay_in(provider), isinstance(provider, OwnProvider))


def relay_in(provider: AnyProvider) -> Relay | None:
    """The one relay of a provider; put in now if it has none."""
    add = getattr(provider, "add_span_processor", None)
    if add is None:
        return None
    relay = _relays.get(provider)
    if relay is None:
        relay = _relays[provider] = Relay()
        add(relay)
    return relay


def _resource(service_name: str) -> Resource:
    given = {
        semconv.SERVICE_NAME: service_name,
        semconv.SERVICE_INSTANCE_ID: str(uuid.uuid4()),
        semconv.DISTRO_NAME: semconv.SCOPE_NAME,
    }
    return Resource.create({**given, semconv.DISTRO_VERSION: __version__})
