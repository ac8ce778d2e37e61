"""A collector's configuration that loses nothing, and changes to it that do, each with what the doctor must say."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Final

GOOD: Final[dict[str, Any]] = {
    "extensions": {"file_storage/queue": {"directory": "/tmp/q", "fsync": True}},
    "receivers": {
        "otlp": {
            "protocols": {
                "grpc": {"endpoint": "127.0.0.1:4317", "max_recv_msg_size_mib": 64},
                "http": {"endpoint": "127.0.0.1:4318", "max_request_body_size": 67108864},
            }
        }
    },
    "processors": {
        "memory_limiter": {"check_interval": "1s", "limit_mib": 512}, "batch": {}, "redaction": {"allow_all_keys": True}
    },
    "exporters": {
        "otlp_http/sealer": {
            "endpoint": "http://127.0.0.1:4320",
            "encoding": "json",
            "retry_on_failure": {"enabled": True, "max_elapsed_time": "0s"},
            "sending_queue": {"storage": "file_storage/queue", "sizer": "bytes", "queue_size": 4294967296},
        },
        "file/archive": {"path": "/tmp/a/x.jsonl", "rotation": {"max_megabytes": 256, "max_days": 0, "max_backups": 0}},
        "otlp_grpc/jaeger": {"endpoint": "127.0.0.1:24317", "tls": {"insecure": True}},
    },
    "service": {
        "extensions": ["file_storage/queue"],
        "pipelines": {
            "traces/audit": {
                "receivers": ["otlp"], "processors": ["memory_limiter"],
                "exporters": ["otlp_http/sealer", "file/archive"],
            },
            "traces/view": {
                "receivers": ["otlp"], "processors": ["memory_limiter", "batch"], "exporters": ["otlp_grpc/jaeger"]
            },
        },
    },
}

Path = tuple[str | int, ...]
GONE: Final = object()
FILE: Final = ("exporters", "file/archive")
HTTP: Final = ("exporters", "otlp_http/sealer")
AUDIT: Final = ("service", "pipelines", "traces/audit")

CASES: Final[list[tuple[str, str, Mapping[Path, Any]]]] = [
    ("file-truncated", "bad", {(*FILE, "rotation"): GONE}),
    ("file-buffered", "warn", {(*FILE, "rotation"): GONE, (*FILE, "append"): True}),
    ("append-with-rotation", "bad", {(*FILE, "append"): True}),
    ("backups-deleted", "bad", {(*FILE, "rotation", "max_backups"): 10}),
    ("backups-deleted", "bad", {(*FILE, "rotation", "max_backups"): GONE}),
    ("backups-deleted", "bad", {(*FILE, "rotation"): None}),
    ("backups-deleted-by-age", "bad", {(*FILE, "rotation", "max_days"): 7}),
    ("record-over-file", "warn", {(*FILE, "rotation", "max_megabytes"): 10}),
    ("group-by", "bad", {(*FILE, "group_by"): {"enabled": True, "resource_attribute": "service.name"}}),
    ("file-compressed", "bad", {(*FILE, "compression"): "zstd"}),
    ("file-not-json", "bad", {(*FILE, "format"): "proto"}),
    ("file-encoding", "warn", {(*FILE, "encoding"): "otlp_encoding"}),
    ("no-path", "bad", {(*FILE, "path"): GONE}),
    ("retry-gives-up", "bad", {(*HTTP, "retry_on_failure", "max_elapsed_time"): "300s"}),
    ("retry-gives-up", "bad", {(*HTTP, "retry_on_failure"): GONE}),
    ("retry-gives-up", "bad", {(*HTTP, "retry_on_failure", "max_elapsed_time"): GONE}),
    ("no-retry", "bad", {(*HTTP, "retry_on_failure", "enabled"): False}),
    ("queue-in-memory", "bad", {(*HTTP, "sending_queue", "storage"): GONE}),
    ("queue-in-memory", "bad", {(*HTTP, "sending_queue"): GONE}),
    ("no-queue", "info", {(*HTTP, "sending_queue", "enabled"): False}),
    ("storage-missing", "bad", {("extensions",): GONE}),
    ("storage-not-started", "bad", {("service", "extensions"): []}),
    ("queue-not-fsynced", "bad", {("extensions", "file_storage/queue", "fsync"): GONE}),
    ("queue-not-fsynced", "bad", {("extensions", "file_storage/queue", "fsync"): False}),
    ("wait-with-storage", "bad", {(*HTTP, "sending_queue", "wait_for_result"): True}),
    ("queue-batches", "bad", {(*HTTP, "sending_queue", "batch"): {"max_size": 1000}}),
    ("queue-counts-requests", "warn", {(*HTTP, "sending_queue", "sizer"): GONE}),
    ("batch-in-evidence", "bad", {(*AUDIT, "processors"): ["memory_limiter", "batch"]}),
    ("evidence-rewritten", "bad", {(*AUDIT, "processors"): ["memory_limiter", "redaction"]}),
    ("evidence-dropped", "bad", {
        (*AUDIT, "processors"): ["memory_limiter", "tail_sampling"], ("processors", "tail_sampling"): {}
    }),
    ("no-memory-limiter", "warn", {(*AUDIT, "processors"): []}),
    ("grpc-limit", "warn", {("receivers", "otlp", "protocols", "grpc", "max_recv_msg_size_mib"): GONE}),
    ("grpc-limit", "warn", {("receivers", "otlp", "protocols", "grpc"): None}),
    ("http-limit", "warn", {("receivers", "otlp", "protocols", "http", "max_request_body_size"): GONE}),
    ("open-receiver", "warn", {("receivers", "otlp", "protocols", "http", "endpoint"): "0.0.0.0:4318"}),
    ("plain-http", "warn", {(*HTTP, "endpoint"): "http://sealer.example.com:4320"}),
    ("component-undefined", "bad", {(*AUDIT, "processors"): ["memory_limiter", "nobody"]}),
    ("no-evidence-route", "bad", {(*AUDIT, "exporters"): ["otlp_grpc/jaeger"]}),
    ("view-blocks-evidence", "warn", {
        (*AUDIT, "exporters"): ["otlp_http/sealer", "otlp_grpc/jaeger"],
        ("exporters", "otlp_grpc/jaeger", "sending_queue"): {"enabled": False},
    }),
    ("file-shared", "bad", {
        ("exporters", "file/second"): {"path": "/tmp/a/x.jsonl", "rotation": {"max_megabytes": 256, "max_backups": 0}},
        (*AUDIT, "exporters"): ["otlp_http/sealer", "file/archive", "file/second"],
    }),
    ("batch-in-evidence", "bad", {
        ("connectors", "forward"): {},
        ("service", "pipelines", "traces/in"): {
            "receivers": ["otlp"], "processors": ["batch"], "exporters": ["forward"]
        },
        (*AUDIT, "receivers"): ["forward"],
    }),
]  # fmt: skip


def changed(changes: Mapping[Path, Any]) -> dict[str, Any]:
    """The good configuration with these changes."""
    document = copy.deepcopy(GOOD)
    for path, value in changes.items():
        inner: Any = document
        for key in path[:-1]:
            inner = inner.setdefault(key, {})
        if value is GONE:
            del inner[path[-1]]
        else:
            inner[path[-1]] = value
    return document
