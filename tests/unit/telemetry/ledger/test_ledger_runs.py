"""Which run a span belongs to, how it is numbered, and what the manifests say."""

from __future__ import annotations

import asyncio
import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import SpanLimits
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import NonRecordingSpan, StatusCode
from tests.unit.telemetry.ledger_of import Ledger, attribute, ledgers

from spanseal.genai import semconv
from spanseal.genai.messages import Usage
from spanseal.records.ledger import Row, check_rows, decode_manifest
from spanseal.records.otlp import parse_line
from spanseal.telemetry.propagation.bind import bind
from spanseal.telemetry.run_context import attempt, current_attempt, current_run
from spanseal.telemetry.run_span import run_span
from spanseal.telemetry.spans.tracer import tracer
from spanseal.testing import Captured, FixedEffects, capture_spans


def the_ledger(captured: Captured) -> Ledger:
    found = ledgers(captured.spans)
    assert len(found) == 1
    return next(iter(found.values()))


def test_a_run_is_numbered_without_gap_and_its_manifest_covers_the_root() -> None:
    with capture_spans() as captured, run_span("calculator") as run:
        with tracer().start_as_current_span("step"), tracer().start_as_current_span("chat x"):
            pass
        run.finish("completed", "answered", usage=Usage(input_tokens=3, output_tokens=4))
    ledger = the_ledger(captured)
    ledger.check()
    assert ledger.seqs == [0, 1, 2]
    root = captured.one("invoke_agent")
    assert attribute(root, semconv.RUN_OUTCOME) == "completed"
    assert attribute(root, semconv.RUN_STOP_REASON) == "answered"
    assert attribute(root, semconv.USAGE_OUTPUT_TOKENS) == 4
    assert root.status.status_code is StatusCode.UNSET
    assert {attribute(span, semconv.AGENT_NAME) for span in captured.spans} == {"calculator"}
    assert {attribute(span, semconv.RUN_ID) for span in captured.spans} == {run.run_id}
    assert run.trace_id == f"{root.get_span_context().trace_id:032x}"  # pyright: ignore[reportOptionalMemberAccess]


def test_spans_outside_of_runs_carry_no_stamps() -> None:
    with capture_spans() as captured, tracer().start_as_current_span("alone"):
        assert current_run() is None
    assert dict(captured.one("alone").attributes or {}) == {}


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        ("completed", StatusCode.UNSET),
        ("escalated", StatusCode.UNSET),
        ("halted", StatusCode.ERROR),
        ("failed", StatusCode.ERROR),
    ],
)
def test_the_status_tells_the_truth(outcome: str, code: StatusCode) -> None:
    with capture_spans() as captured, run_span("a") as run:
        run.finish(outcome, "why")
    root = captured.one("invoke_agent")
    assert root.status.status_code is code
    assert attribute(root, semconv.ERROR_TYPE) == (outcome if code is StatusCode.ERROR else None)
    the_ledger(captured).check()


class _OddError(Exception):
    def __str__(self) -> str:
        raise ValueError("no text for you")


@pytest.mark.parametrize("error", [ValueError("secret"), KeyboardInterrupt(), asyncio.CancelledError(), _OddError()])
def test_an_exception_passes_unchanged_and_fails_the_run(error: BaseException) -> None:
    def agent() -> None:
        with run_span("a") as run:
            run.finish("completed", "too early")
            raise error

    with capture_spans(capture="off") as captured, pytest.raises(type(error)) as caught:
        agent()
    assert caught.value is error
    root = captured.one("invoke_agent")
    assert attribute(root, semconv.RUN_OUTCOME) == "failed"
    assert attribute(root, semconv.ERROR_TYPE) == type(error).__qualname__
    assert root.status.description is None
    assert root.events == ()
    the_ledger(captured).check()


