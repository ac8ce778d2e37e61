"""Something else in the place of a file, or beside the files: it is named, at once, whatever it is."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.attacks.store_kit import Kit, codes, three_batches

from spanseal.audit.store_scan import next_whole_frame
from spanseal.audit.verify import Verdict, verify_store
from spanseal.errors import SpansealError
from spanseal.replay.reader import RunReader

FILES = (
    "checkpoint",
    "checkpoints.log",
    "lock",
    "seg/00000000000000000000.seg",
    "tile/0/000.p/2",
    "tile/entries/000.p/2",
)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Kit:
    return three_batches(tmp_path_factory.mktemp("odd"))


@pytest.fixture
def kit(sound: Kit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kit:
    monkeypatch.setattr("spanseal.audit.verify_heads._PAUSE", 0)
    shutil.copytree(sound.store, tmp_path / "store")
    return Kit(tmp_path)


def folder(path: Path) -> None:
    path.mkdir()


def full_folder(path: Path) -> None:
    path.mkdir()
    (path / "file").write_bytes(b"x")


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


ODD: tuple[Callable[[Path], None], ...] = (folder, full_folder, os.mkfifo, endless)


def at_once(judge: Callable[[], Verdict]) -> Verdict:
    """A reader that waits for a pipe waits for ever: then the test fails instead."""
    found: list[Verdict] = []
    thread = threading.Thread(target=lambda: found.append(judge()), daemon=True)
    thread.start()
    thread.join(10)
    assert found, "no verdict within 10 s"
    return found[0]


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", FILES)
def test_something_else_in_a_files_place(kit: Kit, name: str, odd: Callable[[Path], None]) -> None:
    (kit.store / name).unlink()
    odd(kit.store / name)
    verdict = at_once(kit.verify)
    assert verdict.exit_code == 1
    assert name in " ".join(item.where for item in verdict.findings if item.weight == "bad")


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("name", ["more", "seg/more", "seg/00000000000000000099.seg", "checkpoint.tmp", ".hidden"])
def test_something_beside_the_files(kit: Kit, name: str, odd: Callable[[Path], None]) -> None:
    odd(kit.store / name)
    assert codes(at_once(kit.verify)) == {"unknown-file"}


@pytest.mark.parametrize("name", ["log.key", "seg/log.key", "tile/log.key", "idx/log.key", "idx/.run.key"])
@pytest.mark.parametrize("start", [b"PRIVATE+KEY+example.com/log+", b"-----BEGIN PRIVATE KEY-----", b"SSK1\x01"])
def test_a_key_in_the_store_is_called_one(kit: Kit, name: str, start: bytes) -> None:
    (kit.store / name).write_bytes(start)
    bad = [(item.code, item.where) for item in kit.verify().findings if item.weight == "bad"]
    assert ("key-inside-store", name) in bad or (name.startswith("tile") and ("unknown-file", name) in bad)


def test_a_pipe_for_a_head_holds_no_reader_up(kit: Kit) -> None:
    (kit.store / "checkpoint").unlink()
    os.mkfifo(kit.store / "checkpoint")
    with pytest.raises(SpansealError):
        RunReader.open(kit.store)


def test_a_segment_that_grew_without_end_is_not_read_into_memory(kit: Kit) -> None:
    segment = kit.store / "seg" / "00000000000000000000.seg"
    size = segment.stat().st_size
    os.truncate(segment, 200 << 20)
    assert next_whole_frame(segment, size) is None
    verdict = verify_store(kit.store, None, None)
    assert "torn-tail" in codes(verdict, "unknown")


@pytest.mark.parametrize("gap", [0, 1, 3, (1 << 20) - 4, (1 << 20) - 2, 1 << 20, (1 << 20) + 1])
def test_the_next_frame_is_found_behind_whatever_lies_before_it(kit: Kit, gap: int) -> None:
    segment = kit.store / "seg" / "00000000000000000000.seg"
    whole = segment.read_bytes()
    segment.write_bytes(b"SSF1" + b"S" * gap + whole)
    assert next_whole_frame(segment, 0) == (4 + gap, 0)
