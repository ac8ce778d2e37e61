"""One trace through several processes: whose run a span belongs to, who called whom, and what goes out by headers."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from opentelemetry import context as otel_context
from opentelemetry import propagate, trace
from opentelemetry.context import Context
from opentelemetry.trace.span import TraceState
from tests.unit.telemetry.ledger_of import attribute, ledgers
from tests.unit.telemetry.line_ledger import check_ledgers
from tests.unit.telemetry.processes import agent, spans_in
from tests.unit.telemetry.services import CALLING, service
from tests.unit.telemetry.wire_world import KINDS, bare_client, whole

from spanseal.genai import semconv
from spanseal.replay.reader import RunReader
from spanseal.replay.run import Run
from spanseal.telemetry.instrument import instrument
from spanseal.telemetry.propagation.trace_state import KEY
from spanseal.telemetry.run_span import run_span
from spanseal.telemetry.spans.tracer import tracer
from spanseal.testing import capture_spans

CALLER = (
    CALLING
    + """
from opentelemetry import baggage
configure("caller", export=sys.argv[1])
with run_span("caller"), tracer().start_as_current_span("execute_tool ask"):
    token = context.attach(baggage.set_baggage("mine", "secret"))
    assert ask(sys.argv[2]) == "mine=secret"  # what the application put there, and nothing of ours
    context.detach(token)
"""
)


def runs_of(folder: Path) -> dict[str, Run]:
    """The runs by agent, all complete and in one trace, after the ledgers have been checked."""
    check_ledgers(spans_in(folder))
    runs = RunReader.open(folder).runs()
    assert len({run.trace_id for run in runs}) == 1
    assert {run.grade for run in runs} == {"complete"}
    assert all("secret" not in repr(dict(span.attributes)) for span in spans_in(folder))
    return {run.agent: run for run in runs}


def parts_of(run: Run) -> list[str]:
    left, found = list(run.tree), list[str]()
    while left:
        node = left.pop()
        found.append(node.part.name)
        left += node.children
    return sorted(found)


def test_an_agent_as_anothers_tool_on_three_hosts_is_one_tree_with_the_runs_told_apart(tmp_path: Path) -> None:
    with service("deep", tmp_path, "ours") as deep, service("middle", tmp_path, "httpx", deep) as middle:
        agent(CALLER, str(tmp_path), middle, environ={"NO_PROXY": "*"})
    runs = runs_of(tmp_path)
    caller, middle_run, deep_run = runs["caller"], runs["middle"], runs["deep"]
    assert caller.children == (middle_run.run_id,)
    assert (middle_run.parent_run_id, middle_run.children) == (caller.run_id, (deep_run.run_id,))
    assert (deep_run.parent_run_id, deep_run.children) == (middle_run.run_id, ())
    assert "serve middle" in parts_of(caller)  # what the other host did before it opened a run of its own
    assert "serve deep" in parts_of(middle_run)
    assert "step deep" in parts_of(deep_run)


def test_a_foreign_agent_on_another_host_is_a_run_of_its_own_and_knows_its_parent(tmp_path: Path) -> None:
    with service("deep", tmp_path, "ours") as deep, service("theirs", tmp_path, "foreign", deep) as theirs:
        agent(CALLER, str(tmp_path), theirs, environ={"NO_PROXY": "*"})
    runs = runs_of(tmp_path)
    assert runs["theirs"].parent_run_id == runs["caller"].run_id
    assert runs["deep"].parent_run_id == runs["theirs"].run_id
    assert "serve deep" in parts_of(runs["theirs"])


def test_what_another_host_does_without_a_run_belongs_to_the_callers(tmp_path: Path) -> None:
    with service("tool", tmp_path, "plain") as tool:
        agent(CALLER, str(tmp_path), tool, environ={"NO_PROXY": "*"})
    runs = runs_of(tmp_path)
    assert list(runs) == ["caller"]
    assert {"serve tool", "step tool", "execute_tool ask"} <= set(parts_of(runs["caller"]))
    assert len(check_ledgers(spans_in(tmp_path))) == 2  # two writers


def headers_now() -> dict[str, str]:
    carrier: dict[str, str] = {}
    propagate.inject(carrier)
    return carrier


def test_the_same_process_called_over_the_wire_goes_on_in_the_same_numbering() -> None:
    with capture_spans() as captured:
        with run_span("a") as run:
            carrier = headers_now()
            here = propagate.extract(carrier, Context())
            tracer().start_span("served", here).end()
            token = otel_context.attach(here)
            with run_span("a") as again:  # the same agent, re-entrant
                tracer().start_span("inner").end()
            otel_context.detach(token)
        tracer().start_span("late", here).end()
    assert carrier["tracestate"] == f"{KEY}={run.run_id}"
    for name in ("served", "late"):
        assert attribute(captured.one(name), semconv.RUN_ID) == run.run_id
    assert attribute(captured.one("inner"), semconv.RUN_ID) == again.run_id
    (inner,) = [each for each in captured.named("invoke_agent a") if attribute(each, semconv.RUN_PARENT_ID)]
    assert attribute(inner, semconv.RUN_PARENT_ID) == run.run_id
    found = ledgers(captured.spans)
    assert len(found) == 2
    for ledger in found.values():
        ledger.check()
    (mine,) = [ledger for (run_id, _), ledger in found.items() if run_id == run.run_id]
    assert mine.manifests[0].children == (again.run_id,)


def remote(*entries: tuple[str, str]) -> Context:
    """A context whose parent span is on another host and says this in tracestate."""
    where = trace.SpanContext(1, 2, is_remote=True, trace_flags=trace.TraceFlags(1), trace_state=TraceState(entries))
    return trace.set_span_in_context(trace.NonRecordingSpan(where), Context())


def told(context: Context) -> str:
    """The tracestate of a run's root that starts in this context."""
    token = otel_context.attach(context)
    try:
        with capture_spans(), run_span("a"):
            return headers_now().get("tracestate", "")
    finally:
        otel_context.detach(token)


