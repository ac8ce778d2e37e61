"""Durable export to a URL, with real processes: a collector that is down, agents that are killed, forked, ended."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.telemetry.processes import KILLED, Collector, agent, collecting

from spanseal.genai import semconv

RUN = """
configure("a", export=sys.argv[1])
with run_span("agent"):
    for number in range(int(sys.argv[2])):
        span(f"step {number}")
"""
ADOPT = 'configure("b", export=sys.argv[1])\nspool_is_empty()'


@pytest.fixture
def spool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SPANSEAL_SPOOL_DIR", str(tmp_path / "spool"))
    return tmp_path / "spool"


def segments(spool: Path) -> list[Path]:
    return list(spool.glob("*/spans-*.jsonl"))


def test_a_normal_end_delivers_everything_and_empties_the_spool(tmp_path: Path, spool: Path) -> None:
    with collecting(tmp_path / "c") as collector:
        assert agent(RUN, collector.url, "30", environ={"SPANSEAL_TOKEN": "t0ken"}) == ""
        spans = collector.spans()
        assert {request.split(" ", 1)[0] for request in collector.requests()} == {"/v1/traces"}
        assert all(request.endswith("Bearer t0ken") for request in collector.requests())
    assert sorted(int(str(span.attributes[semconv.SEQ])) for span in spans) == list(range(31))
    assert len({span.span_id for span in spans}) == 31
    assert segments(spool) == []


def test_collector_down_is_said_once_and_the_next_process_delivers(tmp_path: Path, spool: Path) -> None:
    collector = Collector(tmp_path / "c")
    collector.stop()
    said = agent(RUN + 'print("flushed", flush(0.5), file=sys.stderr)', collector.url, "10")
    assert said.count("no export to") == 1
    assert "flushed False" in said
    assert "Traceback" not in said
    assert len(segments(spool)) == 1
    agent(RUN + "    os.kill(os.getpid(), signal.SIGTERM)", collector.url, "5", expect=-15)
    assert len(segments(spool)) == 2
    again = Collector(tmp_path / "c", collector.port)
    try:
        agent(ADOPT, collector.url)
        assert len({span.span_id for span in again.spans()}) == 11 + 6
    finally:
        again.stop()


def test_a_kill_loses_no_ended_span(tmp_path: Path, spool: Path) -> None:
    with collecting(tmp_path / "c") as collector:
        collector.script("503 503 503 503 503")
        agent(RUN + "    os.kill(os.getpid(), signal.SIGKILL)", collector.url, "50", expect=KILLED)
        assert len(segments(spool)) == 1
        collector.script("")
        agent(ADOPT, collector.url)
        spans = collector.spans()
    assert sorted(span.name for span in spans) == sorted(["invoke_agent agent", *(f"step {n}" for n in range(50))])
    assert [span.name for span in spans if span.attributes.get(semconv.OPEN)] == ["invoke_agent agent"]


def test_a_fork_sends_its_own_spans_once_and_a_living_process_keeps_its_spool(tmp_path: Path, spool: Path) -> None:
    code = """
configure("a", export=sys.argv[1])
with run_span("agent"):
    span("before")
    child = os.fork()
    span("child" if child == 0 else "parent")
    if child == 0:
        ok = flush()
        os._exit(0 if ok else 1)
    assert os.waitpid(child, 0)[1] == 0
assert flush()
"""
    with collecting(tmp_path / "c") as collector:
        agent(code, collector.url)
        agent(ADOPT, collector.url)
        names = sorted(span.name for span in collector.spans())
    assert names.count("child") == names.count("parent") == names.count("before") == 1
