"""What the sender makes of a server's answers and of an unwilling disk; in process, with a scripted server."""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import threading
import time
from collections.abc import Generator, Iterable
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from tests.unit.telemetry.processes import wait_for

from spanseal.records.otlp import parse_line
from spanseal.telemetry.export import segment, sender, spool_files
from spanseal.telemetry.export.encode import PREFIX, SUFFIX
from spanseal.telemetry.export.otlp_http import Answer, Route
from spanseal.telemetry.export.sink import Complaints
from spanseal.telemetry.export.spool import Spool
from spanseal.telemetry.spans.tracer import tracer
from spanseal.testing import capture_spans

URL = "http://collector.example/v1/traces"


class Server:
    """Answers as scripted, then *taken*; ``gate`` closed keeps every request waiting."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.bodies: list[bytes] = []
        self.verdicts: list[str] = []
        self.gate = threading.Event()
        self.gate.set()

    def post(self, body: bytes) -> Answer:
        self.gate.wait(20)
        answer = self.answers.pop(0) if self.answers else Answer("taken")
        self.verdicts.append(answer.verdict)
        if answer.verdict in ("taken", "partly"):
            self.bodies.append(body)
        return answer

    def close(self) -> None:
        pass

    def forget(self) -> None:
        pass

    def names(self) -> list[str]:
        return [span.name for body in self.bodies for span in parse_line(body)]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    made = Server()

    def connection(_: Route) -> Server:
        return made

    monkeypatch.setattr(Route, "connection", connection)
    monkeypatch.setattr(sender, "_GATHER", 0.01)
    return made


@pytest.fixture
def spool(tmp_path: Path, server: Server) -> Generator[Spool]:
    made = Spool(Route(URL), tmp_path)
    yield made
    server.gate.set()
    server.answers = []
    made.close(2)


def emit(spool: Spool, names: Iterable[str]) -> None:
    for span in spans(names):
        spool.emit(span, {})


def spans(names: Iterable[str]) -> tuple[ReadableSpan, ...]:
    with capture_spans() as captured:
        for name in names:
            tracer().start_span(name).end()
    return captured.spans


def aside(spool: Spool) -> list[bytes]:
    return [line for path in spool.folder.glob("rejected/*") for line in path.read_bytes().splitlines()]


def segments(spool: Spool) -> list[Path]:
    return list(spool.folder.glob("spans-*.jsonl"))


def test_patience_is_asked_for_and_given(spool: Spool, server: Server, caplog: pytest.LogCaptureFixture) -> None:
    server.answers = [Answer("later", "HTTP 429", 0.05), Answer("later", "down", 0.05)]
    emit(spool, "abc")
    assert spool.flush(20)
    assert sorted(set(server.names())) == ["a", "b", "c"]
    assert server.verdicts[:3] == ["later", "later", "taken"]
    assert [message.split(" (")[0] for message in caplog.messages] == [
        "no export to http://collector.example/v1/traces",
        "http://collector.example/v1/traces takes spans again",
    ]


def test_waits_between_attempts_double_at_random_up_to_about_half_a_minute(tmp_path: Path) -> None:
    def waits() -> list[float]:
        idle = sender.Sender(
            "s", Route(URL).connection(), tmp_path, lambda _, __: False, lambda _: None, Complaints(), most_aside=0
        )
        failed = getattr(idle, "_failed")  # noqa: B009 - private, and its thread would wait that long
        return [failed("down", None) for _ in range(12)]

    several = [waits() for _ in range(20)]
    for number, same in enumerate(zip(*several, strict=True)):
        usual = min(0.5 * 2**number, 30)
        assert all(0.5 * usual <= wait <= min(1.5 * usual, 45) for wait in same)
        assert len(set(same)) > 5


def test_a_note_of_a_segment_that_is_gone_goes_too(tmp_path: Path) -> None:
    for name in ("spans-1.jsonl", "spans-1.pos", "spans-2.pos"):
        (tmp_path / name).write_bytes(b"{}\n" if name.endswith("jsonl") else b"2\n")
    (segment_left,), _ = spool_files.adopt(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["spans-1.jsonl", "spans-1.pos"]
    assert segment_left.sent == 2
    segment_left.remove()
    assert list(tmp_path.iterdir()) == []


def test_flush_tells_the_truth_while_nothing_is_taken(spool: Spool, server: Server) -> None:
    server.gate.clear()
    emit(spool, "ab")
    assert spool.flush(0.05) is False
    server.gate.set()
    assert spool.flush(10) is True
    assert spool.flush(0) is True


def test_what_is_refused_is_kept_aside_and_said_once(
    spool: Spool, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    server.answers = [Answer("split", "HTTP 400 Bearer abcdefghijklmnop")] * 2
    for name in "ab":
        emit(spool, name)
        assert spool.flush(10) is False
    emit(spool, "c")
    assert spool.flush(10) is True
    assert server.names() == ["c"]
    assert len(aside(spool)) == 2
    assert [message.split("; ")[0] for message in caplog.messages] == [
        f"{URL} refuses spans: HTTP 400 [redacted:bearer:23]"
    ]


def test_one_bad_span_does_not_take_its_neighbours_along(spool: Spool, server: Server) -> None:
    server.gate.clear()
    emit(spool, "x")
    time.sleep(0.05)  # the sender waits at the gate with x; the next four go together
    emit(spool, "abcd")
    split = Answer("split", "HTTP 400")
    server.answers = [Answer("taken"), split, split, Answer("taken"), split]
    server.gate.set()
    assert spool.flush(10) is False
    assert server.names() == ["x", "a", "c", "d"]
    assert [parse_line(line)[0].name for line in aside(spool)] == ["b"]


def test_a_server_that_takes_small_bodies_only_is_sent_small_ones_from_then_on(
    spool: Spool, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: list[int] = []

    def post(body: bytes) -> Answer:
        if len(body) <= 20_000:
            return Server.post(server, body)
        refused.append(len(body))
        return Answer("smaller", "HTTP 413")

    monkeypatch.setattr(server, "post", post)
    server.gate.clear()
    emit(spool, [f"span-{number}" for number in range(400)])
    server.gate.set()
    assert spool.flush(20)
    first = len(refused)
    emit(spool, [f"more-{number}" for number in range(400)])
    assert spool.flush(20)
    assert sorted(server.names()) == sorted(f"{word}-{number}" for word in ("span", "more") for number in range(400))
    assert 0 < first < 40
    assert len(refused) <= first + 1


def test_a_partial_success_is_not_called_a_success(spool: Spool, server: Server) -> None:
    server.answers = [Answer("partly", "1 spans refused: too old", rejected=1)]
    with_two = spans("ab")
    server.gate.clear()
    for span in with_two:
        spool.emit(span, {})
    server.gate.set()
    assert spool.flush(10) is False
    assert spool.health().refused == 1
    assert 1 <= len(aside(spool)) <= 2
    assert server.verdicts.count("partly") == 1


def test_a_wrong_token_keeps_the_spans_until_it_is_mended(spool: Spool, server: Server) -> None:
    server.answers = [Answer("refused", "HTTP 401")]
    emit(spool, "a")
    assert spool.flush(20)
    assert server.verdicts == ["refused", "taken"]
    assert aside(spool) == []


def test_an_orphan_is_adopted_from_where_it_was_left_and_its_torn_line_kept_aside(
    tmp_path: Path, server: Server
) -> None:
    folder = tmp_path / hashlib.sha256(URL.encode()).hexdigest()[:16]
    folder.mkdir()
    orphan = folder / "spans-20260101T000000Z-1-0.jsonl"
    lines = [PREFIX + b'{"n":%d}' % number + SUFFIX for number in range(3)]
    orphan.write_bytes(b"".join(lines) + b"no span\n" + PREFIX + b'{"torn')
    orphan.with_suffix(".pos").write_text(f"{len(lines[0]):020d}\n")
    busy = folder / "spans-20260101T000000Z-2-0.jsonl"
    busy.write_bytes(lines[0])
    holder = os.open(busy, os.O_RDONLY)
    fcntl.flock(holder, fcntl.LOCK_EX)
    spool = Spool(Route(URL), tmp_path)
    try:
        wait_for(lambda: not orphan.exists())
        assert server.bodies == [b'{"resourceSpans":[{"n":1},{"n":2}]}']
        assert aside(spool) == [b"no span", PREFIX + b'{"torn']
        assert busy.exists()
    finally:
        os.close(holder)
        spool.close(2)


def test_batches_are_bounded_by_bytes(spool: Spool, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "BATCH_BYTES", 4000)
    server.gate.clear()
    emit(spool, [f"{number:0300d}" for number in range(40)] + ["x" * 9000])
    server.gate.set()
    assert spool.flush(10)
    assert len(server.names()) == 41
    assert max(map(len, server.bodies[:-1])) <= 4000
    assert server.names()[-1] == "x" * 9000


def test_full_segments_go_one_after_the_other(spool: Spool, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool._store, "_segment_bytes", 1500)  # pyright: ignore[reportPrivateUsage]
    server.gate.clear()
    emit(spool, [f"s{number}" for number in range(20)])
    assert len(segments(spool)) > 3
    server.gate.set()
    assert spool.flush(10)
    assert server.names() == [f"s{number}" for number in range(20)]
    wait_for(lambda: segments(spool) == [])
    emit(spool, "z")
    assert spool.flush(10)
    assert server.names()[-1] == "z"


def test_a_full_disk_loses_only_what_it_refuses_and_says_so(
    spool: Spool, server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(fd: int, data: bytes) -> None:
        os.write(fd, data[:20])
        raise OSError(28, "No space left on device")

    emit(spool, "a")
    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING, "spanseal"):
        patched.setattr(segment, "write_all", full)
        emit(spool, "bc")
    emit(spool, "d")
    assert spool.flush(10) is False
    assert server.names() == ["a", "d", "spanseal.gap"]
    assert spool.complaints.counts["lost"] == 2
    assert len([message for message in caplog.messages if "No space left" in message]) == 1


def test_a_server_that_raises_is_a_server_that_is_down(
    spool: Spool, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []

    def broken(body: bytes) -> Answer:
        calls.append(len(body))
        if len(calls) == 1:
            raise RuntimeError("a bug of ours")
        return Answer("taken")

    monkeypatch.setattr(server, "post", broken)
    emit(spool, "a")
    assert spool.flush(20) is True
    assert len(calls) == 2
