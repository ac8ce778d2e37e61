"""The file of starts and its adoption: every state that a death can leave behind, and many adopters at once."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from tests.unit.telemetry.processes import spans_in

from spanseal.genai import semconv
from spanseal.records.otlp import parse_line
from spanseal.telemetry.export import intents as intents_module
from spanseal.telemetry.export import orphans as orphans_module
from spanseal.telemetry.export.encode import LineEncoder
from spanseal.telemetry.export.intents import Intents, Key
from spanseal.telemetry.export.journal import Journal
from spanseal.telemetry.export.orphans import adopt_folder
from spanseal.telemetry.export.segment import create
from spanseal.telemetry.export.start_line import key_of, opened, start_line

ENCODER = LineEncoder()


def span(name: str = "s", **attributes: object) -> ReadableSpan:
    made = TracerProvider(shutdown_on_exit=False).get_tracer("other").start_span(name)
    made.set_attributes(attributes)  # type: ignore[arg-type]
    assert isinstance(made, ReadableSpan)
    return made


def start(one: ReadableSpan) -> bytes:
    line = start_line(ENCODER, one, {"spanseal.seq": 7})
    assert line is not None
    return line


def dead(folder: Path, started: list[ReadableSpan], ended: list[ReadableSpan]) -> Path:
    """The files that a process leaves when it is killed; returns that of the starts."""
    intents = Intents(folder, "")
    segment = create(folder / f"spans-{intents.stem}.jsonl")
    for one in started:
        intents.start(key_of(one), start(one))
    for one in ended:
        segment.append(ENCODER.line(one, {}))
    segment.release()
    intents.release()
    return folder / f".started-{intents.stem}"


def open_names(folder: Path) -> list[str]:
    return sorted(one.name for one in spans_in(folder) if one.attributes.get(semconv.OPEN))


def test_what_started_and_did_not_end_is_open(tmp_path: Path) -> None:
    one, two = span("one", a=1), span("two")
    dead(tmp_path, [one, two], [two])
    assert adopt_folder(tmp_path) == 1
    assert open_names(tmp_path) == ["one"]
    assert adopt_folder(tmp_path) == 0


def test_a_torn_start_is_nothing_and_a_torn_end_leaves_the_span_open(tmp_path: Path) -> None:
    one, two = span("one"), span("two")
    lease = dead(tmp_path, [one, two], [])
    lease.write_bytes(lease.read_bytes()[:-5])
    (tmp_path / f"spans-{lease.name.removeprefix('.started-')}.jsonl").write_bytes(ENCODER.line(one, {})[:-1])
    adopt_folder(tmp_path)
    found = [line for path in tmp_path.glob("spans-*-open.jsonl") for line in path.read_bytes().splitlines()]
    assert [parse_line(line)[0].name for line in found] == ["one"]


@pytest.mark.parametrize("where", ["write_all", "replace", "ftruncate", "unlink"])
def test_an_adopter_may_die_anywhere_and_the_next_one_writes_the_same_once(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its death is an exception that nobody catches, at each step in turn; locks go as with a process."""

    class Dies(BaseException):
        pass

    def die(*_: object, **__: object) -> None:
        raise Dies

    lease = dead(tmp_path, [span("one", n=3)], [])
    lock = os.open(lease, os.O_RDONLY)
    os.utime(lease, ns=(1, 9_000_000_000_000_000_000))
    owner = {"write_all": orphans_module, "ftruncate": os}.get(where, Path)
    with monkeypatch.context() as patched:
        patched.setattr(owner, where, die)
        with pytest.raises(Dies):
            adopt_folder(tmp_path)
    fcntl.flock(lock, fcntl.LOCK_UN)  # nobody else has that description: the dead adopter's is closed below
    os.close(lock)
    _close_leftovers(lease)
    adopt_folder(tmp_path)
    assert open_names(tmp_path) == ["one"]
    (found,) = spans_in(tmp_path)
    assert found.end == 9_000_000_000_000_000_000
    assert not list(tmp_path.glob(".started-*"))


def _close_leftovers(lease: Path) -> None:
    """What the system does when a process dies."""
    for entry in Path("/proc/self/fd").iterdir():
        try:
            if entry.readlink() == lease:
                os.close(int(entry.name))
        except OSError:
            continue


def test_many_adopters_at_once_write_each_open_span_once(tmp_path: Path) -> None:
    for number in range(12):
        dead(tmp_path, [span(f"open {number}"), span("x")], [])
    code = "import sys; from pathlib import Path; from spanseal.telemetry.export.orphans import adopt_folder\n"
    code += "sys.stdin.readline(); print(adopt_folder(Path(sys.argv[1])))"
    command = [sys.executable, "-c", code, str(tmp_path)]
    racers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    said = [racer.communicate("go\n", 60)[0] for racer in racers]
    assert sum(map(int, said)) == 12
    assert len(open_names(tmp_path)) == len(spans_in(tmp_path)) == 24


