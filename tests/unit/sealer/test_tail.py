"""Export files as they really end up: cut anywhere, rotated, truncated, glued, torn, gone. Every line once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanseal.errors import UsageError
from spanseal.records.export_files import is_rotated
from spanseal.sealer import tail as tail_module
from spanseal.sealer import tail_lines as lines_module
from spanseal.sealer.seal import InputLine
from spanseal.sealer.tail import BATCH_BYTES, BATCH_LINES, Tail
from spanseal.sealer.tail_files import demand, discover
from spanseal.sealer.tail_lines import split_glued


def line(number: int) -> bytes:
    return b'{"resourceSpans":[{"n":%d}]}' % number


class Store:
    """What a store remembers of its input: the lines, and how far each source was sealed."""

    def __init__(self) -> None:
        self.positions: dict[str, int] = {}
        self.lines: list[InputLine] = []
        self.tails: list[Tail] = []

    def position(self, source: str) -> int:
        return self.positions.get(source, 0)

    def drain(self, tail: Tail) -> list[bytes]:
        raws: list[bytes] = []
        for batch in tail.poll():
            for item in batch:
                assert item.end - item.start - len(item.raw) in (0, 1)
                self.positions[item.source] = item.end
                self.lines.append(item)
                raws.append(item.raw)
        return raws

    def tail(self, *paths: Path) -> Tail:
        self.tails.append(Tail(paths, self.position, bytes(32)))
        return self.tails[-1]

    def close(self) -> None:
        for tail in self.tails:
            tail.close()

    @property
    def raws(self) -> list[bytes]:
        return [item.raw for item in self.lines]


@pytest.fixture
def store() -> Iterator[Store]:
    store = Store()
    yield store
    store.close()


@pytest.mark.parametrize("restart", [True, False])
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_every_cut_of_the_last_two_lines_seals_complete_lines_only_and_the_rest_once(
    tmp_path: Path, restart: bool, ending: bytes
) -> None:
    lines = [line(1), line(2), line(33)]
    whole = b"".join(item + ending for item in lines)
    for cut in range(len(lines[0] + ending), len(whole) + 1):
        folder = tmp_path / str(cut)
        folder.mkdir()
        file = folder / "spans.jsonl"
        file.write_bytes(whole[:cut])
        store = Store()
        tail = store.tail(folder)
        complete = whole[:cut].count(b"\n")
        assert [raw.rstrip() for raw in store.drain(tail)] == lines[:complete]
        assert sum(torn.size for torn in tail.torn) == cut - len(ending.join([*lines[:complete], b""]))
        with file.open("ab") as appended:
            appended.write(whole[cut:])
        if restart:
            tail.close()
            tail = store.tail(folder)
        store.drain(tail)
        assert [raw.rstrip() for raw in store.raws] == lines
        assert store.drain(tail) == []
        assert tail.torn == []
        tail.close()


@given(st.lists(st.binary(max_size=40).map(lambda raw: raw.replace(b"\n", b".")), max_size=8), st.data())
def test_any_bytes_in_any_portions_come_out_once_and_in_order(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes], data: st.DataObject
) -> None:
    whole = b"".join(piece + b"\n" for piece in pieces)
    file = tmp_path_factory.mktemp("portions") / "spans.jsonl"
    file.write_bytes(b"")
    store, at = Store(), 0
    while at < len(whole):
        step = data.draw(st.integers(1, len(whole) - at))
        with file.open("ab") as appended:
            appended.write(whole[at : at + step])
        at += step
        tail = store.tail(file)
        store.drain(tail)
        tail.close()
    assert store.raws == [piece for piece in pieces if piece.strip()]


def test_a_rotated_file_is_read_to_its_end_under_its_new_name_and_the_new_file_from_its_start(
    tmp_path: Path, store: Store
) -> None:
    live = tmp_path / "spans.jsonl"
    live.write_bytes(line(1) + b"\n" + line(2))
    tail = store.tail(live)
    assert store.drain(tail) == [line(1)]
    live.rename(tmp_path / "spans-2026-11-30T15-04-05.000-size.jsonl")
    live.write_bytes(b"\n" + line(3) + b"\n")
    assert store.drain(tail) == [line(2), line(3)]
    assert store.drain(tail) == []
    assert tail.gaps == []
    assert store.drain(store.tail(tmp_path)) == []


def test_files_rotated_between_two_starts_are_not_sealed_again(tmp_path: Path, store: Store) -> None:
    live = tmp_path / "spans.jsonl"
    for number in range(5):
        live.write_bytes(line(number) + b"\n")
        store.drain(store.tail(tmp_path))
        live.rename(tmp_path / f"spans-2026-11-30T15-04-0{number}.000-size.jsonl")
    assert store.drain(store.tail(tmp_path)) == []
    assert store.raws == [line(number) for number in range(5)]


@pytest.mark.parametrize("restart", [True, False])
def test_a_file_cut_short_is_a_gap_and_is_read_again_under_a_name_of_its_own(
    tmp_path: Path, store: Store, restart: bool
) -> None:
    file = tmp_path / "spans.jsonl"
    file.write_bytes(line(1) + b"\n" + line(2) + b"\n" + line(3) + b"\ntorn")
    tail = store.tail(file)
    store.drain(tail)
    sealed = file.stat().st_size - 4
    with file.open("r+b") as cut:
        cut.truncate(len(line(1)) + 1)
    if restart:
        tail.close()
        tail = store.tail(file)
    store.drain(tail)
    assert [(gap.sealed, gap.seen) for gap in tail.gaps] == [(sealed, sealed if restart else sealed + 4)]
    with file.open("ab") as appended:
        appended.write(line(4) + b"\n" + line(5) + b"\n" + line(6) + b"\n" + line(7) + b"\n")
    assert store.drain(tail) == [line(number) for number in (4, 5, 6, 7)]
    tail.close()
    again = store.tail(file)
    assert store.drain(again) == []
    assert again.gaps == []


def test_an_exporter_that_truncates_at_its_start_loses_nothing_that_can_still_be_read(
    tmp_path: Path, store: Store
) -> None:
    file = tmp_path / "spans.jsonl"
    file.write_bytes(line(1) + b"\n" + line(2) + b"\n")
    tail = store.tail(file)
    store.drain(tail)
    file.write_bytes(line(8) + b"\n" + line(9) + b"\n" + line(10) + b"\n")
    assert store.drain(tail) == [line(8), line(9), line(10)]
    assert len(tail.gaps) == 1


def test_nul_runs_and_blank_lines_stop_nothing(tmp_path: Path, store: Store) -> None:
    file = tmp_path / "spans.jsonl"
    file.write_bytes(line(1) + b"\n\n \r\n" + bytes(5000) + b"\n" + bytes(100) + line(2) + b"\n")
    tail = store.tail(file)
    assert store.drain(tail) == [line(1), bytes(5000), bytes(100), line(2)]
    assert tail.blank == 2


def span_line(number: int) -> bytes:
    return (
        b'{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"%032x","spanId":"%016x","name":"n",'
        b'"startTimeUnixNano":"1","endTimeUnixNano":"2"}]}]}]}' % (number, number)
    )


def test_documents_on_one_line_are_parted_and_the_broken_one_is_kept() -> None:
    torn = span_line(1)[:60]
    raw = torn + span_line(2) + span_line(3)
    parts = split_glued(InputLine("s", 10, 10 + len(raw) + 1, raw))
    assert [part.raw for part in parts] == [torn, span_line(2), span_line(3)]
    assert [part.start for part in parts] == [10, 70, 70 + len(span_line(2))]
    assert parts[-1].end == 10 + len(raw) + 1
    assert b"".join(part.raw for part in parts) == raw


def test_a_mark_within_a_readable_document_parts_nothing() -> None:
    raw = span_line(1)[:-1] + b',"x":{"resourceSpans":[]}}'
    assert split_glued(InputLine("s", 0, len(raw), raw)) == (InputLine("s", 0, len(raw), raw),)


def test_parts_of_one_line_are_never_in_two_batches(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail_module, "BATCH_LINES", 3)
    file = tmp_path / "spans.jsonl"
    file.write_bytes(b"".join(span_line(n)[:50] + span_line(n) + b"\n" for n in range(5)))
    batches = list(store.tail(file).poll())
    assert [len(batch) for batch in batches] == [2, 2, 2, 2, 2]


def test_batches_are_bounded_by_bytes_and_lines_and_memory_by_pieces(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "spans.jsonl"
    file.write_bytes(b"x\n" * (BATCH_LINES * 2 + 1) + b"y" * (BATCH_BYTES + 5) + b"\nz\n")
    batches = list(store.tail(file).poll())
    assert [len(batch) for batch in batches] == [BATCH_LINES, BATCH_LINES, 1, 1, 1]
    assert len(batches[3][0].raw) == BATCH_BYTES + 5
    monkeypatch.setattr(lines_module, "MAX_LINE", 3 << 20)
    pieces = [item for batch in store.tail(file).poll() for item in batch if b"y" in item.raw]
    assert len(pieces) == 2
    assert sum(len(item.raw) for item in pieces) == BATCH_BYTES + 5


def test_a_file_removed_while_it_is_followed_is_read_to_its_end(tmp_path: Path, store: Store) -> None:
    file = tmp_path / "spans.jsonl"
    file.write_bytes(line(1) + b"\n")
    tail = store.tail(tmp_path)
    store.drain(tail)
    with file.open("ab") as writer:
        file.unlink()
        writer.write(line(2) + b"\n" + line(3))
        writer.flush()
        assert store.drain(tail) == [line(2)]
        writer.write(b"\n" + line(4))
        writer.flush()
        assert store.drain(tail) == [line(3)]
    assert store.drain(tail) == [line(4)]
    assert store.drain(tail) == []
    assert tail.torn == []


def test_more_files_than_are_held_open_are_all_followed(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail_module, "HELD_FILES", 2)
    tail = store.tail(tmp_path)
    for number in range(6):
        (tmp_path / f"{number}.jsonl").write_bytes(line(number) + b"\n")
    assert store.drain(tail) == [line(number) for number in range(6)]
    for number in range(6):
        with (tmp_path / f"{number}.jsonl").open("ab") as file:
            file.write(line(number + 10) + b"\n")
    assert store.drain(tail) == [line(number + 10) for number in range(6)]


def test_what_cannot_be_read_is_named_and_the_rest_is_sealed(tmp_path: Path, store: Store) -> None:
    (tmp_path / "loop.jsonl").symlink_to("loop.jsonl")
    (tmp_path / "old.jsonl.zst").write_bytes(b"(\xb5/\xfd")
    (tmp_path / "spans.jsonl").write_bytes(line(1) + b"\n")
    (tmp_path / ".hidden.jsonl").write_bytes(line(2) + b"\n")
    (tmp_path / "deeper").mkdir()
    tail = store.tail(tmp_path)
    assert store.drain(tail) == [line(1)]
    assert sorted(unread.path.name for unread in tail.unread) == ["loop.jsonl", "old.jsonl.zst"]


def test_one_file_under_two_names_is_read_once(tmp_path: Path, store: Store) -> None:
    (tmp_path / "a.jsonl").write_bytes(line(1) + b"\n")
    (tmp_path / "b.jsonl").hardlink_to(tmp_path / "a.jsonl")
    assert store.drain(store.tail(tmp_path, tmp_path / "a.jsonl")) == [line(1)]


def test_a_named_file_brings_its_rotated_siblings_and_no_others(tmp_path: Path) -> None:
    names = ["spans-2026-11-30T15-04-05.000-size.jsonl", "spans.jsonl.1", "spans.jsonl"]
    for name in (*names, "spans-other.jsonl", "else-2026-11-30T15-04-05.000.jsonl"):
        (tmp_path / name).write_bytes(b"")
    files, unread = discover([tmp_path / "spans.jsonl"])
    assert [file.path.name for file in files] == names
    assert unread == []


def test_a_file_of_a_process_is_not_taken_for_a_rotated_one() -> None:
    assert not is_rotated("spans-20261130T150405Z-4711-0.jsonl")
    assert not is_rotated("spans-2026-11-30T15-04-05Z-4711-1.jsonl")


def test_a_name_that_leads_nowhere_is_refused(tmp_path: Path) -> None:
    for paths in ([], [tmp_path / "missing"], [Path("/dev/null")]):
        with pytest.raises(UsageError, match="folder"):
            demand(paths)
