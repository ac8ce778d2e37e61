"""A spool that is full, a disk that is full, spans kept in memory alone: what is lost is counted and told."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from tests.unit.telemetry.export.test_sender import Server
from tests.unit.telemetry.processes import KILLED, agent, collecting, wait_for

from spanseal.genai import semconv
from spanseal.records.otlp import parse_line
from spanseal.settings import SpoolFull
from spanseal.telemetry.export import sender
from spanseal.telemetry.export.otlp_http import Route
from spanseal.telemetry.export.spool import Keeping, Spool
from spanseal.telemetry.spans.tracer import tracer
from spanseal.testing import capture_spans

BOUND = 65_536
Make = Callable[[Keeping], Spool]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()

    def connection(_: Route) -> Server:
        return made

    monkeypatch.setattr(Route, "connection", connection)
    monkeypatch.setattr(sender, "_GATHER", 0.01)
    return made


@pytest.fixture
def make(tmp_path: Path, server: Server) -> Iterable[Make]:
    made: list[Spool] = []

    def one(keeping: Keeping) -> Spool:
        made.append(Spool(Route("http://collector.example/v1/traces"), tmp_path / "spool", keeping))
        return made[-1]

    yield one
    server.gate.set()
    for spool in made:
        spool.close(5)


def spans(count: int, size: int = 1000) -> tuple[ReadableSpan, ...]:
    with capture_spans() as captured:
        for number in range(count):
            tracer().start_span(f"s{number}", attributes={"x": "x" * size}).end()
    return captured.spans


def gaps(server: Server) -> list[int]:
    found = [span for body in server.bodies for span in parse_line(body) if span.name == semconv.SPAN_GAP]
    return [int(str(span.attributes[semconv.GAP_SPANS])) for span in found]


def bytes_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("when_full", ["shed", "fail"])
def test_a_full_spool_drops_the_newest_and_a_gap_says_how_many(
    when_full: SpoolFull, make: Make, server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    spool = make(Keeping(max_bytes=BOUND, when_full=when_full))
    server.gate.clear()
    for span in spans(100):
        spool.emit(span, {semconv.RUN_ID: "r" * 32})
    assert bytes_of(tmp_path / "spool") <= BOUND + 1000  # the files of starts are beside it
    kept = 100 - spool.health().lost
    assert 30 < kept < 60
    assert spool.health().ok is (when_full == "shed")
    server.gate.set()
    assert spool.flush(20) is False
    wait_for(lambda: gaps(server) == [100 - kept])
    (gap,) = [span for body in server.bodies for span in parse_line(body) if span.name == semconv.SPAN_GAP]
    assert gap.attributes[semconv.GAP_RUN_IDS] == ("r" * 32,)
    assert [name for name in server.names() if name != semconv.SPAN_GAP] == [f"s{number}" for number in range(kept)]
    spool.emit(spans(1)[0], {})
    assert spool.flush(20) is True
    assert spool.health().ok is (when_full == "shed")
    told = [message for message in caplog.messages if "has reached its" in message or "has room again" in message]
    assert len(told) == 2


def test_a_spool_that_is_closed_full_does_not_say_that_it_has_room(
    make: Make, server: Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    spool = make(Keeping(max_bytes=BOUND, when_full="shed"))
    server.gate.clear()
    for span in spans(100):
        spool.emit(span, {})
    spool.close(0.1)
    assert any("has reached its" in message for message in caplog.messages)
    assert not any("has room again" in message for message in caplog.messages)
    kept = b"".join(path.read_bytes() for path in sorted((tmp_path / "spool").rglob("spans-*")))
    assert semconv.SPAN_GAP.encode() in kept, "the gap is written all the same"


def test_block_waits_for_room_and_loses_nothing(make: Make, server: Server) -> None:
    spool = make(Keeping(max_bytes=BOUND, when_full="block"))
    server.gate.clear()
    ended = spans(100)

    def emit() -> None:
        for span in ended:
            spool.emit(span, {})

    worker = threading.Thread(target=emit)
    worker.start()
    time.sleep(0.3)
    assert worker.is_alive()
    server.gate.set()
    worker.join(20)
    assert not worker.is_alive()
    assert spool.flush(20) is True
    assert server.names() == [f"s{number}" for number in range(100)]


def test_block_lets_go_when_the_process_ends(make: Make, server: Server) -> None:
    spool = make(Keeping(max_bytes=BOUND, when_full="block"))
    server.gate.clear()
    worker = threading.Thread(target=lambda: [spool.emit(span, {}) for span in spans(100)])
    worker.start()
    time.sleep(0.3)
    spool.close(0.1)
    worker.join(5)
    assert not worker.is_alive()


def test_others_share_the_bound_and_what_is_refused_takes_a_quarter_at_most(
    make: Make, server: Server, tmp_path: Path
) -> None:
    one = make(Keeping(max_bytes=BOUND))
    server.gate.clear()
    for span in spans(30):
        one.emit(span, {})
    other = make(Keeping(max_bytes=BOUND))
    wait_for(lambda: other._room.others > 30_000)  # pyright: ignore[reportPrivateUsage]
    for span in spans(30):
        other.emit(span, {})
    assert other.health().lost > 0
    server.answers = [sender.Answer("split", "HTTP 400")] * 500
    server.gate.set()
    one.flush(20)
    assert 0 < bytes_of(one.folder / "rejected") <= BOUND // 4
    assert one.health().refused + one.health().lost >= 30
    assert one.health().lost > 0


def test_a_real_full_disk_ends_with_room_again(tmp_path: Path) -> None:
    """The limit on the size of files stands for the disk: writes beyond it fail."""
    code = """