def test_an_inner_agent_is_its_own_run_and_both_name_each_other() -> None:
    with capture_spans() as captured, run_span("outer") as outer:
        with tracer().start_as_current_span("tool"), run_span("inner") as inner:
            assert current_run() is not None
            with tracer().start_as_current_span("deep"):
                pass
        with tracer().start_as_current_span("after"):
            pass
    assert attribute(captured.one("deep"), semconv.RUN_ID) == inner.run_id
    assert attribute(captured.one("after"), semconv.RUN_ID) == outer.run_id
    assert attribute(captured.one("invoke_agent inner"), semconv.RUN_PARENT_ID) == outer.run_id
    assert attribute(captured.one("invoke_agent outer"), semconv.RUN_PARENT_ID) is None
    by_run = {run: ledger for (run, _), ledger in ledgers(captured.spans).items()}
    for ledger in by_run.values():
        ledger.check()
    assert by_run[outer.run_id].seqs == [0, 1, 2]
    assert by_run[outer.run_id].manifests[0].children == (inner.run_id,)
    assert by_run[inner.run_id].seqs == [0, 1]


def test_a_foreign_agent_is_a_run_whose_manifest_is_a_span_of_its_own() -> None:
    with capture_spans() as captured:
        foreign = captured.provider.get_tracer("some.framework")
        agent = {semconv.OPERATION_NAME: "invoke_agent", semconv.AGENT_NAME: "theirs"}
        with foreign.start_as_current_span("invoke_agent theirs", attributes=agent):
            with foreign.start_as_current_span("chat m"), run_span("ours") as ours:
                pass
            with tracer().start_as_current_span("step"):
                pass
    root = captured.one("invoke_agent theirs")
    run = attribute(root, semconv.RUN_ID)
    assert attribute(root, semconv.MANIFEST) is None
    assert attribute(captured.one("step"), semconv.RUN_ID) == run
    assert attribute(captured.one("invoke_agent ours"), semconv.RUN_PARENT_ID) == run
    by_run = {key: ledger for (key, _), ledger in ledgers(captured.spans).items()}
    by_run[run].check()
    manifest = by_run[run].manifests[0]
    assert manifest.count == 4  # root, chat, step and the manifest span itself
    assert manifest.children == (ours.run_id,)
    assert captured.one(semconv.SPAN_MANIFEST).parent is not None


def test_inside_our_run_the_children_of_a_foreign_agent_are_the_foreign_runs() -> None:
    with capture_spans() as captured, run_span("ours") as ours:
        foreign = captured.provider.get_tracer("some.framework")
        with (
            foreign.start_as_current_span("agent", attributes={semconv.OPERATION_NAME: "invoke_agent"}),
            foreign.start_as_current_span("child"),
        ):
            pass
    inner = attribute(captured.one("agent"), semconv.RUN_ID)
    assert inner != ours.run_id
    assert attribute(captured.one("child"), semconv.RUN_ID) == inner
    assert attribute(captured.one("agent"), semconv.RUN_PARENT_ID) == ours.run_id
    for ledger in ledgers(captured.spans).values():
        ledger.check()


def test_a_parent_known_by_its_ids_only_still_gives_its_run() -> None:
    with capture_spans() as captured, run_span("a") as run:
        here = trace.get_current_span().get_span_context()
        bare = trace.set_span_in_context(NonRecordingSpan(here), Context())
        tracer().start_span("by id", bare).end()
        tracer().start_span("of no run", Context()).end()
    assert attribute(captured.one("by id"), semconv.RUN_ID) == run.run_id
    assert attribute(captured.one("of no run"), semconv.RUN_ID) is None


def test_spans_that_outlive_the_root_are_open_in_its_manifest_and_closed_in_a_later_one() -> None:
    with capture_spans() as captured:
        with run_span("a"):
            late = tracer().start_span("late")
            here = otel_context.get_current()
        late.end()
        tracer().start_span("after all", here).end()
    ledger = the_ledger(captured)
    ledger.check()
    assert [manifest.open for manifest in ledger.manifests] == [(1,), (), ()]
    assert [(manifest.first, manifest.count) for manifest in ledger.manifests] == [(0, 2), (0, 3), (3, 2)]


def test_threads_share_the_writer_and_no_number_is_given_twice() -> None:
    def work(_: int) -> None:
        for _ in range(20):
            with tracer().start_as_current_span("work"):
                pass

    with capture_spans() as captured, run_span("a"), ThreadPoolExecutor(8) as pool:
        list(pool.map(bind(work), range(8)))
    ledger = the_ledger(captured)
    ledger.check()
    assert ledger.seqs == list(range(161))


