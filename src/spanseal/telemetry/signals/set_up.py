"""Where numbers and events of this process go, by what was configured. May import settings, export and signals.

Beside the spans: to the same server (``/v1/metrics``, ``/v1/logs``), or into the same folder. The standard variables of
either signal come first, and switch it off too. What the application has set up itself is used instead at any time.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from opentelemetry.sdk.trace import TracerProvider

from spanseal.effects import Effects
from spanseal.genai import semconv as sc
from spanseal.settings import Settings, SignalVariables
from spanseal.telemetry.export.otlp_http import Route, without_secrets
from spanseal.telemetry.signals.courier import Courier
from spanseal.telemetry.signals.events import Events
from spanseal.telemetry.signals.metrics import Metrics
from spanseal.telemetry.signals.numbers import Numbers
from spanseal.telemetry.signals.outlets import FolderOutlet, Outlet, ServerOutlet
from spanseal.telemetry.signals.signals import Signals

_TRACES: Final = "/v1/traces"


def signals_for(
    settings: Settings,
    effects: Effects,
    provider: TracerProvider,
    *,
    folder: Path | None,
    url: str | None,
    headers: Mapping[str, str],
) -> Signals:
    """What is told beside the spans that go to ``folder`` or ``url`` (both None: nowhere by our hand).

    ``headers`` are those of the spans' requests to ``url``. ``provider`` says of which process it is told.
    """
    on = settings.events is not False
    details = settings.content_on_events if settings.events is None else settings.events
    metrics: Outlet | None = None
    events: Outlet | None = None
    if settings.metrics:
        metrics = _outlet(settings.metric_variables, "metrics", folder, url, headers)
    if on:
        events = _outlet(settings.log_variables, "logs", folder, url, headers)
    courier = None
    if metrics is not None or events is not None:
        numbers = Numbers(effects.clock, delta=settings.metric_variables.delta)
        courier = Courier(provider, numbers, metrics, events, settings.metric_variables.interval)
    own = courier.numbers if courier is not None and metrics is not None else None
    measured = Metrics(own, before_too=sc.OPT_IN_BEFORE_TOO in settings.semconv_opt_in) if settings.metrics else None
    told = Events(courier if events is not None else None, on=on, details=details)
    return Signals(measured, told, courier)


def place_of(said: SignalVariables, signal: str, folder: Path | None, url: str | None) -> Path | str | None:
    """Where ``signal`` (metrics, logs) goes beside spans that go to ``folder`` or ``url``: a folder, a URL, nowhere.

    >>> place_of(SignalVariables(), "logs", None, "http://c:4318/v1/traces")
    'http://c:4318/v1/logs'
    """
    if said.off or (folder is None and url is None):
        return None
    if said.own is not None:
        return said.own
    if folder is not None:
        return folder
    parts = urlsplit(url or "")
    if not parts.path.endswith(_TRACES):
        return said.shared
    return urlunsplit(parts._replace(path=f"{parts.path.removesuffix(_TRACES)}/v1/{signal}"))


def _outlet(
    said: SignalVariables, signal: str, folder: Path | None, url: str | None, headers: Mapping[str, str]
) -> Outlet | None:
    place = place_of(said, signal, folder, url)
    if place is None:
        return None
    if isinstance(place, Path):
        return FolderOutlet(place, signal)
    theirs = place in (said.own, said.shared)  # a server that the variables name gets the headers that they name
    return _server(place, signal, said, dict(said.headers) if theirs else dict(headers))


def _server(url: str, signal: str, said: SignalVariables, headers: Mapping[str, str]) -> ServerOutlet:
    what = "metrics" if signal == "metrics" else "events"
    route = Route(
        url, headers, said.timeout, said.certificate, said.client_certificate, said.client_key, said.compression
    )  # fmt: skip
    return ServerOutlet(route.connection, without_secrets(url), what)
