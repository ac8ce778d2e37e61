"""What leaves the process: documents as the official encoder writes them, at intervals, never in a call's way."""

from __future__ import annotations

import json
import logging
import threading
import time
from typing import Any

import orjson
import pytest
from opentelemetry import _logs as logs
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider

from spanseal.effects import Effects
from spanseal.genai import semconv as sc
from spanseal.records.export_files import is_beside, is_export
from spanseal.telemetry.export.otlp_http import Answer
from spanseal.telemetry.signals.courier import MOST_WAITING, SCOPE, Courier
from spanseal.telemetry.signals.instruments import TOOL
from spanseal.telemetry.signals.numbers import Numbers
from spanseal.telemetry.signals.outlets import FolderOutlet, ServerOutlet, Verdict


class Place:
    """An outlet that keeps what it is given, and says what it is told to say."""

    def __init__(self, verdict: Verdict = "taken", slow: float = 0.0) -> None:
        self.verdict: Verdict = verdict
        self.slow = slow
        self.documents: list[Any] = []
        self.closed = False

    def deliver(self, document: bytes) -> Verdict:
        time.sleep(self.slow)
        if self.verdict == "taken":
            self.documents.append(orjson.loads(document))
        return self.verdict

    def after_fork(self) -> None:
        self.documents = []

    def close(self) -> None:
        self.closed = True


def courier(metrics: Place | None, events: Place | None, interval: float = 60.0) -> Courier:
    provider = TracerProvider(resource=Resource({"service.name": "shop"}), shutdown_on_exit=False)
    return Courier(provider, Numbers(Effects().clock), metrics, events, interval)


def record(text: str = "x") -> ReadableLogRecord:
    made = logs.LogRecord(timestamp=1, attributes={"a": {"b": [text]}}, event_name="e")
    return ReadableLogRecord(made, Resource({"service.name": "shop"}), SCOPE)


def records_of(place: Place) -> list[Any]:
    return [
        one for document in place.documents for group in document["resourceLogs"] for scope in group["scopeLogs"]
        for one in scope["logRecords"]
    ]


def wait_for(condition: Any) -> None:
    until = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.01)


def test_a_flush_delivers_both_and_says_of_which_process() -> None:
    metrics, events = Place(), Place()
    made = courier(metrics, events)
    made.numbers.add([(TOOL, 0.1)], {sc.TOOL_NAME: "add"}, None)
    made.emit(record())
    assert made.flush(5)
    (numbers,) = metrics.documents
    (group,) = numbers["resourceMetrics"]
    assert group["resource"]["attributes"] == [{"key": "service.name", "value": {"stringValue": "shop"}}]
    assert group["scopeMetrics"][0]["scope"]["name"] == "spanseal"
    (event,) = records_of(events)
    assert event["eventName"] == "e"
    assert event["attributes"][0]["value"]["kvlistValue"]["values"][0]["value"]["arrayValue"]
    made.close(5)
    assert metrics.closed
    assert events.closed


def test_numbers_go_at_intervals_and_events_soon_without_being_asked() -> None:
    metrics, events = Place(), Place()
    made = courier(metrics, events, interval=0.05)
    made.numbers.add([(TOOL, 0.1)], {sc.TOOL_NAME: "add"}, None)
    made.emit(record())
    wait_for(lambda: len(metrics.documents) > 1 and records_of(events))
    made.close(5)


def test_lone_surrogates_and_big_integers_do_not_stop_an_event() -> None:
    events = Place()
    made = courier(None, events)
    odd = logs.LogRecord(timestamp=1, attributes={"a": "x\ud800", "b": {"n": 2**70}}, event_name="e")
    made.emit(ReadableLogRecord(odd, Resource({}), SCOPE))
    made.emit(record("after"))
    assert made.flush(5)
    assert len(records_of(events)) == 2
    assert "\ufffd" in json.dumps(records_of(events), ensure_ascii=False)
    made.close(5)


def test_many_events_go_in_bounded_bodies_and_in_order() -> None:
    events = Place()
    made = courier(None, events)
    for number in range(5):
        made.emit(record(str(number) * 1024 * 1024))
    assert made.flush(5)
    assert [len(document["resourceLogs"]) for document in events.documents] == [1, 1, 1, 1, 1]
    texts = [str(one["attributes"])[:200] for one in records_of(events)]
    assert [text for number, text in enumerate(texts) if str(number) * 50 not in text] == []
    made.close(5)


