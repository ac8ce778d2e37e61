"""What in a pipeline's processors, receivers and company loses or changes evidence. Pure; may import the siblings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from spanseal.doctor.collector_file import Collector
from spanseal.doctor.evidence_routes import FILE, GRPC, HTTP, Route, evidence_routes, kind
from spanseal.doctor.file_rules import file_findings
from spanseal.doctor.finding import Finding
from spanseal.doctor.queue_rules import queue_findings

_DROPPING: Final = {
    "probabilistic_sampler": "samples: most spans are dropped",
    "tail_sampling": "samples: whole traces are dropped",
    "filter": "drops what its conditions match",
    "span_pruning": "drops spans",
    "interval": "drops what is replaced within an interval",
}
_CHANGING: Final = (
    "redaction", "transform", "attributes", "resource", "span", "k8sattributes", "k8s_attributes", "resourcedetection",
    "resource_detection", "groupbyattrs", "groupbytrace", "group_by_trace", "genainormalizer", "schema",
)
_SECTIONS: Final = (("receivers", "receivers"), ("processors", "processors"), ("exporters", "exporters"))


def collector_findings(collector: Collector) -> Iterator[Finding]:
    """Everything in a collector's configuration that would lose or change evidence, each with its fix."""
    for name in collector.unset:
        yield Finding("warn", "variable-unset", name, "the files want this variable and it is not set",
                      "set it, or give a default: ${env:NAME:-value}")
    for name in collector.unread:
        yield Finding("warn", "include-unread", name, "the files include this one and it is not here: it is not judged",
                      "run doctor where the collector is started")
    yield from _undefined(collector)
    yield from _without_ends(collector)
    routes = evidence_routes(collector)
    if not routes:
        yield Finding(
            "bad", "no-evidence-route", collector.where("service", "pipelines"),
            "no pipeline of traces writes a file or sends OTLP/HTTP JSON to a sealer: nothing of this can be sealed",
            "add an otlp_http exporter with encoding: json to the sealer, or a file exporter",
        )
    told: set[str] = set()
    for route in routes:
        yield from _processors(collector, route)
        yield from _company(collector, route)
        yield from _receivers(collector, route, told)
        for exporter in route.exporters:
            if exporter not in told and exporter in collector.mapping("exporters"):
                told.add(exporter)
                yield from file_findings(collector, exporter) if kind(exporter) == FILE else ()
                yield from queue_findings(collector, exporter) if kind(exporter) in HTTP | GRPC else ()
                yield from _way_out(collector, exporter)
    yield from _shared_files(collector, routes)


def _without_ends(collector: Collector) -> Iterator[Finding]:
    """The collector refuses a pipeline without receivers or exporters."""
    for pipeline in collector.mapping("service", "pipelines"):
        for part in ("receivers", "exporters"):
            path = ("service", "pipelines", pipeline)
            if not collector.names(*path, part) and not collector.unread:
                yield Finding(
                    "bad", "pipeline-incomplete", collector.where(*path),
                    f"{pipeline} has no {part}: the collector does not start", f"name its {part}, or remove {pipeline}",
                )


def _undefined(collector: Collector) -> Iterator[Finding]:
    if collector.unread:  # they may be defined there
        return
    connectors = collector.mapping("connectors")
    for pipeline in collector.mapping("service", "pipelines"):
        for part, section in _SECTIONS:
            for name in collector.names("service", "pipelines", pipeline, part):
                if name not in collector.mapping(section) and name not in connectors:
                    yield Finding(
                        "bad", "component-undefined", collector.where("service", "pipelines", pipeline, part),
                        f"{name} is not defined: the collector does not start", f"define {name} under {section}",
                    )


