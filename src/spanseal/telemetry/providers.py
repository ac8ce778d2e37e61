"""The tracer provider: a new one if the process has none, else the one that is there. DESIGN 10.3.

OpenTelemetry lets a process set its provider once. Ours therefore stays, and one relay per provider passes spans on to
whatever is configured at the time, or to nothing. May import genai's names, settings and trace_state.
"""

from __future__ import annotations

import uuid
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

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
from spanseal.telemetry.propagation.trace_state import current, trace_state_of

_LIMITS: Final = {
    "max_span_attributes": ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", 4096),
    "max_events": ("OTEL_SPAN_EVENT_COUNT_LIMIT", 10_000),
    "max_links": ("OTEL_SPAN_LINK_COUNT_LIMIT", 1024),
}
AnyProvider: TypeAlias = Any


class RecordAll(Sampler):
    """Samples as ``inner`` says, but records what it drops, for the audit route (the ledger processor marks it).

    And tells the run further in ``tracestate``.
    """

    def __init__(self, inner: Sampler) -> None:
        self.inner = inner
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
        result = self.inner.should_sample(parent_context, trace_id, name, kind, attributes, links, trace_state)
        if not self.switched_on:
            return result
        dropped = result.decision is Decision.DROP
        try:
            told = trace_state_of(result.trace_state, attributes, current(parent_context))
        except Exception:  # noqa: BLE001 - a fault of ours must not keep a span from being made (DESIGN 10.4)
            told = result.trace_state
        if dropped:
            return SamplingResult(Decision.RECORD_ONLY, attributes, told)
        if told is result.trace_state:
            return result
        return SamplingResult(result.decision, cast("Attributes", result.attributes), told)  # pyright: ignore[reportUnknownMemberType]

    def get_description(self) -> str:
        """For people."""
        return f"RecordAll({self.inner.get_description()})"


class OwnProvider(TracerProvider):
    """A provider of ours: records everything, with generous limits (the SDK drops the oldest beyond its limits)."""

    def __init__(self, service_name: str, settings: Settings, *, sampler: Sampler | None = None) -> None:
        limits = {key: most for key, (name, most) in _LIMITS.items() if name not in settings.sdk_limits}
        self.limits = SpanLimits(**limits)
        super().__init__(sampler=sampler, resource=_resource(service_name), span_limits=self.limits)
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

    def record_ours(self, *, on: bool) -> None:
        """Whether spans of our own scope are recorded where the application's sampler drops them.

        In a provider of ours that is so for every span. In another one only our tracer samples otherwise than before:
        what the application's exporters send stays the same, since they leave out what is recorded and not sampled.
        """
        ours = isinstance(self.provider, OwnProvider)
        record_all: RecordAll | None = self.provider.record_all if ours else _in_our_tracer(self.provider)
        if record_all is not None:
            record_all.switched_on = on


def _in_our_tracer(provider: AnyProvider) -> RecordAll | None:
    tracer: Any = provider.get_tracer(semconv.SCOPE_NAME, __version__, semconv.SCHEMA_URL)
    sampler = getattr(tracer, "sampler", None)
    if isinstance(sampler, Sampler) and not isinstance(sampler, RecordAll):
        sampler = tracer.sampler = RecordAll(sampler)
    return sampler if isinstance(sampler, RecordAll) else None


_relays: Final[weakref.WeakKeyDictionary[Any, Relay]] = weakref.WeakKeyDictionary()


def foreign_provider() -> bool:
    """Whether the process has a provider that is not ours."""
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider | OwnProvider)


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
