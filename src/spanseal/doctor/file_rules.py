"""What in a file exporter's settings loses evidence. Pure; may import the siblings.

The exporter truncates its file at every start unless told otherwise, deletes rotated files by number and age, refuses
records larger than a file, and buffers where it does not rotate.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from spanseal.doctor.collector_file import Collector
from spanseal.doctor.finding import Finding

_KEEP_ALL: Final = "rotation: {max_megabytes: 256, max_days: 0, max_backups: 0}"


def file_findings(collector: Collector, name: str) -> Iterator[Finding]:
    """All findings about one file exporter."""
    path = ("exporters", name)
    config = collector.mapping(*path)
    if "rotation" in config:
        yield from _rotation(collector, name)
    else:
        yield from _one_file(collector, name)
    if "rotation" in config and config.get("append"):
        yield Finding(
            "bad", "append-with-rotation", collector.where(*path, "append"),
            "the collector refuses to start: append is not allowed together with rotation", "remove append",
        )
    yield from _form(collector, name)
    if not config.get("path"):
        yield Finding("bad", "no-path", collector.where(*path), "no path is set", "path: /var/lib/otelcol/spans.jsonl")


def _one_file(collector: Collector, name: str) -> Iterator[Finding]:
    path = ("exporters", name)
    if not collector.at(*path, "append"):
        yield Finding(
            "bad", "file-truncated", collector.where(*path),
            "neither rotation nor append: each start of the collector empties the file",
            f"{_KEEP_ALL}, or append: true",
        )
    yield Finding(
        "warn", "file-buffered", collector.where(*path),
        "without rotation the exporter acknowledges spans that lie in its own buffer: a kill loses them",
        _KEEP_ALL,
    )


def _rotation(collector: Collector, name: str) -> Iterator[Finding]:
    path = ("exporters", name, "rotation")
    backups = _number(collector.at(*path, "max_backups"), 100)
    if backups != 0:
        said = "" if collector.at(*path, "max_backups") is not None else " (the default)"
        yield Finding(
            "bad", "backups-deleted", collector.where(*path, "max_backups"),
            f"rotated files beyond {backups}{said} are deleted, sealed or not", "max_backups: 0 (keeps all)",
        )
    days = _number(collector.at(*path, "max_days"), 0)
    if days != 0:
        yield Finding(
            "bad", "backups-deleted-by-age", collector.where(*path, "max_days"),
            f"rotated files older than {days} days are deleted, sealed or not", "max_days: 0",
        )
    megabytes = _number(collector.at(*path, "max_megabytes"), 0) or 100
    largest = _largest_request(collector)
    if megabytes <= largest:
        yield Finding(
            "warn", "record-over-file", collector.where(*path, "max_megabytes"),
            f"a batch larger than {megabytes} MB is refused and lost, and the receivers take up to {largest} MB",
            f"max_megabytes: {max(256, largest * 4)}",
        )


def _form(collector: Collector, name: str) -> Iterator[Finding]:
    path = ("exporters", name)
    if collector.at(*path, "group_by") and collector.at(*path, "group_by", "enabled") is not False:
        yield Finding(
            "bad", "group-by", collector.where(*path, "group_by"),
            "spans whose resource lacks the attribute are dropped and acknowledged, and files that are closed to make "
            "room are emptied when they are opened again",
            "remove group_by; the sealer tells the runs apart",
        )
    if str(collector.at(*path, "compression") or "none") != "none":
        yield Finding(
            "bad", "file-compressed", collector.where(*path, "compression"),
            "the sealer and the reader take plain lines; a torn compressed record cannot be read on from",
            "remove compression (the audit store compresses)",
        )
    if str(collector.at(*path, "format") or "json") != "json":
        yield Finding(
            "bad", "file-not-json", collector.where(*path, "format"),
            "the sealer takes OTLP JSON lines; behind a torn record of another format nothing can be read",
            "format: json",
        )
    if collector.at(*path, "encoding"):
        yield Finding(
            "warn", "file-encoding", collector.where(*path, "encoding"),
            "an encoding extension decides what is written, and it may not be OTLP JSON lines", "remove encoding",
        )


def _largest_request(collector: Collector) -> int:
    """Megabytes that a receiver takes in one request."""
    most = 0
    for name in collector.mapping("receivers"):
        if name.partition("/")[0] == "otlp":
            grpc = _number(collector.at("receivers", name, "protocols", "grpc", "max_recv_msg_size_mib"), 4)
            http = _number(collector.at("receivers", name, "protocols", "http", "max_request_body_size"), 20 << 20)
            most = max(most, grpc, http >> 20)
    return most


def _number(value: Any, default: int) -> int:
    """A whole number as YAML or a variable gives it."""
    if value is None or isinstance(value, bool):
        return default
    try:
        return int(value)
    except (TypeError, ValueError):
        return default
