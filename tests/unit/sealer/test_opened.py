"""Keys that opened a log never sign a second one under its name; a crash in between bricks neither keys nor store."""

from __future__ import annotations

import contextlib
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from spanseal.audit.store_disk import RealDisk
from spanseal.audit.tlog.checkpoint import Checkpoint
from spanseal.errors import SpansealError, TrustError, UsageError
from spanseal.sealer import opened
from spanseal.sealer.keys import SealerKeys, make_keys
from spanseal.sealer.opened import OpenedLog, opened_log
from spanseal.sealer.service_store import open_writer


class CrashError(Exception):
    """The process ends here."""


@pytest.fixture
def keys(tmp_path: Path) -> SealerKeys:
    return make_keys(tmp_path / "keys", tmp_path / "state", "example.com/log")


def head(store: Path, keys: SealerKeys) -> Checkpoint | None:
    with open_writer(store, keys) as writer:
        return writer.head


def word(keys: SealerKeys) -> str:
    return (keys.folder / "opened").read_text().split()[1]


def refused(store: Path, keys: SealerKeys) -> None:
    with pytest.raises(UsageError, match=r"opened a log already.*spanseal keygen"):
        head(store, keys)


def test_a_second_store_is_refused_and_nothing_is_made(tmp_path: Path, keys: SealerKeys) -> None:
    first = head(tmp_path / "a", keys)
    assert word(keys) == "published"
    refused(tmp_path / "b", keys)
    assert not (tmp_path / "b").exists()
    (tmp_path / "c").mkdir()
    refused(tmp_path / "c", keys)
    assert head(tmp_path / "a", keys) == first
    shutil.move(tmp_path / "a", tmp_path / "moved")
    assert head(tmp_path / "moved", keys) == first


def test_another_store_of_the_same_name_and_key_is_refused(tmp_path: Path, keys: SealerKeys) -> None:
    head(tmp_path / "a", keys)
    (keys.folder / "opened").unlink()
    other = head(tmp_path / "b", keys)
    assert other is not None
    before = (tmp_path / "a" / "checkpoint").read_bytes()
    refused(tmp_path / "a", keys)
    assert (tmp_path / "a" / "checkpoint").read_bytes() == before
    assert head(tmp_path / "b", keys) == other


def test_older_keys_learn_their_log_when_its_store_is_opened(tmp_path: Path, keys: SealerKeys) -> None:
    first = head(tmp_path / "a", keys)
    (keys.folder / "opened").unlink()
    assert head(tmp_path / "a", keys) == first
    assert word(keys) == "published"
    refused(tmp_path / "b", keys)


def crash_at(monkeypatch: pytest.MonkeyPatch, owner: object, name: str, call: int, *, after: bool) -> None:
    real: Callable[..., object] = getattr(owner, name)
    left = call

    def dying(*args: object, **more: object) -> object:
        nonlocal left
        left -= 1
        if left == 0 and not after:
            raise CrashError
        result = real(*args, **more)
        if left == 0:
            raise CrashError
        return result

    monkeypatch.setattr(owner, name, dying)


STEPS = [
    (owner, name, call, after)
    for owner, name, calls in [
        (RealDisk, "append", 3),
        (RealDisk, "sync", 3),
        (RealDisk, "sync_folder", 4),
        (RealDisk, "replace", 1),
        (opened, "replace_file", 2),
        (OpenedLog, "leaf0", 1),
        (OpenedLog, "published", 1),
    ]
    for call in range(1, calls + 1)
    for after in (False, True)
]


@pytest.mark.parametrize(("owner", "name", "call", "after"), STEPS)
def test_a_crash_anywhere_in_the_first_opening_bricks_nothing(
    owner: object, name: str, call: int, after: bool, tmp_path: Path, keys: SealerKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        crash_at(patched, owner, name, call, after=after)
        with contextlib.suppress(CrashError, SpansealError):
            head(tmp_path / "a", keys)
    if (tmp_path / "a" / "checkpoint").exists():
        assert (keys.folder / "opened").exists()  # remembered before it was signed
    assert head(tmp_path / "a", keys) is not None
    assert word(keys) == "published"
    refused(tmp_path / "b", keys)


@pytest.mark.parametrize("call", [1, 2])
def test_keys_whose_first_store_was_lost_before_a_head_was_out_may_begin_again(
    call: int, tmp_path: Path, keys: SealerKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        if call == 1:
            crash_at(patched, opened, "replace_file", 1, after=True)
        else:
            crash_at(patched, RealDisk, "replace", 1, after=False)
        with pytest.raises(CrashError):
            head(tmp_path / "a", keys)
    assert word(keys) == "begun"
    shutil.rmtree(tmp_path / "a")
    (tmp_path / "a").mkdir()
    assert head(tmp_path / "a", keys) is not None
    assert word(keys) == "published"


def test_two_first_stores_at_once_give_one_log(tmp_path: Path, keys: SealerKeys) -> None:
    outcomes: list[str] = []
    start = threading.Barrier(4)

    def begin(name: str) -> None:
        start.wait()
        try:
            head(tmp_path / name, keys)
            outcomes.append("opened")
        except UsageError:
            outcomes.append("refused")

    threads = [threading.Thread(target=begin, args=[name]) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["opened", "refused", "refused", "refused"]


@pytest.mark.parametrize("text", ["", "x\n", "0" * 64 + "\n", "0" * 64 + " begun", "0" * 64 + " other\n"])
def test_a_damaged_memory_is_refused_naming_the_file(text: str, tmp_path: Path, keys: SealerKeys) -> None:
    (keys.folder / "opened").write_text(text)
    with pytest.raises(TrustError, match="opened: line 1"), opened_log(keys.folder, tmp_path / "a"):
        pass
