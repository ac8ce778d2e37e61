"""The settings of a process, and the only readers of environment variables and of the user's folders.

``load`` (all settings, with variables and file), ``variables`` (single ones), ``otlp_variables`` (OpenTelemetry's own),
``value`` (a value with its place, for complaints that name it). May import the standard library and errors only.
"""

from __future__ import annotations

from spanseal.settings.load import (
    DEFAULT_MAX_VALUE_BYTES,
    DEFAULT_REDACT_KEYS,
    Durability,
    Settings,
    SpoolFull,
    load_settings,
    redact_classes,
)
from spanseal.settings.otlp_signals import SignalVariables
from spanseal.settings.otlp_variables import traces_url
from spanseal.settings.value import Value
from spanseal.settings.variables import (
    capture_variables,
    chosen_exporters,
    debug,
    expanded,
    heads_file,
    openai_api_key,
    sealer_token,
    state_dir,
    zero_code,
)

__all__ = [
    "DEFAULT_MAX_VALUE_BYTES",
    "DEFAULT_REDACT_KEYS",
    "Durability",
    "Settings",
    "SignalVariables",
    "SpoolFull",
    "Value",
    "capture_variables",
    "chosen_exporters",
    "debug",
    "expanded",
    "heads_file",
    "load_settings",
    "openai_api_key",
    "redact_classes",
    "sealer_token",
    "state_dir",
    "traces_url",
    "zero_code",
]
