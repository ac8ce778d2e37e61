"""Switching on and off: providers, what is captured by default, second calls, complaints; each in its own process
where the process's one global provider matters."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from tests.unit.telemetry.processes import agent, spans_in

from spanseal.errors import SettingsError, UsageError
from spanseal.genai import semconv
from spanseal.telemetry.active import activate, active
from spanseal.telemetry.configure import configure, flush, shutdown
from spanseal.telemetry.providers import relay_in
from spanseal.telemetry.run_span import run_span
from spanseal.telemetry.spans.tracer import tracer


@pytest.fixture(autouse=True)
def _switched_off() -> object:  # pyright: ignore[reportUnusedFunction] - pytest finds it by decorator
    yield
    shutdown()
    activate(None)


def test_before_configure_everything_is_safe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanseal.telemetry.active._LOOK_AGAIN", -1.0)  # variables change faster here than elsewhere
    activate(None)
    assert (active().capture, active().configured) == ("off", False)
    assert flush() is True
    shutdown()
    activate(None)
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_ONLY")
    assert active().capture == "full"
    assert active() is active()
    monkeypatch.setenv("SPANSEAL_CAPTURE", "off")
    assert active().capture == "off"
    monkeypatch.setenv("SPANSEAL_CAPTURE", "nonsense")
    assert active().capture == "off"
    with run_span("a") as run:
        assert len(run.run_id) == 32


def test_a_folder_is_captured_in_full_and_configured_again_after_shutdown(tmp_path: Path) -> None:
    for name in ("one", "two"):
        configure(name, export=tmp_path / name)
        assert (active().capture, active().configured) == ("full", True)
        with run_span("agent"):
            pass
        assert flush() is True
        shutdown()
        with run_span("nobody sees this"):
            pass
        spans = spans_in(tmp_path / name)
        assert [span.name for span in spans] == ["invoke_agent agent"]
        assert spans[0].resource["service.name"] == name


def test_the_threading_instrumentation_carries_the_run_and_can_be_left_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run_in_thread() -> None:
        def work() -> None:
            tracer().start_span("work").end()

        with run_span("agent"):
            thread = threading.Thread(target=work)
            thread.start()
            thread.join()
        shutdown()

    configure(export=tmp_path / "on")
    run_in_thread()
    monkeypatch.setenv("SPANSEAL_THREADS", "off")
    configure(export=tmp_path / "off")
    run_in_thread()
    with_it, without = (spans_in(tmp_path / name)[0].attributes for name in ("on", "off"))
    assert semconv.RUN_ID in with_it
    assert semconv.RUN_ID not in without


def test_the_same_call_again_does_nothing_and_another_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    configure("a", export="spans")
    before = active()
    configure("a", export=tmp_path / "spans")
    assert active() is before
    with pytest.raises(UsageError, match="shutdown"):
        configure("b", export="spans")
    with pytest.raises(UsageError):
        configure("a", export="spans", capture="off")
    assert active() is before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"export": "ftp://host"}, "configure(export=…): 'ftp://host' is not an http or https URL"),
        ({"export": "http://"}, "is not an http or https URL"),
        ({"export": ""}, "configure(export=…): empty"),
        ({"export": __file__}, "is a file"),
        ({"capture": "some"}, "'some' is not one of off, full"),
        ({"config": "/nowhere/spanseal.toml"}, "/nowhere/spanseal.toml"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, str], said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        configure("a", **arguments)  # pyright: ignore[reportArgumentType] - wrong on purpose
    assert said in str(caught.value)
    assert active().configured is False


def test_variables_say_where_to_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPANSEAL_EXPORT", str(tmp_path / "spans"))
    monkeypatch.setenv("SPANSEAL_CAPTURE", "off")
    configure()
    assert active().capture == "off"
    tracer().start_span("s").end()
    shutdown()
    assert len(spans_in(tmp_path / "spans")) == 1


def test_what_leaves_the_machine_is_off_until_asked_for(tmp_path: Path) -> None:
    code = """
from spanseal.telemetry.active import active
configure("a", export="http://127.0.0.1:9")
print(active().capture, file=sys.stderr)
shutdown()
os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"
configure("a")
print(active().capture, file=sys.stderr)
shutdown()
os.environ["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://127.0.0.1:9"
configure("a", capture="off")
print(active().capture, file=sys.stderr)
span("s")
"""
    said = agent(code, environ={"SPANSEAL_SPOOL_DIR": str(tmp_path)}).splitlines()
    assert said[:3] == ["off", "full", "off"]
    assert len(list(tmp_path.glob("*/spans-*.jsonl"))) == 1


def test_a_provider_that_was_there_keeps_its_processors_and_gets_ours(tmp_path: Path) -> None:
    code = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from spanseal.telemetry.active import active
memory, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(memory))
trace.set_tracer_provider(provider)
for turn in range(2):
    configure("a", export=sys.argv[1])
    assert trace.get_tracer_provider() is provider
    assert active().capture == "off"
    with run_span("agent"):
        pass
    shutdown()
print(len(memory.get_finished_spans()), file=sys.stderr)
"""
    said = agent(code, str(tmp_path)).splitlines()
    assert said[-1] == "2"
    assert sum("tracer provider was there already" in line for line in said) == 2
    assert sum("content is not recorded unless SPANSEAL_CAPTURE" in line for line in said) == 2
    assert len(spans_in(tmp_path)) == 2


def test_a_provider_that_takes_no_processors_is_said() -> None:
    class Foreign(trace.TracerProvider):
        def get_tracer(self, *args: object, **kwargs: object) -> trace.Tracer:
            return trace.NoOpTracer()

    assert relay_in(Foreign()) is None
    provider = TracerProvider(shutdown_on_exit=False)
    assert relay_in(provider) is relay_in(provider)
    assert len(provider._active_span_processor._span_processors) == 1  # pyright: ignore[reportPrivateUsage]


def test_the_sdk_stays_disabled_when_the_user_says_so(tmp_path: Path) -> None:
    agent('configure("a", export=sys.argv[1])\nspan("s")', str(tmp_path), environ={"OTEL_SDK_DISABLED": "true"})
    assert spans_in(tmp_path) == []


def test_unsampled_spans_are_kept_for_the_audit_and_generous_limits_hold(tmp_path: Path) -> None:
    code = """
configure("a", export=sys.argv[1])
with tracer().start_as_current_span("s") as s:
    for number in range(2000):
        s.set_attribute(f"k{number}", number)
        s.add_event("e")
"""
    agent(code, str(tmp_path), environ={"OTEL_TRACES_SAMPLER": "always_off"})
    (span,) = spans_in(tmp_path)
    assert span.attributes[semconv.SAMPLED] is False
    assert (span.dropped, len(span.events)) == (0, 2000)
