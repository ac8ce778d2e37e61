"""Whoever may write into the export folder decides what lies there, not what else the sealer reads."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from tests.unit.sealer.sinks import MemorySealer
from tests.unit.sealer.test_tail import Store, line

from spanseal.sealer import tail as tail_module
from spanseal.sealer.service_tail import Totals, seal_on
from spanseal.sealer.tail import Tail
from spanseal.sealer.tail_files import ExportFile, Unread, discover


@pytest.fixture
def store() -> Iterator[Store]:
    store = Store()
    yield store
    store.close()


@pytest.mark.parametrize("place", ["outside", "missing", "loop"])
def test_a_link_out_of_the_folder_is_not_followed_and_said(tmp_path: Path, store: Store, place: str) -> None:
    folder = tmp_path / "export"
    folder.mkdir()
    (tmp_path / "outside").write_bytes(b"what only the sealer may read\n")
    (folder / "spans.jsonl").write_bytes(line(1) + b"\n")
    (folder / "more.jsonl").symlink_to(folder / "more.jsonl" if place == "loop" else tmp_path / place)
    tail = store.tail(folder)
    assert store.drain(tail) == [line(1)]
    assert [unread.path.name for unread in tail.unread] == ["more.jsonl"]


def test_links_within_the_folder_and_named_ones_are_followed_once(tmp_path: Path, store: Store) -> None:
    real, other = tmp_path / "real", tmp_path / "other"
    real.mkdir()
    other.mkdir()
    (real / "spans.data").write_bytes(line(1) + b"\n")
    (real / "current.jsonl").symlink_to("spans.data")
    (other / "link.jsonl").symlink_to(real / "spans.data")
    (tmp_path / "folder").symlink_to(real)
    tail = store.tail(tmp_path / "folder", other / "link.jsonl", real)
    assert store.drain(tail) == [line(1)]
    assert tail.unread == []


def test_a_pipe_in_a_listed_files_place_is_not_waited_for(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "spans.jsonl"
    file.write_bytes(line(1) + b"\n")
    listed = discover([tmp_path])
    file.unlink()
    os.mkfifo(file)

    def still_listed(_paths: Iterable[Path]) -> tuple[list[ExportFile], list[Unread]]:
        return listed

    monkeypatch.setattr(tail_module, "discover", still_listed)
    assert store.drain(store.tail(tmp_path)) == []


def test_a_files_name_writes_no_lines_into_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "x\n2026 ERROR all is lost\x1b[2J.jsonl").symlink_to("/dev/null")
    stop, sealer = threading.Event(), MemorySealer()
    tail = Tail([tmp_path], sealer.position, bytes(32))
    seal_on(tail, sealer, Totals(), stop, after=stop.set)
    (said,) = [record.getMessage() for record in caplog.records]
    assert said.isprintable()
    assert "all is lost" in said


def test_a_file_begun_anew_with_the_same_first_line_is_read_again(tmp_path: Path, store: Store) -> None:
    file = tmp_path / "spans.jsonl"
    file.write_bytes(b"".join(line(number) + b"\n" for number in (1, 2, 3)))
    tail = store.tail(file)
    assert store.drain(tail) == [line(1), line(2), line(3)]
    file.write_bytes(b"".join(line(number) + b"\n" for number in (1, 2, 4, 5)))  # same inode, equal lengths
    assert store.drain(tail) == [line(1), line(2), line(4), line(5)]
    assert len(tail.gaps) == 1
    with file.open("ab") as more:
        more.write(line(6) + b"\n")
    assert store.drain(tail) == [line(6)]