def test_the_living_are_left_alone_and_so_is_what_people_took_away(tmp_path: Path) -> None:
    living = Journal(tmp_path, "off", 0.05)
    living.start((1, 2), start(span("alive")))
    lease = dead(tmp_path, [span("taken")], [])
    (tmp_path / f"spans-{lease.name.removeprefix('.started-')}.jsonl").unlink()
    assert adopt_folder(tmp_path) == 1
    assert open_names(tmp_path) == []
    living.close(5, keep=False)
    assert open_names(tmp_path) == ["alive"]


def test_what_is_lost_is_missing_and_not_open(tmp_path: Path) -> None:
    journal = Journal(tmp_path, "off", 0.05)
    one, two = span("one"), span("two")
    for each in (one, two):
        journal.start(key_of(each), start(each))
    journal.lose(key_of(one))
    journal.leave(delivered=False)
    adopt_folder(tmp_path)
    assert open_names(tmp_path) == ["two"]


def test_the_file_does_not_grow_with_the_life_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(intents_module, "COMPACT_BYTES", 20_000)
    journal = Journal(tmp_path, "off", 0.05)
    left = span("left")
    journal.start(key_of(left), start(left))
    largest = 0
    for _ in range(500):
        one = span("s")
        journal.start(key_of(one), start(one))
        journal.end(key_of(one), ENCODER.line(one, {}))
        (lease,) = tmp_path.glob(".started-*")
        largest = max(largest, lease.stat().st_size)
    assert largest < 25_000
    journal.leave(delivered=False)
    assert adopt_folder(tmp_path) == 1
    assert open_names(tmp_path) == ["left"]


ATTRIBUTES = st.dictionaries(
    st.text(min_size=1, max_size=10),
    st.one_of(
        st.text(max_size=2000), st.booleans(), st.floats(), st.integers(-(2**70), 2**70), st.lists(st.text(max_size=5)),
        st.lists(st.floats()), st.binary(max_size=9),
    ),
    max_size=6,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(ATTRIBUTES, st.text(max_size=20))
def test_an_open_span_says_what_the_same_span_ended_would_say(attributes: dict[str, object], name: str) -> None:
    """Except for what is large, which a start leaves out, and the mark."""
    small = {key: value for key, value in attributes.items() if not isinstance(value, str) or len(value) <= 1024}
    one = span(name, **small)
    (said,) = parse_line(opened(start(one), 5).rstrip(b"\n"))
    (whole,) = parse_line(ENCODER.line(one, {"spanseal.seq": 7}).rstrip(b"\n"))
    marked = {**whole.attributes, semconv.OPEN: True}
    assert repr(sorted(said.attributes.items())) == repr(sorted(marked.items()))
    assert (said.name, said.span_id, said.start, said.kind) == (whole.name, whole.span_id, whole.start, whole.kind)
    assert said.end == said.start


def test_a_start_keeps_parent_state_and_links(tmp_path: Path) -> None:
    provider = TracerProvider(shutdown_on_exit=False)
    tracer = provider.get_tracer("spanseal")
    remote = trace.SpanContext(5, 6, True, trace.TraceFlags(1), trace.TraceState([("spanseal", "x")]))
    parent = trace.set_span_in_context(trace.NonRecordingSpan(remote))
    for links in ([], [trace.Link(trace.SpanContext(8, 9, is_remote=False))]):
        one = tracer.start_span("s", parent, links=links, kind=trace.SpanKind.CLIENT)
        assert isinstance(one, ReadableSpan)
        said = orjson.loads(opened(start(one), 5))["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
        whole = orjson.loads(ENCODER.line(one, {"spanseal.seq": 7}))["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
        for both in (said, whole):
            both.pop("endTimeUnixNano")
            both.pop("attributes")
        assert said == whole


def test_two_journals_of_one_process_have_stems_of_their_own(tmp_path: Path) -> None:
    keys: list[Key] = [(1, 1), (1, 2), (1, 3)]
    journals = [Journal(tmp_path, "off", 0.05) for _ in keys]
    for journal, key in zip(journals, keys, strict=True):
        journal.start(key, start(span("s")))
    assert len(list(tmp_path.glob(".started-*"))) == 3


@pytest.mark.parametrize("code", [errno.ENOTSUP, errno.ENOLCK, errno.ENOSYS])
def test_on_a_file_system_without_locks_spans_are_kept_and_nobody_takes_them_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, code: int
) -> None:
    def refuses(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", refuses)
    monkeypatch.setattr(intents_module, "_told", [])
    one, two = span("one"), span("two")
    lease = dead(tmp_path, [one, two], [two])
    assert [found.name for found in spans_in(tmp_path)] == ["two"]
    assert adopt_folder(tmp_path) == 0
    assert lease.exists()
    dead(tmp_path, [], [one])
    assert len([record for record in caplog.records if "no locks" in record.message]) == 1
    monkeypatch.undo()
    assert adopt_folder(tmp_path) == 2
    assert open_names(tmp_path) == ["one"]


def test_another_fault_of_the_lock_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object) -> None:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(fcntl, "flock", refuses)
    with pytest.raises(OSError, match="broken"):
        Intents(tmp_path, "")
