"""OpenTelemetry's own variables for metrics and logs: where they go, with which headers, how often, or that they don't.

Source: OTLP exporter specification ("Endpoint URLs for OTLP/HTTP"), SDK environment variables ("Exporter Selection").
May import the siblings and errors; the environment comes in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from spanseal.settings.otlp_variables import beside, checked, headers_of
from spanseal.settings.value import Value

Signal: TypeAlias = Literal["METRICS", "LOGS"]


@dataclass(frozen=True, slots=True)
class SignalVariables:
    """What the variables say of one signal. ``own`` is its own endpoint, ``shared`` what the common one makes of it.

    ``off``: another exporter was chosen, or none. ``interval`` in seconds, of metrics; ``delta``: what came since the
    last time and no totals.
    """

    own: str | None = None
    shared: str | None = None
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    certificate: str | None = None
    client_certificate: str | None = None
    client_key: str | None = None
    compression: Literal["none", "gzip"] = "none"
    timeout: float = 10.0
    off: bool = False
    interval: float = 60.0
    delta: bool = False


def signal_variables(env: Mapping[str, str], signal: Signal) -> SignalVariables:
    """Raises SettingsError for what cannot be.

    >>> signal_variables({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, "METRICS").shared
    'http://c:4318/v1/metrics'
    >>> signal_variables({"OTEL_LOGS_EXPORTER": "none"}, "LOGS").off
    True
    """

    def given(name: str) -> str | None:
        return env.get(f"OTEL_EXPORTER_OTLP_{signal}_{name}") or env.get(f"OTEL_EXPORTER_OTLP_{name}") or None

    base, own_name = env.get("OTEL_EXPORTER_OTLP_ENDPOINT"), f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT"
    own = env.get(own_name)
    if given("PROTOCOL") == "grpc":  # meant for another exporter: we speak OTLP/HTTP
        base = own = None
    chosen = [word.strip() for word in env.get(f"OTEL_{signal}_EXPORTER", "").split(",") if word.strip()]
    every, seconds, packed = env.get("OTEL_METRIC_EXPORT_INTERVAL"), given("TIMEOUT"), given("COMPRESSION")
    timeout = f"OTEL_EXPORTER_OTLP_{signal}_TIMEOUT"
    timeout = timeout if env.get(timeout) else "OTEL_EXPORTER_OTLP_TIMEOUT"
    return SignalVariables(
        own=checked(own, own_name) if own else None,
        shared=beside(checked(base, "OTEL_EXPORTER_OTLP_ENDPOINT"), f"/v1/{signal.lower()}") if base else None,
        headers=headers_of(env, signal),
        certificate=given("CERTIFICATE"),
        client_certificate=given("CLIENT_CERTIFICATE"),
        client_key=given("CLIENT_KEY"),
        compression="gzip" if packed == "gzip" else "none",
        timeout=Value(seconds, timeout).seconds() if seconds else 10.0,
        off=_disabled(env) or (bool(chosen) and "otlp" not in chosen),
        delta=env.get("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "").lower() in ("delta", "lowmemory"),
        interval=Value(every, "OTEL_METRIC_EXPORT_INTERVAL").seconds() / 1000 if every else 60.0,
    )


def _disabled(env: Mapping[str, str]) -> bool:
    return env.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
