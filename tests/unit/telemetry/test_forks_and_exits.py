"""A run in two processes at once, and a process that ends while a run is open: the ledger stays right."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.unit.telemetry.line_ledger import check_ledgers
from tests.unit.telemetry.processes import agent, collecting, spans_in

from spanseal.genai import semconv
from spanseal.replay.reader import RunReader

FORK = """
configure("a", export=sys.argv[1])
def work(name):
    for number in range(50):
        span(f"{name} {number}")
with run_span("first"):
    with tracer().start_as_current_span("around"):
        threads = [threading.Thread(target=work, args=(f"thread{number}",)) for number in range(4)]
        for thread in threads:
            thread.start()
        child = os.fork()
        work("child" if child == 0 else "parent")
        if child == 0:
            with run_span("inner"):
                work("inner")
            grandchild = os.fork()
            if grandchild == 0:
                work("grandchild")
                os._exit(0)
            assert os.waitpid(grandchild, 0)[1] == 0
        else:
            assert os.waitpid(child, 0)[1] == 0
            for thread in threads:
                thread.join()
if child == 0:
    span("after")
    os._exit(0)
"""


def test_a_fork_in_the_middle_of_a_run_numbers_each_process_for_itself(tmp_path: Path) -> None:
    agent("import warnings; warnings.simplefilter('ignore', DeprecationWarning)\n" + FORK, str(tmp_path))
    spans = spans_in(tmp_path)
    check_ledgers(spans)
    by_name = {span.name: span for span in spans}
    assert len({span.span_id for span in spans}) == len(spans)
    root, around = by_name["invoke_agent first"], by_name["around"]
    for name in ("child 0", "child 49", "parent 0", "parent 49", "grandchild 49", "thread3 49"):
        assert by_name[name].parent_span_id == around.span_id
        assert by_name[name].attributes[semconv.RUN_ID] == root.attributes[semconv.RUN_ID]
    writers = {str(by_name[name].attributes[semconv.WRITER_ID]) for name in ("parent 0", "child 0", "grandchild 0")}
    assert len(writers) == 3
    runs = {run.agent: run for run in RunReader.open(tmp_path).runs()}
    assert {run.grade for run in runs.values()} == {"complete"}
    assert runs["inner"].parent_run_id == runs["first"].run_id
    assert runs["first"].children == (runs["inner"].run_id,)


WORKERS = """
import multiprocessing
from tasks import work
configure("a", export=sys.argv[1], durability="off")
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[2])
    with run_span("first"):
        one = context.Process(target=work, args=("process",))
        one.start()
        pool = context.Pool(1)
        pool.map(work, ["pooled"])
        pool.close()
        pool.join()
        one.join()
"""
TASKS = """
from spanseal.telemetry.spans.tracer import tracer
def work(name):
    with tracer().start_as_current_span(name):
        pass
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_deliver_what_is_in_their_memory_before_they_end(method: str, tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text(TASKS)
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    with collecting(tmp_path / "collector") as collector:
        agent(WORKERS, collector.url, method, environ={"PYTHONPATH": path, "SPANSEAL_SPOOL_DIR": str(tmp_path / "s")})
        spans = collector.spans()
    names = sorted(span.name for span in spans)
    assert names == ["invoke_agent first", "pooled", "process", semconv.SPAN_MANIFEST, semconv.SPAN_MANIFEST]
    assert len(check_ledgers(spans)) == 3


OPEN = """
configure("a", export=sys.argv[1])
def forever():
    with run_span("open"):
        span("done")
        started.set()
        time.sleep(60)
started = threading.Event()
threading.Thread(target=forever, daemon=True).start()
started.wait()
with run_span("left"):
    span("in left")
    sys.exit(3)
"""


def test_a_process_that_ends_with_runs_open_says_what_it_knows(tmp_path: Path) -> None:
    said = agent(OPEN, str(tmp_path), expect=3)
    assert said == ""
    runs = {run.agent: run for run in RunReader.open(tmp_path).runs()}
    assert (runs["left"].grade, runs["left"].outcome) == ("complete", "failed")  # SystemExit went through it
    assert (runs["open"].grade, runs["open"].outcome) == ("truncated", "")
