"""The real services work, in the configurations that are shipped: what goes in at one end comes out at every other."""

import json
import subprocess
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import httpx
import pytest
from dashboards.generate import queries
from tests.integration.parts import services
from tests.integration.parts.build import binary
from tests.integration.parts.process import wait_until
from tests.integration.parts.sink import Sink, sink
from tests.integration.parts.spans import a_run, document, send, span

SECRET = "sk-" + "a1b2c3d4" * 4


@pytest.fixture(scope="module")
def sealer() -> Generator[Sink]:
    with sink() as stand_in:
        yield stand_in


@pytest.fixture(scope="module")
def collector(
    run_folder: Path, jaeger: services.Jaeger, prometheus: services.Prometheus, sealer: Sink
) -> Generator[services.Collector]:
    folder = run_folder / "parts-collector"
    with services.collector(
        folder, sealer=sealer.url, jaeger=jaeger.otlp_grpc, remote_write=prometheus.remote_write, token="a-token"
    ) as service:
        yield service


def in_jaeger(jaeger: services.Jaeger, trace_id: str) -> list[dict[str, Any]]:
    answer = httpx.get(
        f"{jaeger.query}/api/v3/traces/{trace_id}", params={"raw_traces": "true"}, trust_env=False, timeout=30
    )
    found = answer.json().get("result", {}).get("resourceSpans", [])
    return [one for resource in found for scope in resource["scopeSpans"] for one in scope["spans"]]


def ask(prometheus: services.Prometheus, query: str) -> list[dict[str, Any]]:
    answer = httpx.get(f"{prometheus.url}/api/v1/query", params={"query": query}, trust_env=False, timeout=30).json()
    assert answer["status"] == "success", f"{query}: {answer}"
    return answer["data"]["result"]


def holding(lines: list[bytes], text: str) -> list[bytes]:
    return [line for line in lines if text.encode() in line]


def soon(condition: Callable[[], bool], what: str) -> None:
    wait_until(condition, 20, what)


def test_the_shipped_collector_configurations_are_valid(tmp_path: Path) -> None:
    plain = ["--config", str(services.CONFIG / "otelcol.yaml")]
    exposed = [*plain, "--config", str(services.CONFIG / "exposed.yaml")]
    settings = {"SPANSEAL_INGEST_TOKEN": "t", "SPANSEAL_TLS_CERT": "/cert", "SPANSEAL_TLS_KEY": "/key"}
    for arguments, env in ((plain, {}), (exposed, settings)):
        done = subprocess.run([binary("otelcol"), "validate", *arguments], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    bare = subprocess.run([binary("otelcol"), "validate", *exposed], env={}, capture_output=True, text=True)
    assert bare.returncode != 0, "exposed.yaml without its variables must not come up open"


def test_a_span_arrives_everywhere(
    collector: services.Collector, jaeger: services.Jaeger, prometheus: services.Prometheus, sealer: Sink
) -> None:
    sent = span("chat everywhere", {"gen_ai.operation.name": "chat", "gen_ai.request.model": "everywhere"})
    send(collector.otlp_http, sent, service="everywhere")
    trace_id = sent["traceId"]

    soon(lambda: bool(in_jaeger(jaeger, trace_id)), "the span in Jaeger")
    (seen,) = in_jaeger(jaeger, trace_id)
    assert {key: seen[key] for key in ("spanId", "name", "kind", "attributes")} == {
        key: sent[key] for key in ("spanId", "name", "kind", "attributes")
    }
    assert (
        httpx.get(f"{jaeger.query}/api/v3/services", trust_env=False, timeout=30).json()["services"].count("jaeger")
        == 0
    )

    soon(lambda: bool(holding([one.body for one in sealer.received], trace_id)), "the span at the sealer")
    (request,) = [one for one in sealer.received if trace_id.encode() in one.body]
    assert request.path == "/v1/traces"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["authorization"] == "Bearer a-token"
    assert "content-encoding" not in request.headers
    (archived,) = holding(collector.archived(), trace_id)
    assert archived == request.body  # one format to cut
    assert json.loads(archived) == document(sent, service="everywhere")

    query = 'traces_span_metrics_calls_total{job="everywhere"}'
    soon(lambda: bool(ask(prometheus, query)), "the span in Prometheus")
    assert ask(prometheus, query)[0]["metric"]["gen_ai_request_model"] == "everywhere"


def test_the_view_is_redacted_and_sampled_and_the_audit_route_is_neither(
    collector: services.Collector, jaeger: services.Jaeger
) -> None:
    secret = span("chat secret", {"gen_ai.input.messages": f'[{{"content": "use {SECRET} please"}}]', "api_key": "x"})
    unsampled = span("chat unsampled", {"spanseal.sampled": False})
    value = span("spanseal.value", {"spanseal.value.text": "x" * 1000})
    send(collector.otlp_http, secret, unsampled, value)
    soon(lambda: bool(in_jaeger(jaeger, secret["traceId"])), "the span in Jaeger")
    (seen,) = in_jaeger(jaeger, secret["traceId"])
    values = {one["key"]: one["value"]["stringValue"] for one in seen["attributes"]}
    assert values["api_key"] == "****"
    assert json.loads(values["gen_ai.input.messages"]) == [{"content": "use **** please"}]
    assert in_jaeger(jaeger, unsampled["traceId"]) == in_jaeger(jaeger, value["traceId"]) == []
    (archived,) = holding(collector.archived(), secret["traceId"])
    assert SECRET.encode() in archived
    assert unsampled["traceId"].encode() in archived
    assert value["traceId"].encode() in archived


def test_every_query_on_the_board_has_an_answer(collector: services.Collector, prometheus: services.Prometheus) -> None:
    send(collector.otlp_http, *a_run(), service="board")
    asked = queries(job="board")
    assert asked

    def empty() -> list[str]:
        return [f"{title}: {query}" for title, query in asked if not ask(prometheus, query)]

    soon(lambda: not empty(), f"answers; still empty: {empty()}")
    # Runs that are the first ever must be counted, though their counters have no earlier value to grow from.
    runs = dict(asked)["Runs"]
    soon(lambda: [one["value"][1] for one in ask(prometheus, runs)] == ["2"], "both runs to be counted")


def test_compose_itself_accepts_the_file() -> None:
    compose = services.CONFIG.parent / "docker-compose.yml"
    good = subprocess.run([binary("compose"), compose], env={"SPANSEAL_TOKEN": "t"}, capture_output=True, text=True)
    assert good.returncode == 0, good.stderr
    assert json.loads(good.stdout)["name"] == "spanseal"
    no_token = subprocess.run([binary("compose"), compose], env={}, capture_output=True, text=True)
    assert no_token.returncode == 1
    assert "SPANSEAL_TOKEN" in no_token.stderr


def test_prometheus_scrapes_the_collector_itself(
    collector: services.Collector, prometheus: services.Prometheus
) -> None:
    address = httpx.URL(collector.metrics).netloc.decode()
    (prometheus.targets / "collector.yml").write_text(f'- targets: ["{address}"]\n')
    send(collector.otlp_http, span("chat scraped", {}))
    query = 'otelcol_exporter_queue_size{job="spanseal-collector"}'
    wait_until(lambda: bool(ask(prometheus, query)), 45, "the collector's own metrics in Prometheus")
