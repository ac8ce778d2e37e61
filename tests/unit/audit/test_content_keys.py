"""Content keys: on disk before use, private to their owner, gone for good when forgotten."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from spanseal.audit.content_keys import ContentKeys, key_file_name
from spanseal.errors import TrustError

RUN = "run:" + "ab" * 16


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def test_a_key_is_made_once_and_stays(folder: Path) -> None:
    keys = ContentKeys(folder)
    assert keys.key_for(RUN) is None
    assert list(folder.iterdir()) == [], "reading never creates"
    key = keys.key_for(RUN, create=True)
    assert key is not None
    assert len(key) == 32
    assert ContentKeys(folder).key_for(RUN) == key
    (path,) = folder.iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert ContentKeys(folder).ensure((RUN, "trace:" + "0" * 32))[RUN] == key


def test_keys_are_random_and_of_one_scope_each(folder: Path) -> None:
    made = ContentKeys(folder).ensure([f"run:{number:032x}" for number in range(20)])
    assert len(set(made.values())) == 20


@pytest.mark.parametrize("scope", ["run:../../etc/passwd", "run:" + "A" * 96, "run#" + "a" * 64, "raw:ü", "run:COM1"])
def test_any_scope_has_a_plain_file_name(folder: Path, scope: str) -> None:
    name = key_file_name(scope)
    assert name == Path(name).name
    assert name.isascii()
    assert name == name.lower()
    key = ContentKeys(folder).key_for(scope, create=True)
    assert ContentKeys(folder).key_for(scope) == key


def test_a_forgotten_key_never_comes_back(folder: Path) -> None:
    keys = ContentKeys(folder)
    key = keys.key_for(RUN, create=True)
    assert key is not None
    (path,) = folder.iterdir()
    with path.open("rb") as still_open:
        assert keys.forget(RUN)
        assert key not in still_open.read(), "the old file's bytes are overwritten"
    for fresh in (keys, ContentKeys(folder)):
        assert fresh.forgotten(RUN)
        assert fresh.key_for(RUN) is None
        assert fresh.key_for(RUN, create=True) is None
        assert fresh.ensure((RUN,)) == {RUN: None}
        assert not fresh.forget(RUN)
    assert key not in path.read_bytes()


def test_forgetting_before_there_was_a_key_keeps_it_from_being_made(folder: Path) -> None:
    assert not ContentKeys(folder).forget(RUN)
    assert ContentKeys(folder).key_for(RUN, create=True) is None


def test_every_damaged_byte_is_an_error_that_names_the_file(folder: Path) -> None:
    ContentKeys(folder).key_for(RUN, create=True)
    (path,) = folder.iterdir()
    sound = path.read_bytes()
    for at in range(len(sound)):
        path.write_bytes(sound[:at] + bytes([sound[at] ^ 1]) + sound[at + 1 :])
        with pytest.raises(TrustError, match=path.name):
            ContentKeys(folder).key_for(RUN)
    path.write_bytes(sound[:-1])
    with pytest.raises(TrustError, match="damaged"):
        ContentKeys(folder).ensure((RUN,))


def test_a_key_file_under_another_name_is_refused(folder: Path) -> None:
    ContentKeys(folder).key_for(RUN, create=True)
    (path,) = folder.iterdir()
    other = "run:" + "cd" * 16
    path.rename(folder / key_file_name(other))
    with pytest.raises(TrustError, match=f"it is the key of {RUN}"):
        ContentKeys(folder).key_for(other)


def test_what_another_process_forgot_is_noticed(folder: Path) -> None:
    sealer = ContentKeys(folder)
    assert sealer.ensure((RUN,))[RUN] is not None
    ContentKeys(folder).forget(RUN)
    assert sealer.ensure((RUN,)) == {RUN: None}
