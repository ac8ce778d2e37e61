"""Beside people's own processors and samplers: their view is what their sampler says, our route has every span."""

from __future__ import annotations

from pathlib import Path

from tests.unit.telemetry.processes import agent, collecting

from spanseal.genai import semconv

VIEW = """
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry import trace
sent = InMemorySpanExporter()
def load():
    for number in range(10):
        with run_span("agent"):
            span("step")
def say():
    print("in the view", sorted({one.name for one in sent.get_finished_spans()}), file=sys.stderr)
"""
OURS = VIEW + """
configure("a", export=sys.argv[1])
trace.get_tracer_provider().add_span_processor(BatchSpanProcessor(sent))
load()
trace.get_tracer_provider().force_flush()
say()
assert flush()
"""
THEIRS = VIEW + """
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
provider = TracerProvider(sampler=ParentBased(TraceIdRatioBased(0.0)))
provider.add_span_processor(BatchSpanProcessor(sent))
trace.set_tracer_provider(provider)
configure("a", export=sys.argv[1])
load()
with trace.get_tracer("theirs").start_as_current_span("their span"):
    pass
provider.force_flush()
say()
assert flush()
"""


def test_the_sampler_of_the_environment_drops_from_the_view_and_not_from_the_audit(tmp_path: Path) -> None:
    sampler = {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.0"}
    environ = {"SPANSEAL_SPOOL_DIR": str(tmp_path / "s"), "SPANSEAL_METRICS": "off", **sampler}
    with collecting(tmp_path / "c") as collector:
        assert "in the view []" in agent(OURS, collector.url, environ=environ)
        spans = collector.spans()
    assert sorted(span.name for span in spans) == ["invoke_agent agent"] * 10 + ["step"] * 10
    assert all(span.attributes[semconv.SAMPLED] is False for span in spans)


def test_a_provider_that_was_there_keeps_its_sampler_for_its_spans_and_ours_are_audited(tmp_path: Path) -> None:
    environ = {"SPANSEAL_SPOOL_DIR": str(tmp_path / "s"), "SPANSEAL_METRICS": "off"}
    with collecting(tmp_path / "c") as collector:
        said = agent(THEIRS, collector.url, environ=environ)
        names = sorted(span.name for span in collector.spans())
    assert "in the view []" in said
    assert "spans of other instrumentations that its sampler drops are not recorded" in said
    assert names == ["invoke_agent agent"] * 10 + ["step"] * 10
