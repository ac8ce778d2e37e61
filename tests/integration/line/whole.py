"""The whole line behind an agent: collector, Jaeger, Prometheus and sealer, each as it is shipped."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.integration.line.running import Ran, run_on_model
from tests.integration.parts import services
from tests.integration.parts.sealer import Sealer, sealer


@dataclass(frozen=True)
class Line:
    """Everything that an agent's spans reach."""

    folder: Path
    collector: services.Collector
    jaeger: services.Jaeger
    prometheus: services.Prometheus
    sealer: Sealer


@contextmanager
def whole_line(folder: Path, jaeger: services.Jaeger, prometheus: services.Prometheus) -> Generator[Line]:
    """A collector and a sealer of their own, with a token between them, beside the Jaeger and Prometheus given."""
    token = "between-the-two"
    with (
        sealer(folder / "sealer", token=token) as sealing,
        services.collector(
            folder / "collector", sealer=sealing.url, jaeger=jaeger.otlp_grpc, remote_write=prometheus.remote_write,
            token=token,
        ) as collector,
    ):  # fmt: skip
        yield Line(folder, collector, jaeger, prometheus, sealing)


def on_openai(line: Line, server: services.OpenAIServer) -> Ran:
    """All cases on the OpenAI-compatible server."""
    state = line.folder / "app-openai"
    return run_on_model(state, line.collector.otlp_http, "openai", server.base_url.removesuffix("/v1"), server.model)


def on_ollama(line: Line, server: services.Ollama) -> Ran:
    """All cases on Ollama, one more with native tool calls."""
    state = line.folder / "app-ollama"
    return run_on_model(
        state, line.collector.otlp_http, "ollama", server.url, server.model, tools_model=server.tools_model
    )
