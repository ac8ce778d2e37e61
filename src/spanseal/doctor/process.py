"""What ``configure()`` would do in this environment: captured, masked, sampled, exported, to where, with which limits.

Nothing is switched on. May import telemetry, the settings and the SDK's sampler and limits as it reads them itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from opentelemetry.sdk.trace import SpanLimits
from opentelemetry.sdk.trace.sampling import Sampler

from spanseal.doctor.finding import Finding
from spanseal.genai import semconv
from spanseal.settings import Settings, SignalVariables, load_settings, state_dir
from spanseal.telemetry.export.otlp_http import without_secrets
from spanseal.telemetry.plan import Plan, checked, headers_of, planned
from spanseal.telemetry.providers import OwnProvider
from spanseal.telemetry.signals.set_up import place_of

_LENGTHS = ("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT")


@dataclass(frozen=True, slots=True)
class Process:
    """The settings, what follows from them, and the SDK's sampler and limits as this environment makes them."""

    settings: Settings
    plan: Plan
    sampler: Sampler
    limits: SpanLimits

    @property
    def capture(self) -> str:
        """``full`` or ``off``, defaults included."""
        return self.plan.capture or ("full" if self.plan.folder is not None else "off")

    @property
    def spool(self) -> Path:
        """Where spans wait that go to a URL."""
        return (self.settings.spool_dir or state_dir() / "spool").absolute()

    def facts(self) -> dict[str, str]:
        """What a person wants to know, as name and words."""
        plan, settings = self.plan, self.settings
        masked = ", ".join((*plan.redactor.classes, *(_name(found) for found in plan.redactor.custom))) or "nothing"
        facts = {
            "service": settings.service_name or "unknown_service:python",
            "capture": self.capture,
            "history": plan.history,
            "masked": f"{masked}; and what stands under keys of {len(plan.redactor.keys)} patterns (redact_keys)",
            "sampled": f"{self.sampler.get_description()}; what it drops is recorded for the audit route and marked",
            "export": str(plan.folder or without_secrets(plan.url or "nowhere")),
            "durability": _durability(plan, settings),
        }
        if plan.url is not None:
            facts["spool"] = (
                f"{self.spool}, at most {settings.spool_max_bytes:,} bytes, then {settings.spool_full}; "
                f"requests time out after {settings.timeout:g} s, compression {settings.compression}"
            )
            facts["authentication"] = self._authentication()
        facts["metrics"] = self._signal(settings.metric_variables, "metrics", on=settings.metrics)
        facts["events"] = self._signal(settings.log_variables, "logs", on=settings.events is not False)
        facts["limits"] = self._limits()
        facts["streams"] = (
            f"ended when not read for {settings.stream_idle_seconds:g} s"
            if settings.stream_idle_seconds
            else "never ended by us before exit"
        )
        carried = "into threads, thread pools and process pools"
        facts["carried"] = carried if settings.threads else f"not {carried}"
        return facts

    def findings(self) -> Iterator[Finding]:
        """What in these settings loses or shows more than is wanted."""
        plan, settings = self.plan, self.settings
        if settings.endpoint_fault:
            used = plan.folder is not None or plan.url is not None
            yield Finding("info" if used else "bad", "endpoint-not-ours", "OTEL_EXPORTER_OTLP_ENDPOINT",
                          settings.endpoint_fault + ("; it is left to other exporters of the process" if used else ""),
                          "" if used else "OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf and port 4318, or SPANSEAL_EXPORT")
        elif plan.folder is None and plan.url is None:
            yield Finding("bad", "no-export", "SPANSEAL_EXPORT", "spans go nowhere by our hand",
                          "configure(export=…), SPANSEAL_EXPORT or OTEL_EXPORTER_OTLP_ENDPOINT")
        if self.capture == "off":
            yield Finding("info", "no-content", "SPANSEAL_CAPTURE", "no content: runs can be proved, not replayed",
                          'capture="full"')
        if plan.durability == "off":
            yield Finding("warn", "not-durable", "SPANSEAL_DURABILITY", "spans wait in memory: a kill loses them",
                          "durability = group or sync")
        for name in sorted(settings.sdk_limits):
            cuts = name in _LENGTHS
            yield Finding(
                "warn" if cuts else "info", "sdk-limit", name,
                "other exporters of this process get values cut in the middle; ours are kept whole" if cuts
                else "the SDK drops the oldest beyond this number; ours are kept beside",
                f"unset {name}",
            )
        if plan.url is not None and plan.url.startswith("http://") and not _on_this_machine(plan.url):
            yield Finding("warn", "plain-http", "export", f"spans go to {without_secrets(plan.url)} unencrypted",
                          "https:// and SPANSEAL_TOKEN")

    def _signal(self, said: SignalVariables, signal: str, *, on: bool) -> str:
        place = place_of(said, signal, self.plan.folder, self.plan.url) if on else None
        if not on:
            return "off"
        words = "nowhere by our hand" if place is None else without_secrets(str(place))
        older = signal == "metrics" and semconv.OPT_IN_BEFORE_TOO in self.settings.semconv_opt_in
        also = ", under the names before the pinned conventions too" if older else ""
        return f"{words}{also}; to the application's own provider where it has one"

    def _authentication(self) -> str:
        own = dict(self.settings.headers)
        found = [name if name in own else "SPANSEAL_TOKEN" for name in headers_of(self.plan, self.settings)]
        if self.settings.client_certificate:
            found.append("client certificate")
        return ", ".join(found) or "none"

    def _limits(self) -> str:
        limits = self.limits
        most = f"{limits.max_span_attributes} attributes, {limits.max_events} events, {limits.max_links} links a span"
        cut = limits.max_span_attribute_length
        return f"{most}; values over {self.settings.max_value_bytes:,} bytes go aside" + (
            f"; the SDK cuts values at {cut} characters" if cut is not None else ""
        )


def this_process(export: str | None, config: Path | None) -> Process:
    """What ``configure(export=…, config=…)`` would do here. Raises SettingsError, naming the place."""
    asked = checked(
        service_name=None, export=export, capture=None, history=None, config=config, effects=None, durability=None,
        redact=None,
    )
    settings = load_settings(file=asked.config)
    usable = replace(settings, endpoint_fault="")  # configure() would raise it; here it is a finding
    provider = OwnProvider("doctor", settings)
    try:
        return Process(settings, planned(asked, export, usable), provider.record_all.inner, provider.limits)
    finally:
        provider.shutdown()


def _durability(plan: Plan, settings: Settings) -> str:
    words = {
        "sync": "on disk before a span's end() returns",
        "group": f"written before a span's end() returns, synced within {settings.group_ms} ms",
        "off": "in memory only",
    }
    return f"{plan.durability}: {words[plan.durability]}"


def _on_this_machine(url: str) -> bool:
    return any(url.startswith(f"http://{host}") for host in ("127.", "localhost", "[::1]"))


def _name(function: object) -> str:
    return str(getattr(function, "__qualname__", type(function).__qualname__))
