"""Metrics under the pinned names, recorded where our spans end, and only for ours."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

import pytest
from opentelemetry import metrics as api
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from spanseal.genai import semconv
from spanseal.telemetry.run_span import run_span
from spanseal.telemetry.tracing import fail, tracer
from spanseal.testing import capture_spans


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Generator[InMemoryMetricReader]:
    made = InMemoryMetricReader()
    provider = MeterProvider([made], shutdown_on_exit=False)
    monkeypatch.setattr(api, "get_meter", provider.get_meter)
    yield made
    provider.shutdown()


def read(reader: InMemoryMetricReader) -> dict[str, Any]:
    data = reader.get_metrics_data()
    assert data is not None
    return {metric.name: metric for metric in data.resource_metrics[0].scope_metrics[0].metrics}


def test_calls_tools_and_agents_are_measured(reader: InMemoryMetricReader) -> None:
    chat = {semconv.OPERATION_NAME: "chat", semconv.PROVIDER_NAME: "openai", semconv.REQUEST_MODEL: "m"}
    with capture_spans() as captured:
        with run_span("calculator"):
            used = {semconv.USAGE_INPUT_TOKENS: 7, semconv.USAGE_OUTPUT_TOKENS: 2}
            tracer().start_span("chat m", attributes=chat | used, start_time=0).end(2_000_000_000)
            tool = {semconv.OPERATION_NAME: "execute_tool", semconv.TOOL_NAME: "add"}
            span = tracer().start_span("execute_tool add", attributes=tool)
            fail(span, "ToolFaultError")
            span.end()
        captured.provider.get_tracer("other").start_span("chat m", attributes=chat).end()
    found = read(reader)
    assert set(found) == {
        semconv.METRIC_INFERENCE_DURATION,
        semconv.METRIC_INPUT_TOKENS,
        semconv.METRIC_OUTPUT_TOKENS,
        semconv.METRIC_TOOL_DURATION,
        semconv.METRIC_AGENT_DURATION,
    }
    (call,) = found[semconv.METRIC_INFERENCE_DURATION].data.data_points
    assert (call.count, call.sum, dict(call.attributes)) == (1, 2.0, chat)
    assert call.explicit_bounds[:3] == (0.01, 0.02, 0.04)
    assert call.explicit_bounds[-1] == 81.92
    (tokens,) = found[semconv.METRIC_INPUT_TOKENS].data.data_points
    assert (tokens.value, tokens.attributes[semconv.TOKEN_MODALITY]) == (7, "text")
    (tool_point,) = found[semconv.METRIC_TOOL_DURATION].data.data_points
    assert tool_point.attributes == {
        semconv.TOOL_NAME: "add",
        semconv.AGENT_NAME: "calculator",
        semconv.ERROR_TYPE: "ToolFaultError",
    }
    (agent,) = found[semconv.METRIC_AGENT_DURATION].data.data_points
    assert agent.explicit_bounds[-1] == 409.6
    assert found[semconv.METRIC_AGENT_DURATION].unit == "s"
