"""Where numbers and events go: by export, by the standard variables, by what the application has set up itself."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from tests.unit.telemetry.processes import agent

from spanseal.effects import Effects
from spanseal.genai import semconv as sc
from spanseal.settings import load_settings
from spanseal.telemetry.signals.outlets import FolderOutlet, ServerOutlet
from spanseal.telemetry.signals.set_up import signals_for
from spanseal.telemetry.signals.signals import Signals

RUN = """
from spanseal.telemetry.signals.events import emit_event
from spanseal.verification.pipeline import VerificationPipeline
from spanseal.verification.checks.not_empty import NotEmptyCheck
from spanseal.genai.messages import LLMResponse
def work(name="clerk"):
    with run_span(name):
        VerificationPipeline([NotEmptyCheck()]).run(LLMResponse("x", "m"))
"""


def signals(
    variables: dict[str, str], folder: Path | None = None, url: str | None = None, headers: dict[str, str] | None = None
) -> Signals:
    provider = TracerProvider(shutdown_on_exit=False)
    return signals_for(load_settings(variables), Effects(), provider, folder=folder, url=url, headers=headers or {})


def places(made: Signals) -> tuple[Any, Any]:
    """Where metrics and events go, as their outlets name it."""
    courier = made.courier
    if courier is None:
        return None, None
    return _place(courier.metrics), _place(courier.events)


def _place(outlet: Any) -> Any:
    if isinstance(outlet, ServerOutlet):
        return outlet.name
    return outlet.folder if isinstance(outlet, FolderOutlet) else None


URL = "http://c:4318/v1/traces"
BESIDE = ("http://c:4318/v1/metrics", "http://c:4318/v1/logs")


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, BESIDE),
        ({"OTEL_METRICS_EXPORTER": "none"}, (None, BESIDE[1])),
        ({"OTEL_LOGS_EXPORTER": "none"}, (BESIDE[0], None)),
        ({"OTEL_METRICS_EXPORTER": "console,otlp"}, BESIDE),
        ({"OTEL_METRICS_EXPORTER": "prometheus"}, (None, BESIDE[1])),
        ({"SPANSEAL_METRICS": "off"}, (None, BESIDE[1])),
        ({"SPANSEAL_EVENTS": "off"}, (BESIDE[0], None)),
        ({"OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT": "false"}, (BESIDE[0], None)),
        ({"OTEL_SDK_DISABLED": "true"}, (None, None)),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://m:1/x"}, ("http://m:1/x", BESIDE[1])),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://other:4318"}, BESIDE),
    ],
)
def test_beside_the_spans_unless_told_otherwise(variables: dict[str, str], expected: tuple[Any, Any]) -> None:
    assert places(signals(variables, url=URL)) == expected


def test_a_folder_takes_them_and_no_export_none(tmp_path: Path) -> None:
    assert places(signals({}, folder=tmp_path)) == (tmp_path, tmp_path)
    nowhere = signals({})
    assert nowhere.courier is None
    assert nowhere.metrics is not None  # the application may have a meter provider
    assert places(signals({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"})) == (None, None)


def test_a_traces_endpoint_of_its_own_says_nothing_of_the_others() -> None:
    odd = "http://c/traces-here"
    assert places(signals({}, url=odd)) == (None, None)
    shared = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}
    assert places(signals(shared, url=odd)) == BESIDE


def test_content_on_events_asks_for_the_details() -> None:
    key = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
    for variables, expected in (
        ({}, False), ({key: "SPAN_ONLY"}, False), ({key: "EVENT_ONLY"}, True), ({key: "SPAN_AND_EVENT"}, True),
        ({"OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT": "true"}, True),
        ({key: "EVENT_ONLY", "OTEL_INSTRUMENTATION_GENAI_EMIT_EVENT": "false"}, False),
    ):
        events = signals(variables, url=URL).events
        assert events is not None
        assert events.details is expected


def test_the_opt_in_is_read_as_others_read_it() -> None:
    key = "OTEL_SEMCONV_STABILITY_OPT_IN"
    for value, before_too in (
        ("", False), ("gen_ai_latest_experimental", False), ("http, gen_ai/dup", True), ("gen_ai/dup", True),
    ):
        metrics = signals({key: value}, url=URL).metrics
        assert metrics is not None
        assert metrics.before_too is before_too


def metrics_in(folder: Path) -> list[dict[str, Any]]:
    """The last word of each file, by metric name."""
    found: list[dict[str, Any]] = []
    for path in sorted(folder.glob("metrics-*.ndjson")):
        scopes = json.loads(path.read_text().splitlines()[-1])["resourceMetrics"][0]["scopeMetrics"]
        found.append({metric["name"]: metric for metric in scopes[0]["metrics"]})
    return found


def runs_in(metrics: dict[str, Any]) -> int:
    points = metrics[sc.METRIC_AGENT_DURATION]["histogram"]["dataPoints"]
    return sum(int(point["count"]) for point in points)


def events_in(folder: Path) -> list[dict[str, Any]]:
    return [
        record for path in sorted(folder.glob("logs-*.ndjson")) for line in path.read_text().splitlines()
        for group in json.loads(line)["resourceLogs"] for record in group["scopeLogs"][0]["logRecords"]
    ]


def test_a_normal_end_leaves_numbers_and_events_beside_the_spans(tmp_path: Path) -> None:
    assert agent(RUN + "configure('shop', export=sys.argv[1])\nwork()\nwork()", str(tmp_path)) == ""
    (metrics,) = metrics_in(tmp_path)
    assert runs_in(metrics) == 2
    assert [event["eventName"] for event in events_in(tmp_path)] == [sc.EVENT_EVALUATION_RESULT] * 2
    assert events_in(tmp_path)[0]["traceId"]


def test_shutdown_and_a_second_life_count_anew(tmp_path: Path) -> None:
    code = RUN + "for _ in range(2):\n    configure('shop', export=sys.argv[1])\n    work()\n    shutdown()"
    assert agent(code, str(tmp_path)) == ""
    assert [runs_in(metrics) for metrics in metrics_in(tmp_path)] == [1, 1]


def test_a_forked_child_tells_of_itself_only(tmp_path: Path) -> None:
    code = RUN + """
