"""What :func:`spanseal.configure` was asked for, checked, and where spans go by that.

``Asked`` are the arguments in a form that compares (a second identical call does nothing), ``Plan`` is what follows
from arguments, variables and file together, ``route_of`` the way to a server. May import the settings, errors, active,
the redactor and ``export.otlp_http``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, Final, TypeAlias, cast
from urllib.parse import urlsplit

from spanseal.effects import Effects
from spanseal.errors import SettingsError
from spanseal.settings import Durability, Settings, redact_classes, sealer_token, traces_url
from spanseal.telemetry.active import Capture, History
from spanseal.telemetry.content.redaction.redactor import Redactor
from spanseal.telemetry.export.otlp_http import Route

Redact: TypeAlias = Sequence[str | Callable[[str], str]]
_HOST_AND_PORT: Final = re.compile(r"[\w.-]+:[0-9]{1,5}(/.*)?")


@dataclass(frozen=True, slots=True)
class Asked:
    """The arguments of a call; paths are absolute, since they compare by where they are, not by how they were written.

    ``effects`` is the identity of the object that was given.
    """

    service_name: str | None
    export: str | None
    capture: Capture | None
    history: History | None
    config: str | None
    effects: int
    durability: Durability | None
    redact: tuple[str | Callable[[str], str], ...] | None

    def for_workers(self) -> dict[str, Any]:
        """The arguments with which a worker process configures itself; detectors must be picklable."""
        names = ("service_name", "export", "capture", "history", "config", "durability", "redact")
        return {name: getattr(self, name) for name in names}


def checked(
    *,
    service_name: str | None,
    export: str | Path | None,
    capture: Capture | None,
    history: History | None,
    config: str | Path | None,
    effects: Effects | None,
    durability: Durability | None,
    redact: Redact | None,
) -> Asked:
    """The arguments of ``configure`` as they were meant. Raises SettingsError for what cannot be."""
    if service_name is not None and not (isinstance(service_name, str) and service_name.strip()):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        raise SettingsError(f"configure(service_name=…): {service_name!r} is no name; give a text such as shop")
    if effects is not None and not isinstance(effects, Effects):  # pyright: ignore[reportUnnecessaryIsInstance] - likewise
        raise SettingsError(f"configure(effects=…): give Effects(…), not {type(effects).__name__}")
    target, file = _text(export, "export"), _text(config, "config")
    _one_of("capture", capture, "off", "full")
    _one_of("history", history, "full", "delta")
    _one_of("durability", durability, "sync", "group", "off")
    given = None if redact is None else _redact(redact)
    return Asked(
        service_name, _absolute(target), capture, history, _absolute(file), id(effects) if effects else 0, durability,
        given,
    )


@dataclass(frozen=True, slots=True)
class Plan:
    """Where spans go: to ``folder`` or ``url`` or (both None) nowhere by our hand; and what they hold.

    ``asked_for_export`` is True unless the place comes from OpenTelemetry's own variables.
    """

    folder: Path | None
    url: str | None
    asked_for_export: bool
    capture: Capture | None
    history: History
    durability: Durability
    redactor: Redactor


def planned(asked: Asked, export: str | Path | None, settings: Settings) -> Plan:
    """What follows from the arguments and the settings; ``export`` as it was written, for complaints."""
    folder, url, asked_for = _place(None if export is None else str(export), settings)
    wanted: Capture | None = asked.capture or settings.capture
    if wanted is None and settings.genai_capture is not None:
        wanted = "full" if settings.genai_capture else "off"
    classes, custom = settings.redact, ()
    if asked.redact is not None:
        words = [item for item in asked.redact if isinstance(item, str)]
        classes = redact_classes(words, "configure(redact=…)")
        custom = tuple(item for item in asked.redact if not isinstance(item, str))
    return Plan(
        folder=folder,
        url=url,
        asked_for_export=asked_for,
        capture=wanted,
        history=asked.history or settings.history,
        durability=asked.durability or settings.durability,
        redactor=Redactor(classes, settings.redact_keys, custom),
    )


def route_of(url: str, plan: Plan, settings: Settings) -> Route:
    """The way to ``url``, a server that the plan names."""
    return Route(
        url, headers_of(plan, settings), settings.timeout, settings.certificate, settings.client_certificate,
        settings.client_key, settings.compression,
    )  # fmt: skip


def headers_of(plan: Plan, settings: Settings) -> dict[str, str]:
    """The headers for the plan's server: OpenTelemetry's own only if it is theirs, else our token."""
    headers = dict(settings.headers) if plan.url == settings.endpoint or not plan.asked_for_export else {}
    token = sealer_token()
    if token and plan.asked_for_export and "authorization" not in headers:
        headers["authorization"] = f"Bearer {token}"
    return headers


def _place(export: str | None, settings: Settings) -> tuple[Path | None, str | None, bool]:
    place = "configure(export=…)" if export is not None else "SPANSEAL_EXPORT"
    target = settings.export if export is None else export
    if target is None:
        if settings.endpoint_fault:
            raise SettingsError(settings.endpoint_fault)
        return None, settings.endpoint, False
    if "://" in target:
        return None, traces_url(target, place), True
    if not target:
        raise SettingsError(f"{place}: empty; give a folder or an http(s) URL")
    if _HOST_AND_PORT.fullmatch(target):
        raise SettingsError(f"{place}: {target!r} looks like a server; write http://{target} (a folder: ./…)")
    folder = Path(target).expanduser().absolute()
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{place}: {folder} is a file; give a folder or an http(s) URL")
    return folder, None, True


def _redact(redact: Redact) -> tuple[str | Callable[[str], str], ...]:
    if isinstance(redact, str):
        redact = (redact,)
    items = tuple(redact)
    for item in cast("tuple[object, ...]", items):
        if not isinstance(item, str) and not callable(item):
            raise SettingsError(f"configure(redact=…): {item!r} is neither a class's name nor a function of a text")
    redact_classes([item for item in items if isinstance(item, str)], "configure(redact=…)")
    return items


def _one_of(argument: str, value: object, *allowed: str) -> None:
    if value is not None and value not in allowed:
        raise SettingsError(f"configure({argument}=…): {value!r} is not one of {', '.join(allowed)}")


def _text(path: object, argument: str) -> str | None:
    text = str(path) if isinstance(path, PurePath) else path
    if text is None or (isinstance(text, str) and "\0" not in text):
        return text
    wanted = "folder or URL" if argument == "export" else "path"
    raise SettingsError(f"configure({argument}=…): {path!r} is no {wanted}")


def _absolute(target: str | None) -> str | None:
    if not target or urlsplit(target).netloc:
        return target
    return os.path.abspath(Path(target).expanduser())  # noqa: PTH100 - takes ".." out without following links
