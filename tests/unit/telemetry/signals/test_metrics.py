"""Metrics under the pinned names, recorded where our spans end, and only for ours."""

from __future__ import annotations

import threading
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import pytest
from opentelemetry import metrics as api
from opentelemetry.exporter.otlp.json.common.metrics_encoder import encode_metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, MetricsData, ResourceMetrics, ScopeMetrics
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON
from tests.unit.telemetry.wire_world import bare_client, recording, whole

from spanseal.effects import Effects
from spanseal.genai import semconv as sc
from spanseal.telemetry.active import Active, activate, active
from spanseal.telemetry.instrument import instrument
from spanseal.telemetry.run_span import run_span
from spanseal.telemetry.signals.courier import SCOPE
from spanseal.telemetry.signals.events import Events
from spanseal.telemetry.signals.instruments import TOOL
from spanseal.telemetry.signals.metrics import Metrics
from spanseal.telemetry.signals.numbers import Numbers
from spanseal.telemetry.signals.signals import Signals
from spanseal.telemetry.spans.failure import fail
from spanseal.telemetry.spans.tracer import tracer
from spanseal.testing import capture_spans

CHAT: dict[str, Any] = {
    sc.OPERATION_NAME: "chat", sc.PROVIDER_NAME: "openai", sc.REQUEST_MODEL: "m", sc.RESPONSE_MODEL: "m-1",
    sc.SERVER_ADDRESS: "h", sc.SERVER_PORT: 443,
}
USED: dict[str, Any] = {
    sc.USAGE_INPUT_TOKENS: 7, sc.USAGE_OUTPUT_TOKENS: 2, sc.USAGE_CACHE_READ_TOKENS: 4, sc.USAGE_REASONING_TOKENS: 0,
    sc.RESPONSE_TIME_TO_FIRST_CHUNK: 0.5,
}


class App:
    """An application with a meter provider of its own."""

    def __init__(self) -> None:
        self.reader = InMemoryMetricReader()
        self.provider = MeterProvider([self.reader], Resource({}), shutdown_on_exit=False)

    def read(self) -> dict[str, Any]:
        data = self.reader.get_metrics_data()
        assert data is not None
        return {metric.name: metric for metric in data.resource_metrics[0].scope_metrics[0].metrics}


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> Generator[App]:
    made = App()
    monkeypatch.setattr(api, "get_meter_provider", lambda: made.provider)
    yield made
    made.provider.shutdown()


def one_run() -> None:
    with run_span("calculator"):
        tracer().start_span("chat m", attributes=CHAT | USED, start_time=0).end(2_000_000_000)
        broken = tracer().start_span("chat m", attributes=CHAT, start_time=0)
        fail(broken, "429")
        broken.end(1_000_000_000)
        add = {sc.OPERATION_NAME: "execute_tool", sc.TOOL_NAME: "add"}
        tool = tracer().start_span("execute_tool add", attributes=add)
        fail(tool, "ToolFaultError")
        tool.end()
        with run_span("inner"):
            tracer().start_span("chat m", attributes=CHAT, start_time=0).end(1)
        embeddings = CHAT | {sc.OPERATION_NAME: "embeddings"}
        tracer().start_span("embeddings m", attributes=embeddings, start_time=0).end(40_000_000)


def points(metric: Any) -> list[Any]:
    return list(metric.data.data_points)


