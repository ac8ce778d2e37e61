"""The line with a part away: the agent goes on, the evidence arrives once, and what is missing is said."""

import json
import os
import signal
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from resource import RLIM_INFINITY, RLIMIT_FSIZE, prlimit
from typing import Any

import httpx
import pytest
from tests.integration.line import places
from tests.integration.line.running import Application, application
from tests.integration.line.seen import of_otlp
from tests.integration.parts import services
from tests.integration.parts.sealer import Sealer, sealer

from spanseal import RunReader


@dataclass(frozen=True)
class Route:
    """The audit route alone: a collector and the sealer behind it."""

    folder: Path
    collector: services.Collector
    sealer: Sealer

    def application(self) -> Any:
        """A scripted application that exports to the collector; all of a test share one spool."""
        return application(self.folder / "app", self.collector.otlp_http)

    def spooled(self) -> bytes:
        """What lies in the spool, not delivered yet."""
        return b"".join(path.read_bytes() for path in (self.folder / "app").rglob("spans-*.jsonl"))

    def arrived(self, *told: dict[str, Any]) -> None:
        """Wait for these runs; then every span is in the store exactly once, the runs are whole and it verifies."""
        wanted = {run["run_id"] for run in told}
        places.soon(lambda: self.whole() >= wanted, "whole runs in the store")
        assert set(places.times_in_store(self.sealer).values()) == {1}
        rows = places.runs(self.sealer)
        assert {rows[run_id]["grade"] for run_id in wanted} == {"complete"}
        places.verify(self.sealer, self.folder / "stranger")

    def whole(self) -> set[str]:
        """The runs whose root is sealed, which ends last and is sent last."""
        return {one.run_id for one in places.stored(self.sealer) if b'"name":"invoke_agent scripted"' in one.raw}


@contextmanager
def route(folder: Path, jaeger: str = services.NOWHERE) -> Generator[Route]:
    with (
        sealer(folder / "sealer") as sealing,
        services.collector(folder, sealer=sealing.url, jaeger=jaeger) as collector,
    ):
        yield Route(folder, collector, sealing)


def said(app: Application, words: str) -> int:
    return app.heard().count(words)


def test_the_collector_is_away_and_comes_back(tmp_path: Path) -> None:
    with route(tmp_path) as line, line.application() as app:
        line.collector.service.stop()
        runs = [app.run(), app.run()]
        assert [run["outcome"] for run in runs] == ["completed", "completed"]
        places.soon(lambda: said(app, "no export to") == 1, "the word that there is no export")
        first, second = (spans_of(line.spooled(), run) for run in runs)
        assert first == second > 3
        line.collector.service.start()
        runs.append(app.run())
        line.arrived(*runs)
        assert said(app, "no export to") == said(app, "takes spans again") == 1
        assert app.end() == 0
        assert line.spooled() == b""


def spans_of(spool: bytes, run: dict[str, Any]) -> int:
    return sum(run["run_id"].encode() in line for line in spool.splitlines())


def test_the_collector_is_away_until_the_next_process(tmp_path: Path) -> None:
    with route(tmp_path) as line:
        line.collector.service.stop()
        with line.application() as app:
            first = app.run()
            assert app.end() == 0
            assert said(app, "no export to") == 1
            assert "Traceback" not in app.heard()
        assert spans_of(line.spooled(), first) > 3
        line.collector.service.start()
        with line.application() as app:
            second = app.run()
            line.arrived(first, second)
            assert app.end() == 0
        assert line.spooled() == b""


