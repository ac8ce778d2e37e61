"""Export files in every state that a crash, a full disk or a power loss leaves them in."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.replay.recorded import Span, line

from spanseal.errors import ReplayError
from spanseal.records.otlp import parse_line
from spanseal.replay.sources.files import FileSource
from spanseal.replay.sources.lines import lines, pieces

ONE, TWO, THREE = (line(Span(f"{n:016x}", f"span {n}", n, n + 1, attributes={"é": "ü \\ \""})) for n in (1, 2, 3))


def read(data: bytes) -> tuple[list[str], list[str]]:
    """Names of the spans found, and the kinds of what was skipped."""
    found = [piece for one in lines(io.BytesIO(data)) for piece in pieces(one)]
    return [span.name for piece in found for span in piece.spans], [piece.kind for piece in found if piece.kind]


@pytest.mark.parametrize("first", [b"", ONE], ids=["alone", "after another"])
def test_every_cut_of_the_last_two_lines(first: bytes, tmp_path: Path) -> None:
    data = first + TWO + THREE
    for cut in range(len(first), len(data) + 1):
        names, kinds = read(data[:cut])
        into_two, into_three = cut - len(first), cut - len(first) - len(TWO)
        here = [bool(first), into_two >= len(TWO) - 1, into_three >= len(THREE) - 1]
        whole = [f"span {number}" for number, there in enumerate(here, 1) if there]
        torn = 0 < into_two < len(TWO) - 1 or 0 < into_three < len(THREE) - 1
        assert (names, kinds) == (whole, ["torn"] if torn else []), cut


def test_a_cut_is_a_note_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "spans.jsonl"
    file.write_bytes(ONE + TWO[:50])
    source = FileSource(file)
    assert [span.name for span in source.spans()] == ["span 1"]
    assert [(note.kind, note.where) for note in source.notes] == [
        ("torn", f"spans.jsonl, bytes {len(ONE)}-{len(ONE) + 50}")
    ]


def test_a_fragment_that_the_retry_was_glued_to() -> None:
    assert read(ONE[:70] + TWO) == (["span 2"], ["glued"])
    assert read(b'{"resourceSp' + TWO + THREE) == (["span 2", "span 3"], ["glued"])


def test_whole_documents_without_line_ends_between_them() -> None:
    assert read(ONE.rstrip() + TWO.rstrip() + THREE) == (["span 1", "span 2", "span 3"], [])
    assert read(ONE.rstrip() + TWO[:60]) == (["span 1"], ["torn"])


def test_nul_bytes_as_after_a_power_loss() -> None:
    assert read(ONE + bytes(4096)) == (["span 1"], ["torn"])
    assert read(ONE + bytes(10) + TWO) == (["span 1", "span 2"], ["nul"])
    assert read(ONE[:40] + bytes(10) + TWO) == (["span 2"], ["malformed", "nul"])


def test_blank_lines_carriage_returns_and_a_byte_order_mark() -> None:
    data = b"\xef\xbb\xbf" + ONE.rstrip() + b"\r\n\r\n \n" + TWO.rstrip() + b"\r\n"
    assert read(data) == (["span 1", "span 2"], [])


@pytest.mark.parametrize(
    ("bad", "kind"),
    [
        (b"not json", "malformed"),
        (b'{"resourceLogs":[]}', "other"),
        (b'{"resourceMetrics":[]}', "other"),
        (b"[]", "malformed"),
        (b'{"a":1}', "malformed"),
        (b"\xff\xfe", "malformed"),
        (b'{"resourceSpans":[],"resourceSpans":[]}', "malformed"),
        (b"[" * 100_000, "malformed"),
    ],
)
def test_a_line_that_is_no_trace_document(bad: bytes, kind: str) -> None:
    assert read(ONE + bad + b"\n" + TWO) == (["span 1", "span 2"], [kind])


def test_one_pretty_printed_document(tmp_path: Path) -> None:
    file = tmp_path / "saved.json"
    file.write_text(json.dumps(json.loads(ONE), indent=2), encoding="utf-8")
    source = FileSource(file)
    assert ([span.name for span in source.spans()], source.notes) == (["span 1"], ())


def test_a_pretty_printed_document_that_is_cut_is_one_note(tmp_path: Path) -> None:
    file = tmp_path / "saved.json"
    file.write_text(json.dumps(json.loads(ONE), indent=2)[:-20], encoding="utf-8")
    source = FileSource(file)
    with pytest.raises(ReplayError, match=r"no OTLP document.*saved\.json, bytes 0-2"):
        list(source.spans())
    assert source.notes[0].kind == "malformed"
    assert len(source.notes) <= 2


@given(st.lists(st.sampled_from([ONE, TWO, THREE]), max_size=4), st.binary(max_size=60), st.integers(0, 4))
def test_nothing_in_between_hides_a_good_line(good: list[bytes], noise: bytes, at: int) -> None:
    data = b"".join([*good[:at], noise.replace(b"\n", b"") + b"\n", *good[at:]])
    names, _ = read(data)
    assert names == [parse_line(each)[0].name for each in good]


@given(st.binary(max_size=300))
def test_no_bytes_make_it_fail(data: bytes) -> None:
    read(data)
    covered = [piece for one in lines(io.BytesIO(data)) for piece in pieces(one)]
    assert all(0 <= piece.start < piece.end <= len(data) for piece in covered)