def test_a_server_that_is_away_costs_the_oldest_events_only(caplog: pytest.LogCaptureFixture) -> None:
    events = Place("later")
    made = courier(None, events)
    for number in range(MOST_WAITING):
        made.emit(record(str(number)))
    assert not made.flush(5)
    with caplog.at_level(logging.WARNING, "spanseal"):
        for number in range(10):
            made.emit(record(f"late{number}"))
        assert not made.flush(5)
    assert made.complaints.counts["lost"] == 10
    assert [entry.message for entry in caplog.records] == [
        f"events are lost: more than {MOST_WAITING} wait for a server"
    ]
    events.verdict = "taken"
    assert made.flush(5)
    texts = json.dumps(records_of(events))
    assert '"late9"' in texts
    assert '"0"' not in texts
    made.close(5)


def test_a_slow_server_holds_up_neither_calls_nor_the_exit() -> None:
    slow = Place(slow=30)
    made = courier(slow, slow, interval=0.01)
    began = time.monotonic()
    made.numbers.add([(TOOL, 0.1)], {sc.TOOL_NAME: "add"}, None)
    made.wake()
    time.sleep(0.1)
    for _ in range(100):
        made.emit(record())
    assert not made.flush(0.05)
    made.close(0.1)
    assert time.monotonic() - began < 5


def test_after_a_fork_the_child_counts_from_zero_and_threads_start_anew() -> None:
    metrics, events = Place(), Place()
    made = courier(metrics, events)
    made.numbers.add([(TOOL, 0.1)], {sc.TOOL_NAME: "add"}, None)
    made.emit(record("parent's"))
    made.after_fork()
    assert made.flush(5)
    assert metrics.documents == []
    assert events.documents == []
    made.emit(record("child's"))
    wait_for(lambda: records_of(events))
    assert "child's" in str(records_of(events))
    made.close(5)


def test_threads_emit_at_the_same_time() -> None:
    events = Place()
    made = courier(None, events)
    threads = [threading.Thread(target=lambda: [made.emit(record()) for _ in range(100)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wait_for(lambda: len(records_of(events)) == 800 or not made.flush(1))
    made.close(5)


def test_nothing_is_taken_after_the_end() -> None:
    events = Place()
    made = courier(None, events)
    made.close(1)
    made.close(1)
    made.emit(record())
    assert events.documents == []


def test_a_fault_of_ours_is_said_once_and_the_thread_lives_on(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Place):
        def deliver(self, document: bytes) -> Verdict:
            raise RuntimeError("odd")

    made = courier(Broken(), None)
    made.numbers.add([(TOOL, 0.1)], {sc.TOOL_NAME: "add"}, None)
    with caplog.at_level(logging.WARNING, "spanseal"):
        assert not made.flush(1)
        assert not made.flush(1)
    assert len(caplog.records) == 1
    made.close(1)


def test_a_folder_gets_a_file_that_no_reader_of_spans_takes(tmp_path: Any) -> None:
    outlet = FolderOutlet(tmp_path / "new", "metrics")
    assert outlet.deliver(b"{}") == "taken"
    assert outlet.deliver(b"{}") == "taken"
    outlet.after_fork()
    assert outlet.deliver(b"{}") == "taken"
    outlet.close()
    names = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert len(names) == 2
    assert not any(map(is_export, names))
    assert all(map(is_beside, names))
    assert (tmp_path / "new" / names[0]).read_bytes() == b"{}\n{}\n"


def test_a_folder_that_cannot_be_written_is_said_once(tmp_path: Any, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").write_text("")
    outlet = FolderOutlet(tmp_path / "file", "metrics")
    with caplog.at_level(logging.WARNING, "spanseal"):
        assert outlet.deliver(b"{}") == "later"
        assert outlet.deliver(b"{}") == "later"
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    ("verdict", "reason", "said", "gone"),
    [
        ("later", "HTTP 503", 1, False), ("refused", "HTTP 404 no", 0, True), ("split", "HTTP 400 bad", 1, False),
        ("refused", "HTTP 401", 1, False), ("taken", "", 0, False),
    ],
)
def test_what_a_server_answers(
    verdict: Any, reason: str, said: int, gone: bool, caplog: pytest.LogCaptureFixture
) -> None:
    class Http:
        posts = 0

        def post(self, body: bytes) -> Answer:
            Http.posts += 1
            return Answer(verdict, reason)

        def forget(self) -> None: ...

        def close(self) -> None: ...

    connect: Any = Http
    outlet = ServerOutlet(connect, "http://h/v1/metrics", "metrics")
    with caplog.at_level(logging.WARNING, "spanseal"):
        for _ in range(3):
            outlet.deliver(b"{}")
    assert (len(caplog.records), outlet.gone, Http.posts) == (said, gone, 1 if gone else 3)