def _processors(collector: Collector, route: Route) -> Iterator[Finding]:
    where = collector.where("service", "pipelines", route.pipeline, "processors")
    for name in route.processors:
        if kind(name) == "batch":
            yield Finding(
                "bad", "batch-in-evidence", where,
                f"{name} acknowledges before it exports and drops a batch whose export fails",
                "remove batch from this pipeline (it is right in a pipeline that only shows spans)",
            )
        elif kind(name) in _DROPPING:
            yield Finding("bad", "evidence-dropped", where, f"{name} {_DROPPING[kind(name)]}",
                          "move it to a pipeline that only shows spans")
        elif kind(name) in _CHANGING:
            yield Finding(
                "bad", "evidence-rewritten", where,
                f"{name} rewrites spans: manifests and replay records no longer fit what is sealed",
                "move it to a pipeline that only shows spans; redact in the application, before export",
            )
    if not any(kind(name) == "memory_limiter" for name in route.processors):
        yield Finding("warn", "no-memory-limiter", where, "under load the collector is killed instead of saying no",
                      "processors: [memory_limiter]")
    elif kind(route.processors[0]) != "memory_limiter":
        yield Finding("warn", "memory-limiter-late", where, "memory_limiter does not come first",
                      "put memory_limiter first")


def _company(collector: Collector, route: Route) -> Iterator[Finding]:
    """Exporters of the same pipeline whose failure makes the client send everything again."""
    for name in route.others:
        if name in collector.mapping("connectors") or kind(name) in ("debug", "nop"):
            continue
        queue = collector.at("exporters", name, "sending_queue", "enabled")
        if str(queue).lower() == "false":
            yield Finding(
                "warn", "view-blocks-evidence", collector.where("exporters", name, "sending_queue"),
                f"{name} has no queue: where it fails or hangs, clients get an error for evidence that was taken",
                "show spans in a pipeline of their own, with a batch processor",
            )


def _receivers(collector: Collector, route: Route, told: set[str]) -> Iterator[Finding]:
    for name in route.receivers:
        if kind(name) != "otlp" or name in told:
            continue
        told.add(name)
        path = ("receivers", name, "protocols")
        if "grpc" in collector.mapping(*path) and not collector.at(*path, "grpc", "max_recv_msg_size_mib"):
            yield Finding("warn", "grpc-limit", collector.where(*path, "grpc"),
                          "requests over 4 MiB are refused: a few hundred spans with their prompts are more",
                          "max_recv_msg_size_mib: 64")
        if "http" in collector.mapping(*path) and not collector.at(*path, "http", "max_request_body_size"):
            yield Finding("warn", "http-limit", collector.where(*path, "http"), "requests over 20 MiB are refused",
                          "max_request_body_size: 67108864")
        for protocol in collector.mapping(*path):
            yield from _open_door(collector, (*path, protocol))


def _open_door(collector: Collector, path: tuple[str, ...]) -> Iterator[Finding]:
    host = str(collector.at(*path, "endpoint") or "localhost").rpartition(":")[0].strip("[]")
    if host in ("", "localhost", "127.0.0.1", "::1") or collector.at(*path, "auth"):
        return
    if not collector.at(*path, "tls", "client_ca_file"):
        yield Finding(
            "warn", "open-receiver", collector.where(*path, "endpoint"),
            f"listens on {host} without authentication: whoever reaches it can send false spans",
            "auth: {authenticator: bearertokenauth/ingest} or tls with client_ca_file",
        )


def _way_out(collector: Collector, name: str) -> Iterator[Finding]:
    endpoint = str(collector.at("exporters", name, "endpoint") or "")
    host = endpoint.removeprefix("http://").partition("/")[0].rpartition(":")[0].strip("[]")
    if endpoint.startswith("http://") and "." in host and host != "127.0.0.1":
        yield Finding("warn", "plain-http", collector.where("exporters", name, "endpoint"),
                      f"spans go to {host} unencrypted", "https:// with a bearer token or a client certificate")


def _shared_files(collector: Collector, routes: list[Route]) -> Iterator[Finding]:
    owner: dict[str, str] = {}
    for name in dict.fromkeys(name for route in routes for name in route.exporters if kind(name) == FILE):
        path = str(collector.at("exporters", name, "path") or "")
        if path and owner.setdefault(path, name) != name:
            yield Finding("bad", "file-shared", collector.where("exporters", name, "path"),
                          f"{owner[path]} and {name} write the same file without a lock: lines get mixed",
                          "one path for each exporter")