def test_calls_tools_agents_and_embeddings_are_measured(app: App) -> None:
    with capture_spans() as captured:
        one_run()
        captured.provider.get_tracer("other").start_span("chat m", attributes=CHAT).end()
    found = app.read()
    assert set(found) == {
        sc.METRIC_INFERENCE_DURATION, sc.METRIC_TIME_TO_FIRST_CHUNK, sc.METRIC_INPUT_TOKENS, sc.METRIC_OUTPUT_TOKENS,
        sc.METRIC_CACHE_READ_TOKENS, sc.METRIC_INPUT_TOKENS_EACH, sc.METRIC_OUTPUT_TOKENS_EACH,
        sc.METRIC_OPERATION_DURATION, sc.METRIC_TOOL_DURATION, sc.METRIC_AGENT_DURATION,
        sc.METRIC_AGENT_INFERENCE_CALLS, sc.METRIC_AGENT_TOOL_CALLS,
    }
    calls = {point.attributes.get(sc.ERROR_TYPE): point for point in points(found[sc.METRIC_INFERENCE_DURATION])}
    assert {kind: point.count for kind, point in calls.items()} == {None: 2, "429": 1}
    assert dict(calls["429"].attributes) == CHAT | {sc.ERROR_TYPE: "429"}
    assert calls[None].explicit_bounds[0] == 0.01
    assert calls[None].explicit_bounds[-1] == 81.92
    (tokens,) = points(found[sc.METRIC_INPUT_TOKENS])
    assert (tokens.value, dict(tokens.attributes)) == (7, CHAT | {sc.TOKEN_MODALITY: "unknown"})
    (each,) = points(found[sc.METRIC_INPUT_TOKENS_EACH])
    assert (each.sum, each.explicit_bounds[-1], dict(each.attributes)) == (7, 67108864, CHAT)
    (tool,) = points(found[sc.METRIC_TOOL_DURATION])
    expected = {sc.TOOL_NAME: "add", sc.AGENT_NAME: "calculator", sc.ERROR_TYPE: "ToolFaultError"}
    assert dict(tool.attributes) == expected
    (embedded,) = points(found[sc.METRIC_OPERATION_DURATION])
    assert embedded.attributes[sc.OPERATION_NAME] == "embeddings"
    assert found[sc.METRIC_AGENT_DURATION].unit == "s"


def test_a_call_counts_for_its_own_agent_only(app: App) -> None:
    with capture_spans():
        one_run()
    found = app.read()

    def counted(name: str) -> dict[str, int]:
        return {point.attributes[sc.AGENT_NAME]: point.sum for point in points(found[name])}

    assert counted(sc.METRIC_AGENT_INFERENCE_CALLS) == {"calculator": 2, "inner": 1}
    assert counted(sc.METRIC_AGENT_TOOL_CALLS) == {"calculator": 1, "inner": 0}


def test_exemplars_carry_the_span_in_whatever_thread_it_ends(app: App) -> None:
    with capture_spans() as captured:
        span = tracer().start_span("chat m", attributes=CHAT)
        thread = threading.Thread(target=span.end)
        thread.start()
        thread.join()
    where = captured.one("chat").get_span_context()
    assert where is not None
    (point,) = points(app.read()[sc.METRIC_INFERENCE_DURATION])
    (example,) = point.exemplars
    assert (example.trace_id, example.span_id) == (where.trace_id, where.span_id)


def histogram_points(numbers: Numbers) -> list[Any]:
    return [point for metric in numbers.collect() for point in points(metric) if hasattr(point, "bucket_counts")]


def with_own(numbers: Numbers, *, before_too: bool = False, sampled: bool = True) -> None:
    with capture_spans(sampler=ALWAYS_ON if sampled else ALWAYS_OFF):
        before = activate(_with(Signals(Metrics(numbers, before_too=before_too), Events())))
        try:
            one_run()
        finally:
            activate(before)


def _with(signals: Signals) -> Active:
    return replace(active(), signals=signals)


def encoded(numbers: Numbers) -> Any:
    data = MetricsData([ResourceMetrics(Resource({}), [ScopeMetrics(SCOPE, numbers.collect(), "")], "")])
    return encode_metrics(data).to_dict()


def comparable(document: Any) -> dict[str, Any]:
    """Metrics by name, without times and, of durations by the clock, sums."""
    found: dict[str, Any] = {}
    for metric in document["resourceMetrics"][0]["scopeMetrics"][0]["metrics"]:
        kind = next(key for key in ("sum", "histogram") if key in metric)
        rows: list[Any] = []
        for point in metric[kind]["dataPoints"]:
            kept = {key: point.get(key) for key in ("count", "asInt", "explicitBounds")}
            if not metric["name"].startswith(("gen_ai.invoke_agent.duration", "gen_ai.execute_tool")):
                kept |= {key: point.get(key) for key in ("sum", "min", "max", "bucketCounts")}
            labels = sorted((one["key"], str(one["value"])) for one in point.get("attributes", []))
            rows.append((labels, str(kept)))
        rest = {key: metric[key] for key in ("description", "unit")} | {"monotonic": metric[kind].get("isMonotonic")}
        found[metric["name"]] = (sorted(rows), rest, metric[kind]["aggregationTemporality"])
    return found