configure('shop', export=sys.argv[1])
work('parent')
child = os.fork()
work('child' if child == 0 else 'parent')
if child == 0:
    assert flush()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
"""
    assert agent(code, str(tmp_path)) == ""
    assert sorted(runs_in(metrics) for metrics in metrics_in(tmp_path)) == [1, 2]
    documents = [path.read_text() for path in tmp_path.glob("metrics-*.ndjson")]
    instances = {json.dumps(json.loads(text.splitlines()[-1])["resourceMetrics"][0]["resource"]) for text in documents}
    assert len(instances) == 2


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_workers_of_a_process_pool_deliver_at_their_end(way: str, tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(
        "from spanseal.telemetry.run_span import run_span\ndef job(n):\n    with run_span('worker'): return n\n"
    )
    code = RUN + """
import multiprocessing
sys.path.insert(0, sys.argv[2])
os.environ['PYTHONPATH'] = sys.argv[2] + os.pathsep + os.environ.get('PYTHONPATH', '')
from concurrent.futures import ProcessPoolExecutor
from job import job
if __name__ == '__main__':
    configure('shop', export=sys.argv[1])
    with ProcessPoolExecutor(1, multiprocessing.get_context(sys.argv[3])) as pool:
        assert list(pool.map(job, range(3))) == [0, 1, 2]
    work()
"""
    folder = tmp_path / "spans"
    assert agent(code, str(folder), str(tmp_path), way) == ""
    assert sorted(runs_in(metrics) for metrics in metrics_in(folder)) == [1, 3]


def test_the_applications_own_providers_are_used_and_ours_say_nothing(tmp_path: Path) -> None:
    code = RUN + """
from opentelemetry import metrics, _logs
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
configure('shop', export=sys.argv[1])
reader, kept, provider = InMemoryMetricReader(), InMemoryLogRecordExporter(), LoggerProvider()
provider.add_log_record_processor(SimpleLogRecordProcessor(kept))
metrics.set_meter_provider(MeterProvider([reader]))
_logs.set_logger_provider(provider)
work()
names = {m.name for m in reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics}
assert 'gen_ai.invoke_agent.duration' in names, names
(log,) = kept.get_finished_logs()
assert log.log_record.event_name == 'gen_ai.evaluation.result'
assert log.log_record.trace_id
"""
    assert agent(code, str(tmp_path)) == ""
    assert metrics_in(tmp_path) == []
    assert events_in(tmp_path) == []


def test_a_disabled_sdk_tells_nothing_at_all(tmp_path: Path) -> None:
    code = RUN + "configure('shop', export=sys.argv[1])\nwork()\nassert flush()"
    assert agent(code, str(tmp_path), environ={"OTEL_SDK_DISABLED": "true"}) == ""
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")] == []


def test_content_of_model_calls_goes_on_events_only_if_asked_so(tmp_path: Path) -> None:
    code = RUN + """
from spanseal.testing import ScriptedModel
configure('shop', export=sys.argv[1])
ScriptedModel(['the answer']).complete('the question')
"""
    variable = {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "EVENT_ONLY"}
    assert agent(code, str(tmp_path), environ=variable) == ""
    (event,) = events_in(tmp_path)
    assert event["eventName"] == sc.EVENT_INFERENCE_DETAILS
    values = {one["key"]: one["value"] for one in event["attributes"]}
    assert "the question" in json.dumps(values[sc.INPUT_MESSAGES]["arrayValue"])
    assert "the answer" in json.dumps(values[sc.OUTPUT_MESSAGES]["arrayValue"])
    spans = "".join(path.read_text() for path in tmp_path.glob("spans-*.jsonl"))
    assert "chat scripted" in spans
    assert "the question" not in spans
    assert "the answer" not in spans


def test_traces_can_be_off_by_the_standard_variable() -> None:
    endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}
    assert load_settings(endpoint).endpoint == "http://c:4318/v1/traces"
    assert load_settings(endpoint | {"OTEL_TRACES_EXPORTER": "none"}).endpoint is None
