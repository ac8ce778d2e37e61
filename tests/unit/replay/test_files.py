"""Folders of export files: which are read, in which order, and what is said about the rest."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.replay.recorded import Span, line

from spanseal.errors import ReplayError
from spanseal.genai import semconv as sc
from spanseal.replay.sources import open_source
from spanseal.replay.sources.base import NoteLog
from spanseal.replay.sources.files import FileSource


def one(number: int, **attributes: str) -> bytes:
    return line(Span(f"{number:016x}", f"span {number}", number, number + 1, attributes=dict(attributes)))


def names(source: FileSource) -> list[str]:
    return [span.name for span in source.spans()]


def test_a_missing_path_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(ReplayError, match=r"no such file or folder.*audit store.*\.jsonl"):
        open_source(tmp_path / "nowhere")


def test_an_empty_folder_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(ReplayError, match="there is: nothing"):
        open_source(tmp_path)


def test_a_folder_without_exports_says_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(ReplayError, match=r"there is: notes\.txt"):
        open_source(tmp_path)


def test_rotated_files_come_before_the_live_one(tmp_path: Path) -> None:
    rotated = ["s-2026-11-30T10-00-00.000-size.jsonl", "s-2026-11-30T11-00-00.000.jsonl"]
    order = [*rotated, "s.jsonl.2", "s.jsonl.1", "s.jsonl"]
    for number, name in reversed(list(enumerate(order))):
        (tmp_path / name).write_bytes(one(number + 1))
    assert names(FileSource(tmp_path)) == ["span 1", "span 2", "span 3", "span 4", "span 5"]


def test_unknown_files_are_left_with_a_note(tmp_path: Path) -> None:
    (tmp_path / "spans.jsonl").write_bytes(one(1))
    (tmp_path / "spans.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd")
    (tmp_path / "readme.md").write_text("hello")
    (tmp_path / "sub").mkdir()
    (tmp_path / "folder.jsonl").mkdir()
    (tmp_path / ".hidden").write_text("x")
    source = FileSource(tmp_path)
    assert names(source) == ["span 1"]
    assert {note.where: note.meaning for note in source.notes} == {
        "folder.jsonl": "a folder, not read; name it as the source if it holds spans",
        "readme.md": "no export file (.jsonl, .json), not read",
        "spans.jsonl.zst": "not read: unpack it to JSON lines first",
        "sub": "a folder, not read; name it as the source if it holds spans",
    }


def test_a_file_by_any_name_is_read_when_it_is_named(tmp_path: Path) -> None:
    file = tmp_path / "export.log"
    file.write_bytes(one(1))
    assert names(FileSource(file)) == ["span 1"]


def test_a_span_that_came_twice_is_taken_once(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(one(1) + one(2) + one(1))
    (tmp_path / "b.jsonl").write_bytes(one(1))
    source = FileSource(tmp_path)
    assert names(source) == ["span 1", "span 2"]
    assert [(note.kind, note.meaning) for note in source.notes] == [
        ("duplicate", "2 spans came more than once; taken once")
    ]


def test_the_same_span_through_another_encoder_is_no_conflict(tmp_path: Path) -> None:
    span = Span("1" * 16, "a", 1, 2, attributes={"x": 1, "y": "z"})
    again = Span("1" * 16, "a", 1, 2, attributes={"y": "z", "x": 1})
    file = tmp_path / "a.jsonl"
    file.write_bytes(line(span) + line(again, resource={"collector": "x"}).replace(b'":', b'" : '))
    source = FileSource(file)
    assert names(source) == ["a"]
    assert [note.kind for note in source.notes] == ["duplicate"]


def test_two_contents_under_the_same_ids_are_both_kept(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_bytes(one(1, x="a") + one(1, x="b") + one(1, x="a"))
    source = FileSource(file)
    assert [span.conflict for span in source.read()] == [False, True]
    assert [(note.kind, note.where) for note in source.notes] == [
        ("conflict", f"a.jsonl, byte {len(one(1, x='a'))}"),
        ("duplicate", "a.jsonl"),
    ]


def test_an_open_span_that_ended_after_all_is_no_conflict(tmp_path: Path) -> None:
    still = Span("1" * 16, "a", 1, None, attributes={sc.OPEN: True})
    ended = Span("1" * 16, "a", 1, 2)
    for data in (line(still) + line(ended), line(ended) + line(still)):
        (tmp_path / "a.jsonl").write_bytes(data)
        source = FileSource(tmp_path)
        assert not any(span.conflict for span in source.read())


def test_every_reading_starts_anew(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(one(1) + b"broken\n")
    source = FileSource(tmp_path)
    assert names(source) == names(source) == ["span 1"]
    assert len(source.notes) == 1


def test_neighbouring_broken_lines_are_one_note(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(one(1) + b"broken\n" * 5000 + one(2))
    source = FileSource(tmp_path)
    assert names(source) == ["span 1", "span 2"]
    start = len(one(1))
    assert [note.where for note in source.notes] == [f"a.jsonl, bytes {start}-{start + 7 * 5000}"]


def test_notes_are_bounded() -> None:
    log = NoteLog()
    for number in range(5000):
        log.add("odd", str(number), "x")
    assert len(log.all()) == 1001
    assert log.all()[-1].meaning.startswith("4000 further notes")
