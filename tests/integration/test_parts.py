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
from tests.integration.parts.process import free_ports, wait_until
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
    answer = httpx.get(f"{jaeger.query}/api/v3/traces/{trace_id}", params={"raw_traces": "true"}, trust_env=False)
    found = answer.json().get("result", {}).get("resourceSpans", [])
    return [one for resource in found for scope in resource["scopeSpans"] for one in scope["spans"]]


def ask(prometheus: services.Prometheus, query: str) -> list[dict[str, Any]]:
    answer = httpx.get(f"{prometheus.url}/api/v1/query", params={"query": query}, trust_env=False).json()
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
    assert httpx.get(f"{jaeger.query}/api/v3/services", trust_env=False).json()["services"].count("jaeger") == 0

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
    send(collector.otlp_http, secret, unsampled)
    soon(lambda: bool(in_jaeger(jaeger, secret["traceId"])), "the span in Jaeger")
    (seen,) = in_jaeger(jaeger, secret["traceId"])
    values = {one["key"]: one["value"]["stringValue"] for one in seen["attributes"]}
    assert values["api_key"] == "****"
    assert json.loads(values["gen_ai.input.messages"]) == [{"content": "use **** please"}]
    assert in_jaeger(jaeger, unsampled["traceId"]) == []
    (archived,) = holding(collector.archived(), secret["traceId"])
    assert SECRET.encode() in archived
    assert unsampled["traceId"].encode() in archived


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


def test_nothing_is_lost_while_the_sealer_is_away(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    before, after = span("chat before", {}), span("chat after", {})
    with services.collector(tmp_path, sealer=f"http://127.0.0.1:{port}") as collector:
        send(collector.otlp_http, before)
        collector.service.restart()  # in order, with the sealer away: the queue must survive that
        assert holding(collector.archived(), before["traceId"])
        send(collector.otlp_http, after)
        assert holding(collector.archived(), before["traceId"])  # a restart appends
        collector.service.kill()
        collector.service.start()
        with sink(port) as sealer:
            soon(lambda: len(sealer.received) >= 2, "both spans at the sealer")
        bodies = [one.body for one in sealer.received]
    assert len(holding(bodies, before["traceId"])) == 1
    assert len(holding(bodies, after["traceId"])) == 1


def test_a_refusing_sealer_gets_the_span_again_and_once(tmp_path: Path) -> None:
    sent = span("chat again", {})
    with sink() as sealer, services.collector(tmp_path, sealer=sealer.url) as collector:
        sealer.status = 503
        send(collector.otlp_http, sent)
        soon(lambda: len(sealer.received) >= 2, "a second try")
        sealer.status = 200
        tries = len(sealer.received)
        soon(lambda: len(sealer.received) > tries, "a try that is accepted")
        assert len({one.body for one in sealer.received}) == 1


def test_the_collector_answers_without_jaeger_prometheus_and_sealer(tmp_path: Path) -> None:
    sent = span("chat alone", {})
    with services.collector(tmp_path) as collector:
        send(collector.otlp_http, sent)
        assert holding(collector.archived(), sent["traceId"])


def test_exposed_receivers_demand_their_token_and_tls(tmp_path: Path) -> None:
    """exposed.yaml without its variables must not come up open."""
    arguments = ["--config", str(services.CONFIG / "otelcol.yaml"), "--config", str(services.CONFIG / "exposed.yaml")]
    done = subprocess.run([binary("otelcol"), "validate", *arguments], env={}, capture_output=True, text=True)
    assert done.returncode != 0


def test_compose_itself_accepts_the_file() -> None:
    compose = services.CONFIG.parent / "docker-compose.yml"
    good = subprocess.run([binary("compose"), compose], env={"SPANSEAL_TOKEN": "t"}, capture_output=True, text=True)
    assert good.returncode == 0, good.stderr
    assert json.loads(good.stdout)["name"] == "spanseal"
    no_token = subprocess.run([binary("compose"), compose], env={}, capture_output=True, text=True)
    assert no_token.returncode == 1
    assert "SPANSEAL_TOKEN" in no_token.stderr


CHOICE = {
    "type": "object",
    "properties": {"action": {"enum": ["add", "finish"]}, "input": {"type": "string", "maxLength": 20}},
    "required": ["action", "input"],
    "additionalProperties": False,
}
QUESTION = [{"role": "user", "content": "How much is 128 plus 64? Choose an action."}]


def test_the_openai_server_answers_under_a_schema(openai_server: services.OpenAIServer) -> None:
    body = {
        "model": openai_server.model,
        "messages": QUESTION,
        "max_tokens": 60,
        "response_format": {"type": "json_schema", "json_schema": {"name": "choice", "schema": CHOICE}},
    }
    answers = [
        httpx.post(f"{openai_server.base_url}/chat/completions", json=body, timeout=120, trust_env=False).json()
        for _ in range(2)
    ]
    content = answers[0]["choices"][0]["message"]["content"]
    assert json.loads(content)["action"] in {"add", "finish"}
    assert answers[0]["usage"]["completion_tokens"] > 0
    assert answers[0]["model"] == openai_server.model
    assert answers[1]["choices"][0]["message"]["content"] == content  # fixed seed, temperature zero


def test_ollama_answers_under_a_schema_and_takes_tools(ollama: services.Ollama) -> None:
    body = {"model": ollama.model, "messages": QUESTION, "stream": False, "format": CHOICE}
    answer = httpx.post(f"{ollama.url}/api/chat", json=body, timeout=120, trust_env=False).json()
    assert json.loads(answer["message"]["content"])["action"] in {"add", "finish"}
    assert answer["prompt_eval_count"] > 0
    shown = httpx.post(f"{ollama.url}/api/show", json={"model": ollama.tools_model}, trust_env=False).json()
    assert "tools" in shown["capabilities"]
    tool = {"type": "function", "function": {"name": "add", "parameters": CHOICE, "description": "adds"}}
    body = {"model": ollama.tools_model, "messages": QUESTION, "stream": False, "tools": [tool]}
    answer = httpx.post(f"{ollama.url}/api/chat", json=body, timeout=120, trust_env=False)
    assert answer.status_code == 200, answer.text
