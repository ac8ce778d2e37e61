"""What in an OTLP exporter's queue and retries loses evidence. Pure; may import the siblings.

By default the queue lies in memory, a retry gives up after five minutes and drops the batch, and a queue on disk is not
fsynced. Facts: the exporter helper's own behaviour.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from spanseal.doctor.collector_file import Collector
from spanseal.doctor.finding import Finding

_ZERO: Final = re.compile(r"0+(\.0+)?(ns|us|µs|ms|s|m|h)?")
_RETRY: Final = "retry_on_failure: {enabled: true, max_elapsed_time: 0s}"


def queue_findings(collector: Collector, name: str) -> Iterator[Finding]:
    """All findings about one exporter that sends evidence on."""
    yield from _retry(collector, name)
    yield from _queue(collector, name)


def _retry(collector: Collector, name: str) -> Iterator[Finding]:
    path = ("exporters", name, "retry_on_failure")
    queued = _on(collector.at("exporters", name, "sending_queue", "enabled"))
    if not _on(collector.at(*path, "enabled")):
        if queued:
            yield Finding(
                "bad", "no-retry", collector.where(*path, "enabled"),
                "without retries a queued batch is dropped at the first failure, and at shutdown with it the queue",
                _RETRY,
            )
        return
    limit = collector.at(*path, "max_elapsed_time")
    if limit is None or _ZERO.fullmatch(str(limit).strip()) is None:
        said = "5m, the default" if limit is None else str(limit)
        yield Finding(
            "bad", "retry-gives-up", collector.where(*path, "max_elapsed_time"),
            f"after {said} of failures the batch is dropped, from a queue on disk too", "max_elapsed_time: 0s (never)",
        )


def _queue(collector: Collector, name: str) -> Iterator[Finding]:
    path = ("exporters", name, "sending_queue")
    if not _on(collector.at(*path, "enabled")):
        yield Finding(
            "info", "no-queue", collector.where(*path, "enabled"),
            "no queue: clients are answered when the sealer has answered, and need a spool of their own (ours has)",
        )
        return
    storage = collector.at(*path, "storage")
    if not storage:
        yield Finding(
            "bad", "queue-in-memory", collector.where(*path, "storage"),
            "acknowledged spans wait in memory: a crash or kill of the collector loses them",
            "storage: file_storage/queue, with that extension defined (fsync: true) and listed in service.extensions",
        )
    else:
        yield from _storage(collector, str(storage), collector.where(*path, "storage"))
        if collector.at(*path, "wait_for_result"):
            yield Finding(
                "bad", "wait-with-storage", collector.where(*path, "wait_for_result"),
                "the collector refuses to start: wait_for_result is not allowed together with storage",
                "remove wait_for_result",
            )
    batch = collector.at(*path, "batch")
    if batch and _on(collector.at(*path, "batch", "enabled")):
        yield Finding(
            "bad", "queue-batches", collector.where(*path, "batch"),
            "with a batch in the queue an item larger than max_size is dropped", "remove batch",
        )
    if str(collector.at(*path, "sizer") or "requests") == "requests":
        yield Finding(
            "warn", "queue-counts-requests", collector.where(*path, "sizer"),
            "the queue is bounded by requests, not by bytes: large spans fill disk or memory first",
            "sizer: bytes, queue_size: 4294967296",
        )


def _storage(collector: Collector, storage: str, where: str) -> Iterator[Finding]:
    if storage not in collector.mapping("extensions"):
        yield Finding("bad", "storage-missing", where, f"no extension {storage}: the collector does not start",
                      f"extensions: {{{storage}: {{directory: /var/lib/otelcol/queue, fsync: true}}}}")
        return
    if storage not in collector.names("service", "extensions"):
        yield Finding("bad", "storage-not-started", collector.where("service", "extensions"),
                      f"{storage} is defined but not listed: the collector does not start",
                      f"service: {{extensions: [{storage}]}}")
    if storage.partition("/")[0] == "file_storage" and collector.at("extensions", storage, "fsync") is not True:
        yield Finding("bad", "queue-not-fsynced", collector.where("extensions", storage, "fsync"),
                      "without fsync a power cut loses the backlog, and a restart may find none", "fsync: true")


def _on(value: Any) -> bool:
    """Switches are on unless they are switched off."""
    return str(value).lower() not in ("false", "no", "off") if value is not None else True