def test_tasks_keep_their_runs_apart() -> None:
    async def one(name: str) -> str:
        with run_span(name) as run:
            await asyncio.sleep(0)
            with tracer().start_as_current_span("step " + name):
                await asyncio.sleep(0)
        return run.run_id

    async def main() -> list[str]:
        return await asyncio.gather(*(one(f"agent{number}") for number in range(5)))

    with capture_spans() as captured:
        runs = asyncio.run(main())
    for number, run in enumerate(runs):
        assert attribute(captured.one(f"step agent{number}"), semconv.RUN_ID) == run
    for ledger in ledgers(captured.spans).values():
        ledger.check()
        assert ledger.seqs == [0, 1]


def test_bind_works_for_coroutines_and_restores_what_was_there() -> None:
    async def asked() -> int:
        return current_attempt()

    with attempt(4):
        bound = bind(asked)
        plain = bind(current_attempt)
    assert asyncio.run(bound()) == 4
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(plain()))
    thread.start()
    thread.join()
    assert (found, current_attempt()) == ([4], 1)


def test_unsampled_spans_are_recorded_and_marked() -> None:
    with capture_spans(sampler=ALWAYS_OFF) as captured, run_span("a"), tracer().start_as_current_span("step"):
        pass
    assert [attribute(span, semconv.SAMPLED) for span in captured.spans] == [False, False]
    the_ledger(captured).check()


def test_stamps_survive_the_sdks_attribute_limit_in_the_exported_line() -> None:
    limits = SpanLimits(max_span_attributes=8, max_attribute_length=20)
    with capture_spans(limits=limits) as captured, run_span("a"):
        span = captured.provider.get_tracer("another").start_span("full")
        for number in range(40):
            span.set_attribute(f"k{number}", number)
        span.end()
    assert attribute(captured.one("full"), semconv.SEQ) is None
    full, root = captured.lines()
    for key in (semconv.RUN_ID, semconv.WRITER_ID, semconv.SEQ):
        assert f'"key":"{key}"'.encode() in full
    assert b'\\"signature\\":' in root


def test_odd_times_are_numbered_all_the_same() -> None:
    with capture_spans() as captured, run_span("a"):
        tracer().start_span("float", start_time=1.5e18).end(1.6e18)  # pyright: ignore[reportArgumentType]
        tracer().start_span("negative", start_time=-5).end(-1)
    records = [parse_line(line.rstrip(b"\n"))[0] for line in captured.lines()]
    manifest = decode_manifest(str(records[-1].attributes[semconv.MANIFEST]))
    rows = [Row(int(str(r.attributes[semconv.SEQ])), r.span_id, r.start, r.end, r.status_code) for r in records]
    assert check_rows(manifest, rows) == ()


def test_the_same_effects_give_the_same_stamps() -> None:
    def manifest() -> str:
        with capture_spans(effects=FixedEffects()) as captured, run_span("a"):
            pass
        root = captured.one("invoke_agent")
        assert root.start_time == root.end_time == 1_700_000_000_000_000_000
        return str(attribute(root, semconv.RUN_ID)) + str(attribute(root, semconv.WRITER_ID))

    assert manifest() == manifest()


def test_finished_runs_leave_nothing_behind() -> None:
    with capture_spans() as captured:
        ledger = captured.provider._active_span_processor._span_processors[0]  # pyright: ignore
        for _ in range(50):
            with run_span("a"), tracer().start_as_current_span("s"):
                pass
        gc.collect()
        assert ledger._open == {}  # pyright: ignore
        assert len(ledger._runs) == 0  # pyright: ignore


def test_a_span_ended_by_a_finaliser_in_the_middle_of_anything_does_not_deadlock() -> None:
    class Holder:
        def __init__(self) -> None:
            self.span = tracer().start_span("dropped")
            self.me = self

        def __del__(self) -> None:
            self.span.end()

    with capture_spans() as captured, run_span("a"):
        before = gc.get_threshold()
        gc.set_threshold(1, 1, 1)
        try:
            for _ in range(100):
                Holder()
        finally:
            gc.set_threshold(*before)
            gc.collect()
    ledger = the_ledger(captured)
    ledger.check()
    assert len(ledger.rows) == 101