import resource
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))
configure("a", export=sys.argv[1])
from spanseal.telemetry.configure import health
for number in range(100):
    span(f"s{number}")
assert not health().ok and 0 < health().lost < 100, health()
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
span("after")
assert health().ok
print(health().lost)
assert not flush()
assert flush()
"""
    with collecting(tmp_path / "c") as collector:
        environ = {"SPANSEAL_SPOOL_DIR": str(tmp_path / "s"), "SPANSEAL_METRICS": "off"}
        said = agent(code, collector.url, environ=environ)
        found = collector.spans()
    (gap,) = [span for span in found if span.name == semconv.SPAN_GAP]
    assert len(found) - 2 + int(str(gap.attributes[semconv.GAP_SPANS])) == 100
    assert gap.attributes[semconv.GAP_REASONS] == ("File too large",)
    assert said.count("spans cannot be kept") == 1


def test_in_memory_nothing_is_written_and_what_is_not_delivered_is_said(tmp_path: Path) -> None:
    code = """
configure("a", export=sys.argv[1], durability="off")
left = tracer().start_span("left")
for number in range(20):
    span(f"s{number}")
"""
    environ = {"SPANSEAL_SPOOL_DIR": str(tmp_path / "s"), "SPANSEAL_METRICS": "off"}
    with collecting(tmp_path / "c") as collector:
        assert agent(code, collector.url, environ=environ) == ""
        found = {span.name: span for span in collector.spans()}
    assert len(found) == 21
    assert found["left"].attributes[semconv.OPEN] is True
    said = agent(code, collector.url, environ=environ)
    assert "21 spans were not delivered" in said
    agent(code + "\nos.kill(os.getpid(), signal.SIGKILL)", collector.url, environ=environ, expect=KILLED)
    assert not list((tmp_path / "s").rglob("spans-*"))


def test_memory_is_bounded(make: Make, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    spool = make(Keeping("off", max_bytes=BOUND))
    server.gate.clear()
    for span in spans(100):
        spool.emit(span, {})
    assert spool.health().backlog_bytes <= BOUND
    lost = spool.health().lost
    assert lost > 30
    server.gate.set()
    assert spool.flush(20) is False
    wait_for(lambda: gaps(server) == [lost])
    assert len(server.names()) == 101 - lost
