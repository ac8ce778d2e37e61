"""Starts our collector, Jaeger and Prometheus from the very files in `collector/`, on free loopback ports.

Each function is a context manager: it yields when the service is ready and has stopped it when it is left.
"""

import shutil
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .build import binary
from .models import Ollama, OpenAIServer, ollama, openai_server
from .process import Service, answers, free_ports

__all__ = [
    "CONFIG", "Collector", "Jaeger", "Ollama", "OpenAIServer", "Prometheus", "collector", "jaeger", "ollama",
    "openai_server", "prometheus",
]  # fmt: skip

CONFIG = Path(__file__).parents[3] / "collector"
NOWHERE = "127.0.0.1:9"
"""An address where nobody listens: what is sent there is queued or dropped as the configuration says."""


@dataclass(frozen=True)
class Collector:
    """A running collector. `otlp_http` is a base URL (`/v1/traces` comes after it), `otlp_grpc` is host:port."""

    service: Service
    otlp_http: str
    otlp_grpc: str
    health: str
    metrics: str
    archive_dir: Path
    queue_dir: Path

    def archived(self) -> list[bytes]:
        """The archive's lines, oldest file first, without blank ones."""
        rotated = sorted(self.archive_dir.glob("spans-*.jsonl"))
        files = [*rotated, *self.archive_dir.glob("spans.jsonl")]
        return [line for file in files for line in file.read_bytes().split(b"\n") if line]


@contextmanager
def collector(
    folder: Path,
    *,
    sealer: str = f"http://{NOWHERE}",
    jaeger: str = NOWHERE,
    remote_write: str = f"http://{NOWHERE}/api/v1/write",
    token: str = "",
    env: Mapping[str, str] | None = None,
    overlays: tuple[str, ...] = (),
) -> Generator[Collector]:
    """Run the collector.

    Args:
        folder: holds its log, its archive (`archive/`) and its queue (`queue/`); what is there is continued.
        sealer: base URL to which the audit route posts `/v1/traces`.
        jaeger: host:port of an OTLP gRPC receiver for the view.
        remote_write: URL for metrics.
        token: what the sealer demands.
        env: further variables of collector/otelcol.yaml.
        overlays: names of configuration files beside it that are laid over it.
    """
    grpc, http, health, metrics = free_ports(4)
    settings = {
        "SPANSEAL_OTLP_GRPC_PORT": str(grpc),
        "SPANSEAL_OTLP_HTTP_PORT": str(http),
        "SPANSEAL_HEALTH_PORT": str(health),
        "SPANSEAL_COLLECTOR_METRICS_PORT": str(metrics),
        "SPANSEAL_ARCHIVE_DIR": str(folder / "archive"),
        "SPANSEAL_QUEUE_DIR": str(folder / "queue"),
        "SPANSEAL_SEALER_ENDPOINT": sealer,
        "SPANSEAL_JAEGER_ENDPOINT": jaeger,
        "SPANSEAL_REMOTE_WRITE_ENDPOINT": remote_write,
        # What only makes a test wait is shortened; what decides over delivery stays as it is shipped.
        "SPANSEAL_METRICS_INTERVAL": "500ms",
        "SPANSEAL_VIEW_BATCH_TIMEOUT": "100ms",
        "SPANSEAL_RETRY_MAX_INTERVAL": "1s",
        **({"SPANSEAL_TOKEN": token} if token else {}),
        **(env or {}),
    }
    configs = [f"--config={CONFIG / file}" for file in ("otelcol.yaml", *overlays)]
    command = [str(binary("otelcol")), *configs]
    url = f"http://127.0.0.1:{health}"
    service = Service("the collector", command, folder / "collector.log", lambda: answers(url), settings)
    service.start()
    try:
        yield Collector(
            service, f"http://127.0.0.1:{http}", f"127.0.0.1:{grpc}", url, f"http://127.0.0.1:{metrics}/metrics",
            folder / "archive", folder / "queue",
        )  # fmt: skip
    finally:
        service.stop()


@dataclass(frozen=True)
class Jaeger:
    """A running Jaeger. `query` is the base URL of its HTTP API (`/api/v3/...`)."""

    service: Service
    otlp_grpc: str
    query: str


@contextmanager
def jaeger(folder: Path) -> Generator[Jaeger]:
    """Run Jaeger with traces in memory; its log goes to `folder`."""
    otlp, query, query_grpc, health = free_ports(4)
    settings = {
        "SPANSEAL_JAEGER_OTLP_PORT": str(otlp),
        "SPANSEAL_JAEGER_QUERY_PORT": str(query),
        "SPANSEAL_JAEGER_QUERY_GRPC_PORT": str(query_grpc),
        "SPANSEAL_JAEGER_HEALTH_PORT": str(health),
        "OTEL_TRACES_SAMPLER": "always_off",
    }
    command = [str(binary("jaeger")), "--config", str(CONFIG / "jaeger.yaml")]
    ready = f"http://127.0.0.1:{health}/status"
    service = Service("Jaeger", command, folder / "jaeger.log", lambda: answers(ready), settings)
    service.start()
    try:
        yield Jaeger(service, f"127.0.0.1:{otlp}", f"http://127.0.0.1:{query}")
    finally:
        service.stop()


@dataclass(frozen=True)
class Prometheus:
    """A running Prometheus. `url` is its base URL, `remote_write` where metrics are pushed, `targets` a folder of
    files that name what to scrape (see collector/prometheus.yml)."""

    service: Service
    url: str
    remote_write: str
    targets: Path


@contextmanager
def prometheus(folder: Path) -> Generator[Prometheus]:
    """Run Prometheus on a copy of collector/prometheus.yml, its data and log in `folder`."""
    (port,) = free_ports(1)
    targets = folder / "targets"
    targets.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(CONFIG / "prometheus.yml", folder / "prometheus.yml")
    command = [
        str(binary("prometheus")),
        f"--config.file={folder / 'prometheus.yml'}",
        f"--storage.tsdb.path={folder / 'prometheus-data'}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--web.enable-remote-write-receiver",
        "--enable-feature=exemplar-storage",
    ]
    url = f"http://127.0.0.1:{port}"
    service = Service("Prometheus", command, folder / "prometheus.log", lambda: answers(f"{url}/-/ready"))
    service.start()
    try:
        yield Prometheus(service, url, f"{url}/api/v1/write", targets)
    finally:
        service.stop()
