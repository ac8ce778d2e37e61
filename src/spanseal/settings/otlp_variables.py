"""OpenTelemetry's own variables, as far as our export must follow them: endpoint, headers, protocol, service name.

Source: OTLP exporter specification, "Endpoint URLs for OTLP/HTTP". May import errors only; the environment comes in.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

from spanseal.errors import SettingsError

_PROTOCOL = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")


def traces_url(base: str, place: str) -> str:
    """The URL that takes traces below an OTLP/HTTP base URL; raises SettingsError for what is no http(s) URL.

    >>> traces_url("http://localhost:4318", "export")
    'http://localhost:4318/v1/traces'
    """
    _checked(base, place)
    stripped = base.rstrip("/")
    return stripped if stripped.endswith("/v1/traces") else stripped + "/v1/traces"


def endpoint_of(env: Mapping[str, str]) -> str | None:
    """Where the standard variables send traces (OTLP exporter specification, "Endpoint URLs for OTLP/HTTP")."""
    own = env.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    if own:
        return _checked(own, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    base = env.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    if base:
        return _checked(base, "OTEL_EXPORTER_OTLP_ENDPOINT").rstrip("/") + "/v1/traces"
    return None


def headers_of(env: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """The headers that the standard variables ask for (W3C baggage form: ``a=b,c=d``, percent-encoded)."""
    for name in ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"):
        if env.get(name):
            return tuple(_header(item, name) for item in env[name].split(",") if item.strip())
    return ()


def no_grpc(env: Mapping[str, str]) -> None:
    """Our export speaks OTLP/HTTP; say so when the variables name a gRPC endpoint instead of failing later."""
    for name in _PROTOCOL:
        if env.get(name) and endpoint_of(env):
            if env[name] == "grpc":
                raise SettingsError(
                    f"{name}: 'grpc' is not one of http/json, http/protobuf; spanseal speaks OTLP/HTTP (port 4318)"
                )
            return


def resource_name(env: Mapping[str, str]) -> str | None:
    """The service name that the standard variables give."""
    if env.get("OTEL_SERVICE_NAME"):
        return env["OTEL_SERVICE_NAME"]
    for item in env.get("OTEL_RESOURCE_ATTRIBUTES", "").split(","):
        key, _, value = item.partition("=")
        if key.strip() == "service.name" and value.strip():
            return unquote(value.strip())
    return None


def _header(item: str, place: str) -> tuple[str, str]:
    key, sign, value = item.partition("=")
    name, content = key.strip().lower(), unquote(value.strip())
    if not sign or not name.isascii() or not name or any(ord(sign) < 32 for sign in name + content):
        raise SettingsError(f"{place}: not a list of name=value (the value itself is not shown here)")
    return name, content


def _checked(url: str, place: str) -> str:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise SettingsError(f"{place}: {url!r} is not an http or https URL")
    return url
