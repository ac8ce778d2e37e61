"""Every setting that a configuration file or the environment gives, with its place. May import the siblings and errors.

Order: what a call says, then ``SPANSEAL_*`` variables, then a configuration file that was named explicitly (argument or
``SPANSEAL_CONFIG``; never found by itself in the working directory, where it could redirect evidence), then defaults.
``OTEL_*`` variables that the SDK reads stay the SDK's; here are read only those that our own export must follow.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from spanseal.errors import SettingsError
from spanseal.settings.otlp_variables import endpoint_of, headers_of, no_grpc, resource_name
from spanseal.settings.value import Value
from spanseal.settings.variables import GENAI_CAPTURE

DEFAULT_MAX_VALUE_BYTES: Final = 4 * 1024 * 1024
_KEYS: Final = ("service_name", "export", "capture", "history", "spool_dir", "max_value_bytes", "threads")
_SDK_LIMITS: Final = ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "OTEL_SPAN_EVENT_COUNT_LIMIT", "OTEL_SPAN_LINK_COUNT_LIMIT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What variables and file say; None where they say nothing. ``endpoint`` and ``headers`` are OpenTelemetry's own.

    ``max_value_bytes`` bounds one content attribute (bytes of UTF-8); ``timeout`` is seconds for one export request;
    ``sdk_limits`` are the span limits that the user set for the SDK and that we therefore leave alone.
    """

    service_name: str | None = None
    export: str | None = None
    capture: Literal["off", "full"] | None = None
    history: Literal["full", "delta"] = "full"
    spool_dir: Path | None = None
    max_value_bytes: int = DEFAULT_MAX_VALUE_BYTES
    threads: bool = True
    genai_capture: bool | None = None
    endpoint: str | None = None
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    certificate: str | None = None
    timeout: float = 10.0
    sdk_limits: frozenset[str] = frozenset()


def load_settings(environ: Mapping[str, str] | None = None, file: str | Path | None = None) -> Settings:
    """Read the settings. Raises SettingsError, naming the place and the allowed values; the user is at fault.

    >>> load_settings({"SPANSEAL_CAPTURE": "off"}).capture
    'off'
    >>> load_settings({"SPANSEAL_CAPTURE": "some"})
    Traceback (most recent call last):
    spanseal.errors.SettingsError: SPANSEAL_CAPTURE: 'some' is not one of off, full
    """
    env = os.environ if environ is None else environ
    named = str(file) if file is not None else env.get("SPANSEAL_CONFIG", "")
    values = _from_file(Path(named)) if named else {}
    for key in _KEYS:
        variable = "SPANSEAL_" + key.upper()
        if env.get(variable):
            values[key] = Value(env[variable], variable)
    spool = values["spool_dir"].text() if "spool_dir" in values else None
    return Settings(
        service_name=values["service_name"].text() if "service_name" in values else resource_name(env),
        export=values["export"].text() if "export" in values else None,
        capture=_capture(values.get("capture")),
        history=_history(values.get("history")),
        spool_dir=Path(spool) if spool else None,
        max_value_bytes=values["max_value_bytes"].at_least(1024)
        if "max_value_bytes" in values
        else DEFAULT_MAX_VALUE_BYTES,
        threads=values["threads"].boolean() if "threads" in values else True,
        **_from_opentelemetry(env),
    )


def _capture(value: Value | None) -> Literal["off", "full"] | None:
    if value is None:
        return None
    return "full" if value.one_of("off", "full") == "full" else "off"


def _history(value: Value | None) -> Literal["full", "delta"]:
    return "delta" if value is not None and value.one_of("full", "delta") == "delta" else "full"


def _from_file(path: Path) -> dict[str, Value]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"{path}: the configuration file cannot be read ({error}); correct config= or SPANSEAL_CONFIG"
        ) from error
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: {error}; the file must be TOML") from error
    values: dict[str, Value] = {}
    for key, given in document.items():
        place = f"{path}:{_line_of(text, key)} {key}"
        if key not in _KEYS:
            raise SettingsError(f"{place}: no such setting; there are {', '.join(_KEYS)}")
        values[key] = Value(given, place)
    return values


def _line_of(text: str, key: str) -> int:
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip("[ \t\"'").startswith(key):
            return number
    return 1


def _from_opentelemetry(env: Mapping[str, str]) -> dict[str, Any]:
    mode = env.get(GENAI_CAPTURE, "")
    asked = _genai_capture(mode) if mode else None
    no_grpc(env)
    seconds = env.get("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT") or env.get("OTEL_EXPORTER_OTLP_TIMEOUT")
    return {
        "genai_capture": asked,
        "endpoint": endpoint_of(env),
        "headers": headers_of(env),
        "certificate": env.get("OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE") or env.get("OTEL_EXPORTER_OTLP_CERTIFICATE"),
        "timeout": Value(seconds, "OTEL_EXPORTER_OTLP_TIMEOUT").seconds() if seconds else 10.0,
        "sdk_limits": frozenset(name for name in _SDK_LIMITS if env.get(name)),
    }


def _genai_capture(mode: str) -> bool:
    """The conventions' own switch; ``true`` and ``false`` are its older spelling. Events alone are not spans."""
    allowed = ("NO_CONTENT", "SPAN_ONLY", "EVENT_ONLY", "SPAN_AND_EVENT", "TRUE", "FALSE")
    return Value(mode.upper(), GENAI_CAPTURE).one_of(*allowed) in ("SPAN_ONLY", "SPAN_AND_EVENT", "TRUE")
