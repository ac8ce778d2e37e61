"""OpenTelemetry's own variables, as far as our export must follow them: endpoint, headers, protocol, service name.

Source: OTLP exporter specification, "Endpoint URLs for OTLP/HTTP". May import the siblings and errors; the
environment comes in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote, urlsplit, urlunsplit

from spanseal.errors import SettingsError
from spanseal.settings.value import Value
from spanseal.settings.variables import GENAI_CAPTURE, GENAI_EMIT_EVENT

_LIMITS: Final = tuple(
    f"OTEL_{name}_LIMIT"
    for name in (
        "ATTRIBUTE_VALUE_LENGTH", "ATTRIBUTE_COUNT", "SPAN_ATTRIBUTE_VALUE_LENGTH", "SPAN_ATTRIBUTE_COUNT",
        "SPAN_EVENT_COUNT", "SPAN_LINK_COUNT", "EVENT_ATTRIBUTE_COUNT", "LINK_ATTRIBUTE_COUNT",
    )
)
_CREDENTIALS: Final = re.compile(r"(?<=://)[^/?#]*(?=@)|(?<=[?&=])[^?&=#]+(?=[&#]|$)")
_PROTOCOL = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")


def from_opentelemetry(env: Mapping[str, str], events: Value | None) -> dict[str, Any]:
    """The fields of ``Settings`` that OpenTelemetry's own variables give; ``events`` is our own setting."""
    seconds = _of_traces(env, "TIMEOUT")
    packed = _of_traces(env, "COMPRESSION")
    content = _content(env.get(GENAI_CAPTURE, ""))
    return {
        "genai_capture": None if content is None else content in ("SPAN_ONLY", "SPAN_AND_EVENT", "TRUE"),
        "content_on_events": content in ("EVENT_ONLY", "SPAN_AND_EVENT"),
        "events": events.boolean() if events is not None else _emit_event(env),
        "semconv_opt_in": frozenset(
            word.strip() for word in env.get("OTEL_SEMCONV_STABILITY_OPT_IN", "").split(",") if word.strip()
        ),
        "endpoint": None if (fault := endpoint_fault(env)) else endpoint_of(env),
        "endpoint_fault": fault,
        "headers": headers_of(env),
        "certificate": _of_traces(env, "CERTIFICATE"),
        "client_certificate": _of_traces(env, "CLIENT_CERTIFICATE"),
        "client_key": _of_traces(env, "CLIENT_KEY"),
        "compression": Value(packed, "OTEL_EXPORTER_OTLP_COMPRESSION").one_of("gzip", "none") if packed else "none",
        "timeout": Value(seconds, "OTEL_EXPORTER_OTLP_TIMEOUT").seconds() if seconds else 10.0,
        "sdk_limits": frozenset(name for name in _LIMITS if env.get(name)),
    }


def _of_traces(env: Mapping[str, str], name: str) -> str | None:
    return env.get(f"OTEL_EXPORTER_OTLP_TRACES_{name}") or env.get(f"OTEL_EXPORTER_OTLP_{name}") or None


def _content(mode: str) -> str | None:
    """The conventions' own switch; ``true`` and ``false`` are its older spelling. None where it is not set."""
    allowed = ("NO_CONTENT", "SPAN_ONLY", "EVENT_ONLY", "SPAN_AND_EVENT", "TRUE", "FALSE")
    return Value(mode.upper(), GENAI_CAPTURE).one_of(*allowed) if mode else None


def _emit_event(env: Mapping[str, str]) -> bool | None:
    given = env.get(GENAI_EMIT_EVENT)
    return Value(given, GENAI_EMIT_EVENT).boolean() if given else None


def traces_url(base: str, place: str) -> str:
    """The URL that takes traces below an OTLP/HTTP base URL; raises SettingsError for what is no http(s) URL.

    >>> traces_url("http://localhost:4318", "export")
    'http://localhost:4318/v1/traces'
    >>> traces_url("https://host/otlp/?key=1", "export")
    'https://host/otlp/v1/traces?key=1'
    """
    checked(base, place)
    parts = urlsplit(base)
    path = parts.path.rstrip("/")
    return urlunsplit(parts._replace(path=path if path.endswith("/v1/traces") else path + "/v1/traces", fragment=""))


def beside(url: str, path: str) -> str:
    """``url`` with ``path`` behind its own; what follows a question mark stays where it is.

    >>> beside("https://host/otlp/?key=1", "/v1/logs")
    'https://host/otlp/v1/logs?key=1'
    """
    parts = urlsplit(url)
    return urlunsplit(parts._replace(path=parts.path.rstrip("/") + path))


def endpoint_of(env: Mapping[str, str]) -> str | None:
    """Where the standard variables send traces (OTLP exporter specification, "Endpoint URLs for OTLP/HTTP")."""
    own = env.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    if env.get("OTEL_TRACES_EXPORTER", "").strip() == "none":
        return None
    if own:
        return checked(own, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
    base = env.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    if base:
        return beside(checked(base, "OTEL_EXPORTER_OTLP_ENDPOINT"), "/v1/traces")
    return None


def headers_of(env: Mapping[str, str], signal: str = "TRACES") -> tuple[tuple[str, str], ...]:
    """The headers that the standard variables ask for (W3C baggage form: ``a=b,c=d``, percent-encoded)."""
    for name in (f"OTEL_EXPORTER_OTLP_{signal}_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"):
        if env.get(name):
            return tuple(_header(item, name) for item in env[name].split(",") if item.strip())
    return ()


def endpoint_fault(env: Mapping[str, str]) -> str:
    """What to say to whoever wants our export, which speaks OTLP/HTTP, to go to a gRPC endpoint; empty if nobody could.

    It may be meant for another exporter of the process: the fault of whoever uses it, not of the variables.
    """
    protocol = next((name for name in _PROTOCOL if env.get(name)), None)
    named = env.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") or env.get("OTEL_EXPORTER_OTLP_ENDPOINT")
    if protocol is None or not named or env[protocol] != "grpc":
        return ""
    return f"{protocol}: 'grpc' is not one of http/json, http/protobuf; spanseal speaks OTLP/HTTP (port 4318)"


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


def checked(url: str, place: str) -> str:
    """``url`` itself; raises SettingsError for what is no http(s) URL."""
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        shown = _CREDENTIALS.sub("***", url)
        raise SettingsError(f"{place}: {shown!r} is not an http or https URL")
    return url
