"""Single variables that are asked for where they are needed: folders of the user, secrets, switches.

May import the standard library only.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

GENAI_CAPTURE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
"""The conventions' own switch for content."""
GENAI_EMIT_EVENT: Final = "OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT"
"""Their switch for events as log records."""

_REFERENCE: Final = re.compile(r"\$\$|\$\{(?:env:)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}")


def state_dir() -> Path:
    """Where this user's pins and remembered heads lie: ``SPANSEAL_STATE_DIR``, else the XDG state folder."""
    own = os.environ.get("SPANSEAL_STATE_DIR")
    if own:
        return Path(own)
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "spanseal"


def heads_file() -> Path:
    """Where this user's memory of the last head of each log lies."""
    return state_dir() / "heads.json"


def debug() -> bool:
    """Whether the command line shows tracebacks of our own faults: ``SPANSEAL_DEBUG`` set to anything but 0."""
    return os.environ.get("SPANSEAL_DEBUG", "0") not in ("", "0")


def sealer_token() -> str | None:
    """The bearer token between sender and sealer, ``SPANSEAL_TOKEN``; unset or empty: none."""
    return os.environ.get("SPANSEAL_TOKEN", "").strip() or None


def openai_api_key() -> str | None:
    """The key for OpenAI and compatible servers: ``OPENAI_API_KEY``; empty counts as not set."""
    return os.environ.get("OPENAI_API_KEY") or None


@dataclass(frozen=True, slots=True)
class ZeroCode:
    """What OpenTelemetry's variables say to ``opentelemetry-instrument``: ``off``, or whether traces go by ``otlp``."""

    off: bool
    otlp: bool


def zero_code() -> ZeroCode:
    """``OTEL_SDK_DISABLED``, ``OTEL_PYTHON_DISABLED_INSTRUMENTATIONS`` (names spanseal or ``*``) and the exporters."""

    def words(name: str) -> list[str]:
        return [word.strip() for word in os.environ.get(name, "").split(",") if word.strip()]

    disabled = os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    exporters = words("OTEL_TRACES_EXPORTER")
    return ZeroCode(
        off=disabled or not {"*", "spanseal"}.isdisjoint(words("OTEL_PYTHON_DISABLED_INSTRUMENTATIONS")),
        otlp=not exporters or any(word.startswith("otlp") for word in exporters),
    )


def chosen_exporters() -> tuple[tuple[str, str], ...]:
    """The exporters that OpenTelemetry's distribution would load: signal and name of the entry point.

    None where ``OTEL_PYTHON_DISTRO`` or ``OTEL_PYTHON_CONFIGURATOR`` choose another set-up, or the SDK is disabled.
    """
    env = os.environ
    if "none" in (env.get("OTEL_PYTHON_DISTRO"), env.get("OTEL_PYTHON_CONFIGURATOR")):
        return ()
    if env.get("OTEL_SDK_DISABLED", "").lower() == "true":
        return ()
    found: list[tuple[str, str]] = []
    for signal in ("traces", "metrics", "logs"):
        own = env.get(f"OTEL_EXPORTER_OTLP_{signal.upper()}_PROTOCOL")
        protocol = own or env.get("OTEL_EXPORTER_OTLP_PROTOCOL") or "grpc"
        for name in (env.get(f"OTEL_{signal.upper()}_EXPORTER") or "otlp").split(","):
            otlp = "otlp_proto_http" if protocol.strip() == "http/protobuf" else "otlp_proto_grpc"
            found.append((signal, otlp if name.strip() == "otlp" else name.strip()))
    return tuple(found)


def expanded(text: str) -> tuple[str, tuple[str, ...]]:
    """``text`` with ``${NAME}``, ``${env:NAME}`` and ``${env:NAME:-default}`` replaced, as a collector does.

    Returns also the names of variables that are not set and have no default; they become empty. ``$$`` is a dollar.
    """
    unset: list[str] = []

    def value(found: re.Match[str]) -> str:
        if found.group() == "$$":
            return "$"
        given = os.environ.get(found["name"])
        if given is None and found["default"] is None:
            unset.append(found["name"])
        return (found["default"] or "") if given is None else given

    return _REFERENCE.sub(value, text), tuple(unset)


def capture_variables() -> tuple[str | None, ...]:
    """The raw variables that decide about content before anything is configured; to notice that they changed."""
    names = (
        GENAI_CAPTURE, "SPANSEAL_CAPTURE", "SPANSEAL_MAX_VALUE_BYTES", "SPANSEAL_CONFIG", "SPANSEAL_REDACT",
        "SPANSEAL_REDACT_KEYS", "SPANSEAL_STREAM_IDLE_SECONDS", GENAI_EMIT_EVENT,
    )
    return tuple(os.environ.get(name) for name in names)