def test_entries_of_others_stay_as_they_are_in_their_order() -> None:
    run, parent = "a" * 32, "b" * 32
    header = told(remote(("ot", "th:8"), (KEY, f"{run}/{parent}"), ("vendor", "x y")))
    ours, *others = header.split(",")
    assert others == ["ot=th:8", "vendor=x y"]
    assert ours.startswith(f"{KEY}=")
    assert ours[len(KEY) + 1 :][32:] == ""  # a run of this process; its parent is known to the ledger, from the header


def test_ours_is_left_out_where_there_is_no_room() -> None:
    full = [(f"k{number}", "v") for number in range(32)]
    assert told(remote(*full)) == ",".join(f"{key}={value}" for key, value in full)
    long = [("one", "x" * 250), ("two", "y" * 220)]
    assert told(remote(*long)) == ",".join(f"{key}={value}" for key, value in long)


def test_what_is_no_run_id_is_nobodys_run() -> None:
    for nonsense in ("x", "A" * 32, "a" * 31, f"{'a' * 32}/", f"{'a' * 32}/{'b' * 32}/c"):
        with capture_spans() as captured:
            tracer().start_span("alone", remote((KEY, nonsense))).end()
        assert attribute(captured.one("alone"), semconv.RUN_ID) is None


def test_two_agents_in_parallel_threads_and_three_nested_ones() -> None:
    ready = threading.Barrier(2)

    def one(name: str) -> None:
        with run_span(name):
            ready.wait(10)
            with tracer().start_as_current_span(f"step {name}"), run_span(f"inner {name}"), run_span(f"core {name}"):
                tracer().start_span(f"deep {name}").end()
            ready.wait(10)

    with capture_spans() as captured:
        threads = [threading.Thread(target=one, args=(name,)) for name in ("left", "right")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for name in ("left", "right"):
        root, inner, core = (captured.one(f"invoke_agent {each}") for each in (name, f"inner {name}", f"core {name}"))
        assert attribute(captured.one(f"step {name}"), semconv.RUN_ID) == attribute(root, semconv.RUN_ID)
        assert attribute(inner, semconv.RUN_PARENT_ID) == attribute(root, semconv.RUN_ID)
        assert attribute(core, semconv.RUN_PARENT_ID) == attribute(inner, semconv.RUN_ID)
        assert attribute(captured.one(f"deep {name}"), semconv.RUN_ID) == attribute(core, semconv.RUN_ID)
    for ledger in ledgers(captured.spans).values():
        ledger.check()


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_goes_out_to_a_model_server_that_the_application_did_not_ask_for(kind: str) -> None:
    seen: list[Any] = []
    client = instrument(bare_client(kind, [whole(kind)], seen))
    say: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    with capture_spans(), run_span("a"):
        client.chat(**say) if kind == "ollama" else client.chat.completions.create(**say)
    (request,) = seen
    assert not {"traceparent", "tracestate", "baggage"} & {name.lower() for name in request.headers}