def test_a_killed_process_leaves_all_that_had_ended(tmp_path: Path) -> None:
    with route(tmp_path) as line:
        with line.application() as app:
            before = app.run()
            app.say("stop")
            assert app.stdout.readline() == "in the middle\n"
            os.kill(app.process.pid, signal.SIGKILL)
            assert app.process.wait(10) == -signal.SIGKILL
        with line.application() as app:
            after = app.run()
            line.arrived(before, after)
            assert app.end() == 0
        (cut,) = {run_id: row for run_id, row in places.runs(line.sealer).items() if row["grade"] != "complete"}.items()
        assert (cut[1]["grade"], cut[1]["agent"]) == ("truncated", "scripted")
        ended, still_open = numbered(line, cut[0])
        assert ended == ended_before_the_third_call(numbered(line, after["run_id"])[0])
        assert [*still_open.values()] == ["invoke_agent scripted", "step", "chat scripted"]
        assert sorted(ended | still_open) == list(range(len(ended | still_open)))  # nothing is missing in between
        readable(line, cut[0], after)


def numbered(line: Route, run_id: str) -> tuple[dict[int, str], dict[int, str]]:
    """The names of a run's sealed spans by their number in the run: those that ended, and those that are open."""
    traces = {one.trace_id for one in places.stored(line.sealer) if one.run_id == run_id}
    spans = [one for one in places.in_store(line.sealer, traces) if one.attributes["spanseal.run.id"] == run_id]
    both: tuple[dict[int, str], dict[int, str]] = ({}, {})
    for one in sorted(spans, key=lambda one: one.attributes["spanseal.seq"]):
        both["spanseal.open" in one.attributes][one.attributes["spanseal.seq"]] = one.name
    return both


def ended_before_the_third_call(whole: dict[int, str]) -> dict[int, str]:
    """Of a whole run, what has ended while its third model call goes on: all but the root and the third step."""
    third_call = [number for number, name in whole.items() if name == "chat scripted"][2]
    third_step = [number for number, name in whole.items() if name == "step"][2]
    root = min(whole)
    return {number: name for number, name in whole.items() if number < third_call and number not in (root, third_step)}


def readable(line: Route, run_id: str, whole: dict[str, Any]) -> None:
    """Both steps that had ended, message by message as in the same run that was not cut off; the third call is open."""
    heads = line.folder / "heads"
    reader = RunReader.open(line.sealer.store, trust=line.sealer.trust, heads=heads, content_keys=line.sealer.keys)
    run = reader.run(run_id)
    assert [step.number for step in run.steps if step.ended] == [1, 2]
    assert len(run.calls) == 3
    assert run.calls[2].response is None
    for call in run.calls[:2]:
        assert call.response is not None
        texts = [[message.role, message.text] for message in (*call.messages, call.response.message)]
        assert texts == whole["messages"][: len(texts)]
    assert [use.result for use in run.tools] == [result for _, _, result, _, _ in whole["tools"]]


def test_two_processes_at_once_share_a_spool(tmp_path: Path) -> None:
    with route(tmp_path) as line:
        line.collector.service.stop()
        with line.application() as one, line.application() as other:
            runs = [one.run(), other.run(), one.run()]
            line.collector.service.start()
            runs += [other.run(), one.run()]
            assert (one.end(), other.end()) == (0, 0)
        line.arrived(*runs)
        assert line.spooled() == b""


def test_a_full_disk_under_the_agent_does_not_stop_it_and_the_gap_shows(tmp_path: Path) -> None:
    with route(tmp_path) as line, line.application() as app:
        prlimit(app.process.pid, RLIMIT_FSIZE, (9_000, RLIM_INFINITY))  # some spans find room, the others do not
        hit = app.run()
        assert hit["outcome"] == "completed"
        places.soon(lambda: said(app, "spans cannot be kept") == 1, "the word that the spool is full")
        prlimit(app.process.pid, RLIMIT_FSIZE, (RLIM_INFINITY, RLIM_INFINITY))
        after = app.run()
        line.arrived(after)
        assert app.end() == 0
        assert said(app, "spans cannot be kept") == 1
        assert "Traceback" not in app.heard()
        assert places.runs(line.sealer)[hit["run_id"]]["grade"] in ("gapped", "truncated")


