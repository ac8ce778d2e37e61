"""Tail, writer and store together, without a socket: exactly once into a real store, over restarts and full disks."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.unit.sealer.sinks import MemorySealer, export

from spanseal.errors import StoreError, StoreLockedError, StoreStoppedError, UsageError
from spanseal.sealer.keys import SealerKeys, make_keys
from spanseal.sealer.seal import InputLine, Sealer, SealReport
from spanseal.sealer.service_address import bind, demand_token, parse_listen, read_token
from spanseal.sealer.service_store import open_writer
from spanseal.sealer.service_tail import Totals, seal_on, seal_once
from spanseal.sealer.tail import Tail


@pytest.fixture
def keys(tmp_path: Path) -> SealerKeys:
    return make_keys(tmp_path / "keys", tmp_path / "state")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "spans"
    folder.mkdir()
    return folder


def seal(store: Path, keys: SealerKeys, folder: Path) -> Totals:
    totals = Totals()
    with open_writer(store, keys) as writer:
        tail = Tail([folder], writer.position, bytes(32))
        seal_once(tail, Sealer(writer), totals)
        tail.close()
    return totals


def test_the_last_two_lines_cut_anywhere_are_sealed_once_by_a_real_store(
    tmp_path: Path, folder: Path
) -> None:
    lines = [export(number) + b"\n" for number in range(3)]
    whole = b"".join(lines)
    for cut in range(len(lines[0]), len(whole), 1 if os.environ.get("SPANSEAL_SOAK") else 41):
        store = tmp_path / f"store-{cut}"
        keys = make_keys(tmp_path / f"keys-{cut}", tmp_path / "state")
        (folder / "spans.jsonl").write_bytes(whole[:cut])
        first = seal(store, keys, folder)
        assert (first.spans, first.unparsable) == (whole[:cut].count(b"\n"), 0)
        with (folder / "spans.jsonl").open("ab") as file:
            file.write(whole[cut:])
        second = seal(store, keys, folder)
        assert (first.spans + second.spans, second.duplicates, second.unparsable) == (3, 0, 0)
        assert seal(store, keys, folder).spans == 0


def test_a_gap_is_sealed_and_what_follows_is_read_again(tmp_path: Path, keys: SealerKeys, folder: Path) -> None:
    file = folder / "spans.jsonl"
    file.write_bytes(export(1) + b"\n" + export(2) + b"\n")
    before = seal(tmp_path / "store", keys, folder)
    file.write_bytes(export(1) + b"\n")
    after = seal(tmp_path / "store", keys, folder)
    assert (after.spans, after.duplicates) == (0, 1)
    assert before.size is not None
    assert after.size is not None
    assert after.size > before.size
    again = seal(tmp_path / "store", keys, folder)
    assert (again.spans, again.duplicates, again.size) == (0, 0, None)


def test_a_second_sealer_is_refused_in_clear_words(tmp_path: Path, keys: SealerKeys) -> None:
    first, second = open_writer(tmp_path / "store", keys), open_writer(tmp_path / "store", keys)
    with first, pytest.raises(StoreLockedError, match="another sealer"), second:
        pass
    with open_writer(tmp_path / "store", keys) as writer:
        assert writer.size > 0


def follow(
    sealer: MemorySealer, tail: Tail, until: Callable[[], bool], act: Callable[[], object] = lambda: None
) -> Totals:
    totals, stop, turns = Totals(), threading.Event(), 0

    def after() -> None:
        nonlocal turns
        turns += 1
        if turns == 1:
            act()
        if until() or turns > 400:
            stop.set()

    seal_on(tail, sealer, totals, stop, after=after, interval=0.001)
    assert until()
    return totals


def test_following_seals_what_is_appended(folder: Path) -> None:
    sealer, file = MemorySealer(), folder / "spans.jsonl"
    file.write_bytes(export(1) + b"\n" + export(2)[:40])
    tail = Tail([folder], sealer.position, bytes(32))

    def append() -> None:
        with file.open("ab") as more:
            more.write(export(2)[40:] + b"\n")
        (folder / "later.jsonl").write_bytes(export(3) + b"\n")

    assert follow(sealer, tail, lambda: len(sealer.lines) == 3, append).spans == 3
    assert sorted(sealer.raws) == sorted(export(number) for number in (1, 2, 3))
    tail.close()


def test_a_full_disk_delays_what_is_followed_and_loses_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spanseal.sealer.service_tail.RETRY", 0.001)
    sealer = MemorySealer()
    sealer.failures.extend([*[StoreError("disk full")] * 3, OSError(28, "No space left")])
    (folder / "spans.jsonl").write_bytes(b"".join(export(number) + b"\n" for number in range(600)))
    tail = Tail([folder], sealer.position, bytes(32))
    assert follow(sealer, tail, lambda: len(sealer.lines) == 600).spans == 600
    assert sealer.raws == [export(number) for number in range(600)]
    tail.close()


def test_a_file_cut_short_while_followed_is_noted_once(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    sealer, file = MemorySealer(), folder / "spans.jsonl"
    file.write_bytes(export(1) + b"\n" + export(2) + b"\n")
    tail = Tail([folder], sealer.position, bytes(32))
    caplog.set_level("INFO")
    follow(sealer, tail, lambda: len(sealer.gaps) == 1, lambda: file.write_bytes(export(3) + b"\n"))
    assert sealer.gaps[0][1] == len(export(1)) + len(export(2)) + 2
    assert [record.getMessage().count("never truncate") for record in caplog.records] == [1]
    tail.close()


def test_a_gap_is_sealed_before_the_lines_that_took_its_place(folder: Path) -> None:
    class CrashingSealer(MemorySealer):
        def seal(self, lines: Sequence[InputLine]) -> SealReport:
            if self.gaps:
                raise StoreStoppedError("killed here")
            return super().seal(lines)

    sealer, file = CrashingSealer(), folder / "spans.jsonl"
    file.write_bytes(export(1) + b"\n" + export(2) + b"\n")
    tail = Tail([folder], sealer.position, bytes(32))
    seal_once(tail, sealer, Totals())
    file.write_bytes(export(3) + b"\n")
    with pytest.raises(StoreStoppedError):
        seal_once(tail, sealer, Totals())
    assert len(sealer.gaps) == 1
    tail.close()


def test_the_end_does_not_wait_for_the_whole_backlog(folder: Path) -> None:
    class EndingSealer(MemorySealer):
        def seal(self, lines: Sequence[InputLine]) -> SealReport:
            stop.set()
            return super().seal(lines)

    stop, sealer = threading.Event(), EndingSealer()
    (folder / "spans.jsonl").write_bytes(b"".join(export(number) + b"\n" for number in range(1000)))
    tail = Tail([folder], sealer.position, bytes(32))
    seal_on(tail, sealer, Totals(), stop, interval=0.001)
    assert 0 < len(sealer.lines) < 1000
    tail.close()


def test_a_stopped_store_ends_the_following(folder: Path) -> None:
    sealer = MemorySealer()
    sealer.failures.append(StoreStoppedError("fsync"))
    (folder / "spans.jsonl").write_bytes(export(1) + b"\n")
    tail = Tail([folder], sealer.position, bytes(32))
    with pytest.raises(StoreStoppedError):
        seal_on(tail, sealer, Totals(), threading.Event(), interval=0.001)
    tail.close()


@pytest.mark.parametrize("text", ["4320", ":4320", "host:", "host:x", "host:70000", "::1:4320", "host:-1", ""])
def test_a_listen_address_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="HOST:PORT"):
        parse_listen(text)


def test_off_loopback_a_token_is_demanded(tmp_path: Path) -> None:
    for host in ("0.0.0.0", "::", "192.168.1.5", "sealer", "127.example.com"):
        with pytest.raises(UsageError, match="SPANSEAL_TOKEN"):
            demand_token(host, None)
        demand_token(host, "t")
    for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost"):
        demand_token(host, None)


def test_a_token_file_holds_one_token(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("  s3cret\n")
    assert read_token(file) == "s3cret"
    for text in ("", "\n", "two words"):
        file.write_text(text)
        with pytest.raises(UsageError, match="token"):
            read_token(file)
    with pytest.raises(UsageError, match="cannot be read"):
        read_token(tmp_path / "missing")


def test_an_address_that_is_taken_is_refused_with_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(*_: object, **__: object) -> list[tuple[int]]:
        return [(socket.AF_INET,)]

    def taken(*_: object, **__: object) -> socket.socket:
        raise OSError(98, "Address already in use")

    monkeypatch.setattr("socket.getaddrinfo", found)
    monkeypatch.setattr("socket.create_server", taken)
    with pytest.raises(UsageError, match=r"127\.0\.0\.1:4320.*in use"):
        bind("127.0.0.1", 4320)
