"""Every setting that a configuration file or the environment gives, with its place. May import the siblings and errors.

Order: what a call says, then ``SPANSEAL_*`` variables, then a configuration file that was named explicitly (argument or
``SPANSEAL_CONFIG``; never found by itself in the working directory, where it could redirect evidence), then defaults.
``OTEL_*`` variables that the SDK reads stay the SDK's; here are read only those that our own export must follow.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from spanseal.errors import SettingsError
from spanseal.settings.otlp_signals import SignalVariables, signal_variables
from spanseal.settings.otlp_variables import from_opentelemetry, resource_name
from spanseal.settings.value import Value

Durability: TypeAlias = Literal["sync", "group", "off"]
SpoolFull: TypeAlias = Literal["block", "fail", "shed"]
DEFAULT_MAX_VALUE_BYTES: Final = 4 * 1024 * 1024
DEFAULT_REDACT_KEYS: Final = (
    r"(?:pass(?:word|wd|phrase)(?:[._-]?(?:confirm(?:ation)?|again|hash|[0-9]))?|secret)s?$",
    r"(?:^|[._-])(?:authorization|cookies?|credentials?|jwt)$",
    r"(?:api|access|account|master|private|secret|signing|subscription|encryption)[._-]?keys?$",
    r"(?:access|refresh|auth|bearer|id|session)[._-]?token$",
    r"client[._-]?secret$",
)
"""Keys of attributes and of JSON members whose texts are never recorded; searched without regard to case."""
_REDACT: Final = ("secrets", "email", "card", "iban")
_KEYS: Final = (
    "service_name", "export", "capture", "history", "spool_dir", "max_value_bytes", "threads", "durability", "group_ms",
    "spool_max_bytes", "spool_full", "redact", "redact_keys", "stream_idle_seconds", "metrics", "events",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What variables and file say; None where they say nothing. ``endpoint`` and ``headers`` are OpenTelemetry's own.

    ``max_value_bytes`` bounds one content attribute (bytes of UTF-8); ``timeout`` is seconds for one export request;
    ``endpoint_fault`` is the complaint, should our export have to use the endpoint. ``sdk_limits`` are the span limits
    that the user set for the SDK and that we therefore leave alone.
    ``durability`` says when an ended span is on disk: ``sync`` before ``end()`` returns, ``group`` within ``group_ms``
    milliseconds after, ``off`` never. ``spool_full`` says what happens when ``spool_max_bytes`` are waiting. ``redact``
    are classes of values, ``redact_keys`` regular expressions on keys. ``stream_idle_seconds`` ends a stream that is
    held but not read (0: never). ``events`` None: as the conventions' own variables say.
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
    endpoint_fault: str = ""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    certificate: str | None = None
    timeout: float = 10.0
    client_certificate: str | None = None
    client_key: str | None = None
    compression: Literal["none", "gzip"] = "none"
    sdk_limits: frozenset[str] = frozenset()
    durability: Durability = "group"
    group_ms: int = 50
    spool_max_bytes: int = 1024 * 1024 * 1024
    spool_full: SpoolFull = "shed"
    redact: tuple[str, ...] = ("secrets",)
    redact_keys: tuple[str, ...] = field(default=DEFAULT_REDACT_KEYS, repr=False)
    stream_idle_seconds: float = 600.0
    metrics: bool = True
    events: bool | None = None
    content_on_events: bool = False
    semconv_opt_in: frozenset[str] = frozenset()
    metric_variables: SignalVariables = field(default_factory=SignalVariables)
    log_variables: SignalVariables = field(default_factory=SignalVariables)


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
        **_of_export(values),
        **_of_content(values),
        metric_variables=signal_variables(env, "METRICS"),
        log_variables=signal_variables(env, "LOGS"),
        **from_opentelemetry(env, values.get("events")),
    )


def _of_export(values: Mapping[str, Value]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "durability" in values:
        found["durability"] = values["durability"].one_of("sync", "group", "off")
    if "spool_full" in values:
        found["spool_full"] = values["spool_full"].one_of("block", "fail", "shed")
    for key, least in (("group_ms", 1), ("spool_max_bytes", 65_536)):
        if key in values:
            found[key] = values[key].at_least(least)
    return found


def _of_content(values: Mapping[str, Value]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "redact" in values:
        found["redact"] = redact_classes(values["redact"].words(), values["redact"].place)
    if "redact_keys" in values:
        found["redact_keys"] = values["redact_keys"].patterns()
    if "stream_idle_seconds" in values:
        found["stream_idle_seconds"] = values["stream_idle_seconds"].seconds(zero=True)
    if "metrics" in values:
        found["metrics"] = values["metrics"].boolean()
    return found


def redact_classes(words: Sequence[str], place: str) -> tuple[str, ...]:
    """The classes that these words name; ``all`` and ``none`` stand alone. Raises SettingsError.

    >>> redact_classes(["email", "secrets"], "here")
    ('secrets', 'email')
    """
    for word in words:
        Value(word, place).one_of(*_REDACT, "all", "none")
    if "none" in words and len(words) > 1:
        raise SettingsError(f"{place}: none stands alone")
    return tuple(name for name in _REDACT if name in words or "all" in words)


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
