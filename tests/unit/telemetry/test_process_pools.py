"""Runs in the workers of process pools: forked or spawned, each task belongs to the run that submitted it."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest
from tests.unit.telemetry.processes import agent, spans_in

from spanseal.genai import semconv
from spanseal.telemetry.configure import configure, shutdown

MODULE = """
import os
from spanseal.telemetry.tracing import tracer
def work(name):
    with tracer().start_as_current_span(name):
        return os.getpid()
def wrong():
    raise KeyError("as it was")
"""

CODE = """
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


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_each_task_belongs_to_the_run_that_submitted_it(method: str, tmp_path: Path) -> None:
    (tmp_path / "tasks.py").write_text(MODULE)
    out = tmp_path / "spans"
    agent(CODE, str(out), method, environ={"PYTHONPATH": str(tmp_path)})
    spans = {span.name: span.attributes for span in spans_in(out) if span.name != semconv.SPAN_MANIFEST}
    runs = {name: spans[f"invoke_agent {name}"][semconv.RUN_ID] for name in ("first", "second")}
    writer = {spans[f"invoke_agent {name}"][semconv.WRITER_ID] for name in ("first", "second")}  # pyright: ignore[reportUnhashable]
    for number in range(3):
        assert spans[f"first {number}"][semconv.RUN_ID] == runs["first"]
        assert spans[f"first {number}"][semconv.WRITER_ID] not in writer
    assert spans["second 0"][semconv.RUN_ID] == runs["second"]
    assert semconv.RUN_ID not in spans["of no run"]
    mine = [span for span in spans_in(out) if span.attributes.get(semconv.RUN_ID) == runs["first"]]
    seqs = [span.attributes[semconv.SEQ] for span in mine if span.attributes[semconv.WRITER_ID] not in writer]
    assert sorted(int(str(seq)) for seq in seqs) == list(range(6))  # three tasks, a manifest after each


def test_the_class_is_as_before_after_shutdown(tmp_path: Path) -> None:
    before = ProcessPoolExecutor.submit
    configure("a", export=tmp_path)
    assert ProcessPoolExecutor.submit is not before
    shutdown()
    assert ProcessPoolExecutor.submit is before
    os.environ["SPANSEAL_THREADS"] = "off"
    try:
        configure("a", export=tmp_path)
        assert ProcessPoolExecutor.submit is before
    finally:
        del os.environ["SPANSEAL_THREADS"]
        shutdown()
