"""Which pipelines of a collector carry evidence: those that end in a file, or at a sealer. Pure.

A pipeline is an evidence route if one of its exporters is a file exporter or sends OTLP/HTTP JSON (the sealer's input;
``encoding: json``), or has "seal", "audit" or "archive" in its name; pipelines that feed it through a connector are
part of the route. May import collector_file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from spanseal.doctor.collector_file import Collector

_NAMED: Final = re.compile(r"seal|audit|archive|evidence", re.IGNORECASE)
FILE: Final = "file"
HTTP: Final = frozenset({"otlp_http", "otlphttp"})
GRPC: Final = frozenset({"otlp_grpc", "otlp"})


@dataclass(frozen=True, slots=True)
class Route:
    """One pipeline that carries evidence, and those of its exporters that receive it as such."""

    pipeline: str
    receivers: tuple[str, ...]
    processors: tuple[str, ...]
    exporters: tuple[str, ...]
    others: tuple[str, ...]
    """Exporters of the same pipeline that only show spans."""


def kind(component: str) -> str:
    """The type of a component: what stands before the slash.

    >>> kind("file/archive")
    'file'
    """
    return component.partition("/")[0]


def evidence_routes(collector: Collector) -> list[Route]:
    """Every pipeline of traces on whose way evidence lies."""
    found = {route.pipeline: route for route in _direct(collector)}
    pending = list(found.values())
    while pending:
        route = pending.pop()
        for connector in route.receivers:
            for name in _trace_pipelines(collector):
                if name not in found and connector in collector.names("service", "pipelines", name, "exporters"):
                    found[name] = _route(collector, name, (connector,))
                    pending.append(found[name])
    return list(found.values())


def is_evidence_exporter(collector: Collector, name: str) -> bool:
    """Whether what this exporter receives is meant to be kept or sealed."""
    if kind(name) == FILE:
        return True
    if kind(name) in HTTP and str(collector.at("exporters", name, "encoding")).lower() == "json":
        return True
    return kind(name) in HTTP | GRPC and _NAMED.search(name) is not None


def _trace_pipelines(collector: Collector) -> Iterator[str]:
    for name in collector.mapping("service", "pipelines"):
        if kind(name) == "traces":
            yield name


def _direct(collector: Collector) -> Iterator[Route]:
    for name in _trace_pipelines(collector):
        exporters = collector.names("service", "pipelines", name, "exporters")
        evidence = tuple(found for found in exporters if is_evidence_exporter(collector, found))
        if evidence:
            yield _route(collector, name, evidence)


def _route(collector: Collector, name: str, evidence: tuple[str, ...]) -> Route:
    path = ("service", "pipelines", name)
    others = tuple(found for found in collector.names(*path, "exporters") if found not in evidence)
    return Route(
        name,
        tuple(collector.names(*path, "receivers")),
        tuple(collector.names(*path, "processors")),
        evidence,
        others,
    )
