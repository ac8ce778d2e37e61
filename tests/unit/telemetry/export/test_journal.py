"""When what is written is on the disk itself, by ``durability``; and what a forked child does not keep others from."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from tests.unit.telemetry.processes import KILLED, agent, spans_in, wait_for

from spanseal.genai import semconv
from spanseal.settings import Durability
from spanseal.telemetry.export.encode import LineEncoder
from spanseal.telemetry.export.journal import Journal
from spanseal.telemetry.export.orphans import adopt_folder
from spanseal.telemetry.export.start_line import key_of, start_line

ENCODER = LineEncoder()


class Disk:
    """Stands for ``os.fdatasync``; knows the names of what was synced, and may take its time or refuse."""

    def __init__(self) -> None:
        self.synced: list[str] = []
        self.pause = 0.0
        self.refuses = False

    def __call__(self, fd: int) -> None:
        if self.refuses:
            raise OSError(5, "Input/output error")
        self.synced.append(Path(f"/proc/self/fd/{fd}").readlink().name[:6])
        time.sleep(self.pause)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    made = Disk()
    monkeypatch.setattr(os, "fdatasync", made)
    return made


def span() -> ReadableSpan:
    made = TracerProvider(shutdown_on_exit=False).get_tracer("t").start_span("s")
    assert isinstance(made, ReadableSpan)
    return made


def write(journal: Journal) -> None:
    one = span()
    line = start_line(ENCODER, one, {})
    assert line is not None
    journal.start(key_of(one), line)
    journal.end(key_of(one), ENCODER.line(one, {}))


def test_sync_is_on_disk_before_the_call_returns_and_only_what_was_written(tmp_path: Path, disk: Disk) -> None:
    journal = Journal(tmp_path, "sync", 0.05)
    one = span()
    line = start_line(ENCODER, one, {})
    assert line is not None
    journal.start(key_of(one), line)
    assert disk.synced == [".start"]
    journal.end(key_of(one), ENCODER.line(one, {}))
    assert disk.synced == [".start", "spans-"]
    journal.close(0, keep=False)


def test_the_start_of_a_span_that_has_ended_needs_no_sync(tmp_path: Path, disk: Disk) -> None:
    journal = Journal(tmp_path, "group", 3600)
    write(journal)
    journal.sync()
    assert disk.synced == ["spans-", ".start"]  # the files are new
    write(journal)
    journal.sync()
    assert disk.synced[2:] == ["spans-"]
    one, two = span(), span()
    for each in (one, two):
        journal.start(key_of(each), start_line(ENCODER, each, {}) or b"")
    journal.end(key_of(two), ENCODER.line(two, {}))
    journal.sync()
    assert disk.synced[3:] == ["spans-", ".start"]  # one is open
    write(journal)
    journal.sync()
    assert disk.synced[5:] == ["spans-"]  # and on the disk
    journal.close(0, keep=False)


def test_calls_that_wait_at_the_same_time_share_a_sync(tmp_path: Path, disk: Disk) -> None:
    journal = Journal(tmp_path, "sync", 0.05)
    disk.pause = 0.02
    threads = [threading.Thread(target=write, args=(journal,)) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(disk.synced) < 24
    assert len(spans_in(tmp_path)) == 12
    journal.close(0, keep=False)


def test_group_does_not_wait_and_is_on_disk_soon(tmp_path: Path, disk: Disk) -> None:
    journal = Journal(tmp_path, "group", 0.05)
    disk.pause = 0.2
    start = time.monotonic()
    write(journal)
    assert time.monotonic() - start < 0.15
    wait_for(lambda: sorted(disk.synced) == [".start", "spans-"], 5)
    time.sleep(0.3)
    assert len(disk.synced) == 2  # nothing is written, nothing is synced
    journal.close(0, keep=False)


@pytest.mark.parametrize(("durability", "synced"), [("off", False), ("group", True)])
def test_the_end_of_the_process_syncs_what_is_left(
    durability: Durability, synced: bool, tmp_path: Path, disk: Disk
) -> None:
    journal = Journal(tmp_path, durability, 60)
    write(journal)
    assert disk.synced == []
    journal.close(0, keep=False)
    assert bool(disk.synced) is synced


@pytest.mark.parametrize("durability", ["group", "sync"])
def test_a_disk_that_does_not_sync_is_told_and_asked_again(durability: Durability, tmp_path: Path, disk: Disk) -> None:
    """The spans are written, so none is called lost."""
    told: list[OSError] = []
    journal = Journal(tmp_path, durability, 0.01, trouble=told.append)
    disk.refuses = True
    write(journal)
    wait_for(lambda: len(told) >= 1, 5)
    assert journal.failing
    disk.refuses = False
    write(journal)
    wait_for(lambda: {".start", "spans-"} <= set(disk.synced), 5)
    assert not journal.failing
    assert len(spans_in(tmp_path)) == 2
    journal.close(0, keep=False)


def test_a_child_that_lives_on_does_not_keep_its_dead_parents_files(tmp_path: Path) -> None:
    code = """
configure("a", export=sys.argv[1])
with run_span("agent"):
    span("parent")
    if os.fork() == 0:
        os.close(2)  # the test waits for the end of stderr
        os.close(1)
        span("child")
        time.sleep(4)
        os._exit(0)
    time.sleep(0.3)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    agent(code, str(tmp_path), expect=KILLED, environ={"SPANSEAL_METRICS": "off"})
    assert adopt_folder(tmp_path) == 1
    assert [one.name for one in spans_in(tmp_path) if one.attributes.get(semconv.OPEN)] == ["invoke_agent agent"]
    assert len(list(tmp_path.glob(".started-*"))) == 1
