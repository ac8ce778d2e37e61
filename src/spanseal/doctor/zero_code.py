"""What would keep ``opentelemetry-instrument`` from starting in this environment. May import the settings.

With OpenTelemetry's own distribution installed, its configurator loads one exporter for each signal before any
instrumentor; where one is not installed it gives up, and the program runs without any telemetry, ours included.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution, entry_points

from spanseal.doctor.finding import Finding
from spanseal.settings import chosen_exporters

_DISTRO = "opentelemetry-distro"


def zero_code_findings() -> Iterator[Finding]:
    """A finding for each exporter that the distribution would look for in vain."""
    try:
        distribution(_DISTRO)
    except PackageNotFoundError:
        return
    for signal, name in chosen_exporters():
        if name != "none" and not entry_points(group=f"opentelemetry_{signal}_exporter", name=name):
            yield Finding(
                "warn", "zero-code-exporter", f"OTEL_{signal.upper()}_EXPORTER",
                f"{_DISTRO} is installed and would look for the exporter {name}, which is not: a program started with "
                "opentelemetry-instrument then has no telemetry at all",
                "OTEL_PYTHON_DISTRO=none OTEL_PYTHON_CONFIGURATOR=none, or set that variable (none, or an exporter "
                "that is installed; OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf for the HTTP one)",
            )
