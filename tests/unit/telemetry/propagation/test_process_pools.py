"""Runs in other processes: forked, spawned or from a fork server, each task belongs to the run that submitted it."""

from __future__ import annotations

import os
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing.pool import Pool
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Thread

import pytest
from tests.unit.telemetry.line_ledger import check_ledgers
from tests.unit.telemetry.processes import PRELUDE, agent, spans_in

from spanseal.genai import semconv
from spanseal.records.otlp import SpanRecord
from spanseal.telemetry.configure import configure, shutdown

METHODS = ("fork", "spawn", "forkserver")

MODULE = """
import os
import multiprocessing
from spanseal.telemetry.spans.tracer import tracer
def work(name, *more):
    with tracer().start_as_current_span(name):
        return os.getpid()
def wrong():
    raise KeyError("as it was")
class Own(multiprocessing.get_context("spawn").Process):
    def run(self):
        work("own " + self.name)
"""

EXECUTOR = """
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from tasks import work, wrong
configure("a", export=sys.argv[1])
with run_span("first"):
    pool = ProcessPoolExecutor(1, multiprocessing.get_context(sys.argv[2]))
    pids = {pool.submit(work, f"first {number}").result() for number in range(3)}
with run_span("second"):
    pids |= set(pool.map(work, ["second 0"]))
    try:
        pool.submit(wrong).result()
    except KeyError as error:
        assert error.args == ("as it was",)
pool.submit(work, "of no run").result()
pool.shutdown()
assert len(pids) == 1 and os.getpid() not in pids
"""


def by_name(out: Path) -> dict[str, SpanRecord]:
    return {span.name: span for span in spans_in(out) if span.name != semconv.SPAN_MANIFEST}


def run_code(code: str, tmp_path: Path, *args: str) -> dict[str, SpanRecord]:
    """The spans of the program by name, after their ledgers have been checked."""
    (tmp_path / "tasks.py").write_text(MODULE)
    out = tmp_path / "spans"
    path = os.pathsep.join(filter(None, (str(tmp_path), os.environ.get("PYTHONPATH"))))
    agent(code, str(out), *args, environ={"PYTHONPATH": path})
    check_ledgers(spans_in(out))
    return by_name(out)


def assert_child(spans: dict[str, SpanRecord], name: str, parent: str) -> None:
    """The span is a child of that run's root and of no other run."""
    root = spans[f"invoke_agent {parent}"]
    assert spans[name].parent_span_id == root.span_id, name
    assert spans[name].trace_id == root.trace_id, name
    assert spans[name].attributes[semconv.RUN_ID] == root.attributes[semconv.RUN_ID], name
    assert spans[name].attributes[semconv.WRITER_ID] != root.attributes[semconv.WRITER_ID], name


@pytest.mark.parametrize("method", METHODS)
def test_each_task_belongs_to_the_run_that_submitted_it(method: str, tmp_path: Path) -> None:
    spans = run_code(EXECUTOR, tmp_path, method)
    for number in range(3):
        assert_child(spans, f"first {number}", "first")
    assert_child(spans, "second 0", "second")
    assert semconv.RUN_ID not in spans["of no run"].attributes
    run, writer = (spans["first 0"].attributes[key] for key in (semconv.RUN_ID, semconv.WRITER_ID))
    mine = [span.attributes for span in spans_in(tmp_path / "spans") if span.attributes.get(semconv.RUN_ID) == run]
    seqs = [int(str(one[semconv.SEQ])) for one in mine if one[semconv.WRITER_ID] == writer]
    assert sorted(seqs) == list(range(6))  # three tasks, a manifest after each


POOL = """
import multiprocessing
from tasks import work, wrong
configure("a", export=sys.argv[1])
heard = []
def hear(result):
    span("callback")
    heard.append(result)
if __name__ == "__main__":
    with run_span("first"):
        pool = multiprocessing.get_context(sys.argv[2]).Pool(2)
        pool.apply(work, ("before",))
    with run_span("second"):
        pool.apply(work, ("apply",))
        pool.apply_async(work, args=("apply_async",), callback=hear).get()
        pool.map(work, ["map"])
        pool.map_async(func=work, iterable=["map_async"]).get()
        pool.starmap(work, [("starmap", 1)])
        pool.starmap_async(work, [("starmap_async", 1)]).get()
        list(pool.imap(work, ["imap"], 1))
        list(pool.imap(work, ["imap in chunks"], chunksize=2))
        list(pool.imap_unordered(work, ["imap_unordered"]))
        try:
            pool.apply(wrong)
        except KeyError as error:
            assert error.args == ("as it was",)
        try:
            pool.apply(lambda: None)
        except Exception as error:
            assert "pickle" in str(error).lower(), error
    pool.apply(work, ("of no run",))
    pool.close()
    pool.join()
    assert len(heard) == 1
"""


