"""Sets telemetry up where nobody calls ``configure()``: once ``opentelemetry-instrument`` has loaded instrumentations.

The entry point ``opentelemetry_post_instrument``, which takes nothing from other distributions: it runs after the
configurator of whichever there is, and after the official threading instrumentation. With a provider of theirs, ours is
added to it; with none, one is made if the variables say where to export to (``SPANSEAL_EXPORT``,
``OTEL_EXPORTER_OTLP_ENDPOINT``), and else that is left to the application. An application that calls ``configure()``
itself gets what it asks for. May import configure.
"""

from __future__ import annotations

import logging

from spanseal.settings import load_settings, zero_code
from spanseal.telemetry.configure import configure_by_default
from spanseal.telemetry.providers import foreign_provider

_log = logging.getLogger("spanseal")


def start() -> None:
    """Configure by variables, if they ask for it. Never raises."""
    try:
        said = zero_code()
        if said.off:
            return
        settings = load_settings()
        ours = settings.export or (said.otlp and (settings.endpoint or settings.endpoint_fault))
        if ours or foreign_provider():
            configure_by_default()
    except Exception as error:  # noqa: BLE001 - raises nothing into the application (DESIGN 10.4)
        _log.error("telemetry is not set up: %s", error)