def whole_in_archive(line: Route) -> set[str]:
    """The traces whose root the collector has taken."""
    spans = (span for document in line.collector.archived() for span in of_otlp(json.loads(document)))
    return {span.trace_id for span in spans if not span.parent_id}


@pytest.mark.parametrize("way", ["stopped", "killed"])
def test_the_sealer_is_away_and_everything_arrives_once(tmp_path: Path, way: str) -> None:
    with route(tmp_path) as line, line.application() as app:
        runs = [app.run()]
        line.arrived(*runs)
        if way == "stopped":
            line.sealer.service.stop()
        else:
            line.sealer.service.kill()
        runs += [app.run(), app.run()]
        places.soon(lambda: whole_in_archive(line) >= {run["trace_id"] for run in runs}, "the collector to take them")
        line.collector.service.restart()  # and the queue outlives that
        line.sealer.service.start()
        runs.append(app.run())
        line.arrived(*runs)
        assert app.end() == 0
        assert said(app, "Traceback") == 0


def test_jaeger_is_away_and_sealing_goes_on(tmp_path: Path) -> None:
    with (
        services.jaeger(tmp_path / "jaeger") as jaeger,
        route(tmp_path, jaeger.otlp_grpc) as line,
        line.application() as app,
    ):
        seen = app.run()
        places.soon(lambda: bool(places.in_jaeger(jaeger, {seen["trace_id"]})), "the run in Jaeger")
        jaeger.service.kill()
        unseen = [app.run() for _ in range(3)]
        line.arrived(seen, *unseen)
        assert app.end() == 0
        assert app.heard() == ""  # nobody on the agent's side notices


def test_a_full_disk_under_the_sealer_loses_nothing(tmp_path: Path) -> None:
    with route(tmp_path) as line, line.application() as app:
        runs = [app.run()]
        line.arrived(*runs)
        process = line.sealer.service.process
        assert process is not None
        largest = max(path.stat().st_size for path in (line.sealer.store / "seg").iterdir())
        prlimit(process.pid, RLIMIT_FSIZE, (largest + 500, RLIM_INFINITY))  # writes behind it fail, like ENOSPC
        before = places.times_in_store(line.sealer)
        runs += [app.run(), app.run()]
        places.soon(lambda: refusals(line) >= 2, "the sealer to refuse, and again")
        assert line.whole() == {runs[0]["run_id"]}
        assert places.times_in_store(line.sealer) == before
        prlimit(process.pid, RLIMIT_FSIZE, (RLIM_INFINITY, RLIM_INFINITY))
        line.arrived(*runs)
        assert app.end() == 0


def refusals(line: Route) -> int:
    """How often the sealer has answered 503."""
    text = httpx.get(f"{line.sealer.url}/metrics", trust_env=False, timeout=60).text
    return int(text.partition("\nspanseal_sealer_refused_total ")[2].split()[0])


def test_a_full_disk_under_seal_is_an_error_that_says_so_and_the_next_goes_on(tmp_path: Path) -> None:
    spans = tmp_path / "spans"
    with application(tmp_path / "app", str(spans)) as app:
        runs = [app.run() for _ in range(3)]
        assert app.end() == 0
    with sealer(tmp_path) as never:  # its keys and the start of its store, no more
        pass
    keys, store = never.keys, never.store
    seal = ("seal", spans, "--store", store, "--keys", keys)
    full = places.spanseal(never, *seal, largest_file=4_000)
    assert full.returncode != 0
    assert full.stderr.startswith("error: ")
    assert "Traceback" not in full.stderr
    assert places.spanseal(never, *seal).returncode == 0
    assert set(places.times_in_store(never).values()) == {1}
    rows = json.loads(places.spanseal(never, "runs", store, "--json").stdout)
    assert {row["run_id"]: row["grade"] for row in rows} == {run["run_id"]: "complete" for run in runs}
    places.verify(never, tmp_path / "stranger")
