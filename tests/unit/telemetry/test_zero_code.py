"""The real command ``opentelemetry-instrument``: an application that knows nothing of us, and its variables."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Generator
from importlib.metadata import entry_points
from pathlib import Path

import pytest
from tests.unit.telemetry.line_ledger import check_ledgers
from tests.unit.telemetry.model_server import answering
from tests.unit.telemetry.processes import collecting, spans_in

from spanseal.genai import semconv
from spanseal.records.otlp import SpanRecord

COMMAND = Path(sys.executable).with_name("opentelemetry-instrument")

APP = """
import sys
assert "openai" not in sys.modules and "ollama" not in sys.modules
import ollama, openai
client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="k")  # made with the module
openai.base_url = sys.argv[1] + "/v1/"
openai.api_key = "k"
say = dict(model="m", messages=[{"role": "user", "content": "hi"}])
def agent():
    from opentelemetry import trace
    doing = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "theirs"}
    with trace.get_tracer("framework").start_as_current_span("invoke_agent theirs", attributes=doing):
        client.chat.completions.create(**say)
        openai.chat.completions.create(**say)
        ollama.chat(**say)
        ollama.Client(sys.argv[1]).chat(**say)
agent()
"""
NAMES = ["chat m"] * 4 + ["invoke_agent theirs", semconv.SPAN_MANIFEST]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    with answering(tmp_path_factory.mktemp("model")) as url:
        yield url


def run_app(tmp_path: Path, model: str, app: str = APP, **variables: str) -> tuple[str, str]:
    """Run it to its end, with no other instrumentation than threading's; returns what it said on stdout and stderr."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "SPANSEAL_"))}
    others = {found.name for found in entry_points(group="opentelemetry_instrumentor")} - {"spanseal", "threading"}
    env = {
        **kept, "OLLAMA_HOST": model, "NO_PROXY": "*", "SPANSEAL_STATE_DIR": str(tmp_path / "state"),
        OFF: ",".join(sorted(others)), **variables,
    }  # fmt: skip
    (tmp_path / "app.py").write_text(app)
    done = subprocess.run(
        [COMMAND, sys.executable, tmp_path / "app.py", model], env=env, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


OFF = "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS"
OFF_BY_NAME = {OFF: "requests, spanseal"}
WITHOUT_DISTRO = {"OTEL_PYTHON_DISTRO": "none", "OTEL_PYTHON_CONFIGURATOR": "none"}
DISTRO = {"OTEL_TRACES_EXPORTER": "console", "OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"}


def names(spans: list[SpanRecord]) -> list[str]:
    return sorted(span.name for span in spans)


def check_run(spans: list[SpanRecord]) -> None:
    """One run of the foreign agent, numbered, with every call."""
    assert names(spans) == NAMES
    assert len(check_ledgers(spans)) == 1
    (root,) = (span for span in spans if span.name == "invoke_agent theirs")
    calls = [span for span in spans if span.name == "chat m"]
    assert {span.parent_span_id for span in calls} == {root.span_id}
    assert sorted(str(span.attributes[semconv.PROVIDER_NAME]) for span in calls) == ["ollama"] * 2 + ["openai"] * 2


def test_a_folder_gets_the_numbered_spans_of_all_clients(tmp_path: Path, model: str) -> None:
    out = str(tmp_path / "out")
    _, said = run_app(tmp_path, model, SPANSEAL_EXPORT=out, OTEL_SERVICE_NAME="shop", **WITHOUT_DISTRO)
    spans = spans_in(tmp_path / "out")
    check_run(spans)
    assert all(span.resource[semconv.SERVICE_NAME] == "shop" for span in spans)
    assert all("hello" in str(span.attributes[semconv.OUTPUT_MESSAGES]) for span in spans if span.name == "chat m")
    assert [line.split(" because")[0] for line in said.splitlines()] == ["Configuration of configurator not loaded"]


def test_the_standard_endpoint_gets_them_through_the_spool(tmp_path: Path, model: str) -> None:
    with collecting(tmp_path / "collector") as collector:
        run_app(tmp_path, model, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url, **WITHOUT_DISTRO)
        spans = collector.spans()
    check_run(spans)
    assert not any(semconv.OUTPUT_MESSAGES in span.attributes for span in spans)  # leaves the machine: unasked, none
    assert (tmp_path / "state" / "spool").is_dir()


def test_beside_the_official_distribution_its_exporter_goes_on_and_ours_is_added(tmp_path: Path, model: str) -> None:
    printed, said = run_app(tmp_path, model, SPANSEAL_EXPORT=str(tmp_path / "out"), **DISTRO)
    check_run(spans_in(tmp_path / "out"))
    assert printed.count('"name": "chat m"') == 4
    assert printed.count(f'"{semconv.RUN_ID}"') == len(NAMES)
    assert "a tracer provider was there already" in said


def test_with_the_official_distribution_alone_the_spans_are_numbered_in_its_export(tmp_path: Path, model: str) -> None:
    printed, said = run_app(tmp_path, model, **DISTRO)
    assert printed.count(f'"{semconv.SEQ}"') == len(NAMES)
    assert printed.count(f'"{semconv.MANIFEST}": "{{') == 1
    assert said == ""


def test_what_the_application_configures_itself_takes_the_place_of_the_variables(tmp_path: Path, model: str) -> None:
    own = f"import spanseal\nspanseal.configure('mine', export={str(tmp_path / 'own')!r})\n" + APP
    run_app(tmp_path, model, own, SPANSEAL_EXPORT=str(tmp_path / "out"), **WITHOUT_DISTRO)
    spans = spans_in(tmp_path / "own")
    check_run(spans)
    assert all(span.resource[semconv.SERVICE_NAME] == "mine" for span in spans)
    assert spans_in(tmp_path / "out") == []


@pytest.mark.parametrize(
    "variables",
    [
        {"OTEL_SDK_DISABLED": "true"},
        OFF_BY_NAME,
        {OFF: "*"},
    ],
)
def test_what_is_switched_off_does_nothing(tmp_path: Path, variables: dict[str, str]) -> None:
    untouched = "import openai\nassert not hasattr(openai.OpenAI.__init__, '__wrapped__')\n"
    app = untouched if variables == OFF_BY_NAME else ""
    run_app(tmp_path, "", app, **{**WITHOUT_DISTRO, "SPANSEAL_EXPORT": str(tmp_path / "out"), **variables})
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, ""),
        ({"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}, ""),
        ({"SPANSEAL_EXPORT": "localhost:4318"}, "telemetry is not set up: SPANSEAL_EXPORT"),
        (
            {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4317"},
            "telemetry is not set up: OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc'",
        ),
    ],
)
def test_without_a_place_to_export_to_the_provider_stays_the_applications(
    tmp_path: Path, variables: dict[str, str], expected: str
) -> None:
    app = "import opentelemetry.trace as t\nassert isinstance(t.get_tracer_provider(), t.ProxyTracerProvider)\n"
    _, said = run_app(tmp_path, "", app, **WITHOUT_DISTRO, **variables)
    assert expected in said
    assert len(said.splitlines()) == (2 if expected else 1)
