"""Somebody else's provider and sampler: our own spans are recorded for the audit, and what is sent stays theirs."""

from __future__ import annotations

from pathlib import Path

from tests.unit.telemetry.line_ledger import check_ledgers
from tests.unit.telemetry.processes import agent, spans_in

from spanseal.genai import semconv
from spanseal.replay.reader import RunReader

THEIRS = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import *
class Picky(StaticSampler):
    def __init__(self):
        super().__init__(Decision.RECORD_AND_SAMPLE)
    def should_sample(self, context, trace_id, name, *args, **kwargs):
        if any(name.startswith(word) for word in sys.argv[2].split(",")):
            return SamplingResult(Decision.DROP)
        return super().should_sample(context, trace_id, name, *args, **kwargs)
sent = InMemorySpanExporter()
provider = TracerProvider(sampler=Picky())
provider.add_span_processor(SimpleSpanProcessor(sent))
trace.set_tracer_provider(provider)
theirs = trace.get_tracer("theirs")
configure("a", export=sys.argv[1] if sys.argv[3] == "audit" else None)
with run_span("agent"):
    span("step")
    with theirs.start_as_current_span("drop"):
        span("below")
    with theirs.start_as_current_span("keep"):
        pass
print(sorted(one.name for one in sent.get_finished_spans()), file=sys.stderr)
numbered = sorted(one.attributes["spanseal.seq"] for one in sent.get_finished_spans())
print(numbered, sum("spanseal.manifest" in one.attributes for one in sent.get_finished_spans()), file=sys.stderr)
shutdown()
span("after shutdown")
assert len(sent.get_finished_spans()) == len(numbered) + ("after" not in sys.argv[2])
"""


def test_our_spans_are_recorded_for_the_audit_and_not_sent_by_others(tmp_path: Path) -> None:
    said = agent(THEIRS, str(tmp_path), "invoke_agent,step,drop", "audit").splitlines()
    assert said[-2] == "['below', 'keep']"
    spans = {span.name: span for span in spans_in(tmp_path)}
    assert sorted(spans) == ["below", "invoke_agent agent", "keep", "step"]
    check_ledgers(spans.values())
    assert spans["step"].attributes[semconv.SAMPLED] is False
    assert semconv.SAMPLED not in spans["keep"].attributes
    (run,) = RunReader.open(tmp_path).runs()
    assert (run.grade, run.outcome) == ("complete", "completed")


def test_without_an_export_of_ours_a_dropped_root_leaves_a_manifest_for_what_was_let_through(tmp_path: Path) -> None:
    said = agent(THEIRS, str(tmp_path), "invoke_agent,drop", "none").splitlines()
    assert said[-2] == "['below', 'keep', 'spanseal.manifest', 'step']"
    assert said[-1] == "[0, 1, 2, 3] 1"


AGENT = """
import multiprocessing
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
trace.set_tracer_provider(TracerProvider())
configure("a", export=sys.argv[1])
def work(name):
    with trace.get_tracer("theirs").start_as_current_span(name):
        pass
doing = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "theirs"}
pool = multiprocessing.get_context("fork").Pool(1)
with trace.get_tracer("theirs").start_as_current_span("invoke_agent theirs", attributes=doing):
    pool.map(work, ["task"])
pool.close()
pool.join()
"""


def test_a_foreign_agent_in_a_foreign_provider_is_carried_into_process_pools(tmp_path: Path) -> None:
    agent(AGENT, str(tmp_path))
    check_ledgers(spans_in(tmp_path))
    spans = {span.name: span for span in spans_in(tmp_path)}
    root, task = spans["invoke_agent theirs"], spans["task"]
    assert task.parent_span_id == root.span_id
    assert task.attributes[semconv.RUN_ID] == root.attributes[semconv.RUN_ID]