@pytest.mark.parametrize("method", METHODS)
def test_a_pool_made_in_one_run_works_for_the_next(method: str, tmp_path: Path) -> None:
    spans = run_code(POOL, tmp_path, method)
    assert_child(spans, "before", "first")
    forms = ["apply", "apply_async", "map", "map_async", "starmap", "starmap_async", "imap", "imap_unordered"]
    for form in [*forms, "imap in chunks"]:
        assert_child(spans, form, "second")
    assert semconv.RUN_ID not in spans["of no run"].attributes
    second = spans["invoke_agent second"]
    assert spans["callback"].attributes[semconv.RUN_ID] == second.attributes[semconv.RUN_ID]


PROCESS = """
import multiprocessing
from tasks import Own, work
configure("a", export=sys.argv[1])
if __name__ == "__main__":
    with run_span("first"):
        one = multiprocessing.get_context(sys.argv[2]).Process(target=work, args=("process",))
        assert "_spanseal" not in vars(one)
        one.start()
        assert "_spanseal" not in vars(one)
        own = Own(name="class")
        own.start()
        one.join()
        own.join()
        assert (one.exitcode, own.exitcode) == (0, 0)
"""


@pytest.mark.parametrize("method", METHODS)
def test_a_single_process_belongs_to_the_run_that_started_it(method: str, tmp_path: Path) -> None:
    spans = run_code(PROCESS, tmp_path, method)
    assert_child(spans, "process", "first")
    assert_child(spans, "own class", "first")


BOUND = """
import pickle, subprocess
import spanseal
from tasks import work
configure("a", export=sys.argv[1])
with run_span("first"):
    packed = pickle.dumps(spanseal.bind(work))
code = "import pickle, sys; pickle.loads(sys.stdin.buffer.read())('elsewhere')"
subprocess.run([sys.executable, "-W", "error", "-c", code], input=packed, check=True)
pickle.loads(packed)("here again")
"""


def test_a_bound_function_takes_its_run_along_in_a_pickle(tmp_path: Path) -> None:
    spans = run_code(BOUND, tmp_path)
    assert_child(spans, "elsewhere", "first")
    root, again = spans["invoke_agent first"], spans["here again"]
    assert again.parent_span_id == root.span_id
    assert again.attributes[semconv.WRITER_ID] == root.attributes[semconv.WRITER_ID]


OWN_SETTINGS = """
import multiprocessing
def child(folder):
    configure("b", export=folder)  # what a worker says itself takes the place of what it was given
    span("child")
if __name__ == "__main__":
    configure("a", export=sys.argv[1], redact=["secrets", lambda text: text])
    with run_span("first"):
        one = multiprocessing.get_context("spawn").Process(target=child, args=(sys.argv[1] + "/own",))
        one.start()
        one.join()
        assert one.exitcode == 0
"""


def test_a_worker_may_configure_itself_and_what_cannot_be_pickled_costs_content_only(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(PRELUDE + OWN_SETTINGS)  # a spawned process imports its main program from a file
    said = agent(f"import runpy; runpy.run_path({str(script)!r}, run_name='__main__')", str(tmp_path / "spans"))
    assert "record no content" in said
    child = by_name(tmp_path / "spans" / "own")["child"]
    root = by_name(tmp_path / "spans")["invoke_agent first"]
    assert child.attributes[semconv.RUN_ID] == root.attributes[semconv.RUN_ID]
    assert child.resource[semconv.SERVICE_NAME] == "b"


def test_the_classes_are_as_before_after_shutdown(tmp_path: Path) -> None:
    places: list[tuple[type, str]] = [(ProcessPoolExecutor, "submit"), (BaseProcess, "start"), (Pool, "map")]
    places += [(Pool, "imap"), (Thread, "start"), (Thread, "run"), (Future, "add_done_callback")]
    before = [getattr(*place) for place in places]
    configure("a", export=tmp_path)
    assert all(getattr(*place) is not old for place, old in zip(places, before, strict=True))
    shutdown()
    assert [getattr(*place) for place in places] == before
    os.environ["SPANSEAL_THREADS"] = "off"
    try:
        configure("a", export=tmp_path)
        assert [getattr(*place) for place in places] == before
    finally:
        del os.environ["SPANSEAL_THREADS"]
        shutdown()
