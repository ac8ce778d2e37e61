"""Everyone is answered after the seal, with its outcome; one sender's fault is not another's."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.unit.sealer.sinks import MemorySealer, export

from spanseal.errors import StoreError, StoreStoppedError
from spanseal.sealer.group_commit import GroupCommit
from spanseal.sealer.seal import InputLine


@pytest.fixture
def sealer() -> MemorySealer:
    return MemorySealer()


@pytest.fixture
def commit(sealer: MemorySealer) -> Iterator[GroupCommit]:
    commit = GroupCommit(sealer, sealer.position)
    yield commit
    sealer.gate.set()
    commit.close()


def test_what_waits_together_is_sealed_together_and_offsets_join(sealer: MemorySealer, commit: GroupCommit) -> None:
    sealer.gate.clear()
    first = commit.body(export(0))
    assert sealer.entered.wait(10)
    rest = [commit.body(export(number)) for number in range(1, 50)]
    sealer.gate.set()
    assert all(future.result(10).unparsable == 0 for future in [first, *rest])
    assert len(sealer.groups) < 10
    assert sealer.raws == [export(number) for number in range(50)]
    at = 0
    for line in sealer.lines:
        assert (line.source, line.start, line.end) == ("http", at, at + len(line.raw))
        at = line.end
    assert commit.waiting_bytes == 0
    assert commit.counters["sealed_spans"] == 50


def test_nobody_is_answered_before_the_seal(sealer: MemorySealer, commit: GroupCommit) -> None:
    sealer.gate.clear()
    future = commit.body(b"x")
    assert sealer.entered.wait(10)
    assert not future.done()
    assert commit.waiting_bytes == 1
    assert future.cancel() is False
    sealer.gate.set()
    assert future.result(10).unparsable == 1


def test_a_full_disk_fails_the_group_and_the_next_try_seals_it_at_the_same_place(
    sealer: MemorySealer, commit: GroupCommit
) -> None:
    sealer.failures.append(StoreError("full"))
    with pytest.raises(StoreError, match="full"):
        commit.body(b"abc").result(10)
    commit.body(b"abc").result(10)
    assert sealer.lines == [InputLine("http", 0, 3, b"abc")]


def test_an_unforeseen_fault_is_only_its_senders(sealer: MemorySealer, commit: GroupCommit) -> None:
    sealer.poison = b"poison"
    sealer.gate.clear()
    first = commit.body(export(0))
    assert sealer.entered.wait(10)
    good, bad, other = commit.body(export(1)), commit.body(b"poison"), commit.body(export(2))
    sealer.gate.set()
    with pytest.raises(ValueError, match="fault"):
        bad.result(10)
    assert [future.result(10).spans > 0 for future in (first, good, other)] == [True] * 3
    assert sorted(sealer.raws) == sorted(export(number) for number in range(3))


def test_a_stopped_store_takes_nothing_any_more(sealer: MemorySealer, commit: GroupCommit) -> None:
    sealer.failures.append(StoreStoppedError("fsync failed"))
    for body in (b"a", b"b"):
        with pytest.raises(StoreStoppedError, match="fsync"):
            commit.body(body).result(10)
    assert str(commit.stopped) == "fsync failed"
    assert sealer.lines == []


def test_closing_seals_what_waits_and_refuses_what_comes_later(sealer: MemorySealer, commit: GroupCommit) -> None:
    sealer.gate.clear()
    waiting = [commit.body(bytes([65 + number])) for number in range(20)]
    closer = threading.Thread(target=commit.close)
    closer.start()
    sealer.gate.set()
    closer.join(10)
    assert all(future.result(10).size for future in waiting)
    with pytest.raises(StoreError, match="stopping"):
        commit.body(b"late").result(10)
    assert b"".join(sealer.raws) == bytes(range(65, 85))


def test_files_gaps_and_bodies_share_one_order(sealer: MemorySealer, commit: GroupCommit) -> None:
    lines = [InputLine("file:1", 0, 2, b"a"), InputLine("file:1", 2, 4, b"b")]
    assert commit.seal(lines).unparsable == 2
    commit.note_gap("file:1", 4, 9, "cut")
    commit.body(b"c").result(10)
    assert sealer.raws == [b"a", b"b", b"c"]
    assert sealer.gaps == [("file:1", 4, 9, "cut")]


def test_many_threads_at_once_lose_nothing(sealer: MemorySealer, commit: GroupCommit) -> None:
    def send(number: int) -> None:
        commit.body(b"%d" % number).result(20)

    with ThreadPoolExecutor(8) as pool:
        for future in [pool.submit(send, number) for number in range(400)]:
            future.result(20)
    assert sorted(map(int, sealer.raws)) == list(range(400))
    assert [line.start for line in sealer.lines] == [0, *[line.end for line in sealer.lines[:-1]]]
