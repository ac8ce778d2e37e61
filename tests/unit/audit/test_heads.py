"""The memory of heads: grows only, is replaced in one step, and is never silently begun anew."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from spanseal.audit.heads import HeadMemory
from spanseal.audit.tlog.checkpoint import Checkpoint
from spanseal.errors import TrustError

A, B = "example.com/a", "example.com/b"


def test_the_largest_head_per_log_is_kept(tmp_path: Path) -> None:
    memory = HeadMemory(tmp_path / "deep" / "heads.json")
    assert memory.last(A) is None
    memory.remember(Checkpoint(A, 5, bytes(32)))
    memory.remember(Checkpoint(B, 9, bytes([1]) * 32))
    memory.remember(Checkpoint(A, 3, bytes([2]) * 32))
    memory.remember(Checkpoint(A, 5, bytes([3]) * 32))
    again = HeadMemory(memory.path)
    assert again.last(A) == Checkpoint(A, 5, bytes(32))
    assert again.last(B) == Checkpoint(B, 9, bytes([1]) * 32)
    memory.remember(Checkpoint(A, 6, bytes([4]) * 32))
    assert again.last(A) == Checkpoint(A, 6, bytes([4]) * 32)


def test_which_log_a_folder_held_is_kept(tmp_path: Path) -> None:
    memory, store = HeadMemory(tmp_path / "heads.json"), tmp_path / "store"
    memory.remember(Checkpoint(A, 5, bytes(32)))
    assert memory.origin_at(store) == ""
    memory.remember(Checkpoint(A, 5, bytes(32)), store)
    memory.remember(Checkpoint(A, 3, bytes(32)), tmp_path / "x" / ".." / "older")
    again = HeadMemory(memory.path)
    assert (again.origin_at(store), again.origin_at(tmp_path / "older"), again.origin_at(tmp_path)) == (A, A, "")
    memory.remember(Checkpoint(B, 1, bytes(32)), store)
    assert (again.origin_at(store), again.last(A)) == (B, Checkpoint(A, 5, bytes(32)))


def test_a_memory_from_before_folders_were_kept(tmp_path: Path) -> None:
    memory = HeadMemory(tmp_path / "heads.json")
    memory.path.write_text('{"version": 1, "heads": {}}')
    assert memory.origin_at(tmp_path) == ""
    memory.remember(Checkpoint(A, 5, bytes(32)), tmp_path)
    assert memory.origin_at(tmp_path) == A


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b"\xff", b'{"version": 2, "heads": {}}', b'{"version": 1}',
        b'{"version": 1, "heads": {"a": 1}}', b'{"version": 1, "heads": {}, "places": []}',
        b'{"version": 1, "heads": {}, "places": {"a": 1}}',
        b'{"version": 1, "heads": {"a": {"size": true, "root": "x"}}}',
        b'{"version": 1, "heads": {"a": {"size": 1, "root": "AAAA"}}}',
    ],
)  # fmt: skip
def test_a_damaged_memory_is_an_error_that_names_it(tmp_path: Path, content: bytes) -> None:
    memory = HeadMemory(tmp_path / "heads.json")
    memory.path.write_bytes(content)
    for call in (lambda: memory.last(A), lambda: memory.remember(Checkpoint(A, 5, bytes(32)))):
        with pytest.raises(TrustError, match=r"heads\.json"):
            call()
    assert memory.path.read_bytes() == content


def test_a_memory_that_cannot_be_kept_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(TrustError, match="cannot be"):
        HeadMemory(tmp_path / "file" / "heads.json").remember(Checkpoint(A, 5, bytes(32)))


def test_the_file_is_plain_json(tmp_path: Path) -> None:
    memory = HeadMemory(tmp_path / "heads.json")
    memory.remember(Checkpoint(A, 5, bytes(32)))
    assert json.loads(memory.path.read_bytes())["heads"][A]["size"] == 5