def test_our_own_numbers_are_those_of_the_sdk(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    with capture_spans():
        one_run()
    theirs = app.reader.get_metrics_data()
    assert theirs is not None
    monkeypatch.undo()
    numbers = Numbers(Effects().clock)
    with_own(numbers)
    assert comparable(encoded(numbers)) == comparable(encode_metrics(theirs).to_dict())


def test_our_own_exemplars_are_of_sampled_spans_and_told_once() -> None:
    numbers = Numbers(Effects().clock)
    with_own(numbers)
    assert all(point.exemplars for point in histogram_points(numbers))
    assert not any(point.exemplars for point in histogram_points(numbers))
    unsampled = Numbers(Effects().clock)
    with_own(unsampled, sampled=False)
    assert histogram_points(unsampled)
    assert not any(point.exemplars for point in histogram_points(unsampled))


def test_the_names_before_the_pin_come_too_where_they_are_asked_for() -> None:
    numbers = Numbers(Effects().clock)
    with_own(numbers, before_too=True)
    found = {metric.name: metric for metric in numbers.collect()}
    kinds = {point.attributes[sc.TOKEN_TYPE_BEFORE] for point in points(found[sc.METRIC_TOKEN_USAGE_BEFORE])}
    assert kinds == {"input", "output"}
    operations = {point.attributes[sc.OPERATION_NAME] for point in points(found[sc.METRIC_OPERATION_DURATION])}
    assert operations == {"chat", "embeddings"}
    assert sc.METRIC_INFERENCE_DURATION in found


def test_a_provider_that_is_set_later_is_used_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = Numbers(Effects().clock)
    with_own(numbers)
    counted = sum(point.count for point in points({m.name: m for m in numbers.collect()}[sc.METRIC_INFERENCE_DURATION]))
    late = App()
    monkeypatch.setattr(api, "get_meter_provider", lambda: late.provider)
    with_own(numbers)
    after = sum(point.count for point in points({m.name: m for m in numbers.collect()}[sc.METRIC_INFERENCE_DURATION]))
    assert after == counted
    assert sum(point.count for point in points(late.read()[sc.METRIC_INFERENCE_DURATION])) == counted
    late.provider.shutdown()


def test_labels_without_end_go_into_one_series() -> None:
    numbers = Numbers(Effects().clock)
    for number in range(2100):
        numbers.add([(TOOL, 0.1)], {sc.TOOL_NAME: f"t{number}"}, None)
    (metric,) = numbers.collect()
    assert len(points(metric)) == 2001
    assert sum(point.count for point in points(metric)) == 2100
    assert points(metric)[-1].attributes == {"otel.metric.overflow": "true"}


def test_nothing_is_measured_where_nobody_listens() -> None:
    with capture_spans() as captured:
        one_run()
    assert captured.named("chat")


def test_deltas_are_what_came_since_and_lost_ones_come_with_the_next() -> None:
    numbers = Numbers(Effects().clock, delta=True)

    def tell(times: int) -> None:
        for _ in range(times):
            numbers.add([(TOOL, 0.1)], {sc.TOOL_NAME: "add"}, None)

    def collected() -> list[tuple[int, int]]:
        return [
            (point.count, point.start_time_unix_nano) for metric in numbers.collect() for point in points(metric)
        ]

    tell(2)
    ((first, began),) = collected()
    assert first == 2
    assert collected() == []
    tell(3)
    ((second, later),) = collected()
    assert (second, later > began) == (3, True)
    numbers.take_back()
    tell(1)
    assert collected() == [(4, later)]


def test_an_instrumented_client_without_configuration_is_measured_too(app: App) -> None:
    with recording() as exporter:  # the application's own tracer provider, and no ledger
        client = instrument(bare_client("openai", [whole("openai")], []))
        client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
        with run_span("clerk"):
            pass
    assert len(exporter.get_finished_spans()) == 2
    found = app.read()
    assert sum(point.count for point in points(found[sc.METRIC_INFERENCE_DURATION])) == 1
    assert sum(point.count for point in points(found[sc.METRIC_AGENT_DURATION])) == 1
