"""The index finds every leaf of many spans at once, written and pending, without reading the whole table."""

from __future__ import annotations

import sqlite3
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from spanseal.audit.segment_build import IndexRow
from spanseal.audit.store_index import SpanIndex, find_statement

Id = tuple[bytes, bytes]


def row(key: int, leaf: int) -> IndexRow:
    return IndexRow(key.to_bytes(16), key.to_bytes(8), leaf, leaf.to_bytes(16), bytes(16))


def id_of(key: int) -> Id:
    return key.to_bytes(16), key.to_bytes(8)


@given(
    written=st.lists(st.integers(0, 400), max_size=40), pending=st.lists(st.integers(0, 400), max_size=40),
    asked=st.sets(st.integers(0, 400), max_size=300),
)  # fmt: skip
def test_all_leaves_of_each_span_oldest_first(written: list[int], pending: list[int], asked: set[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        index = SpanIndex(Path(folder))
        index.add(row(key, leaf) for leaf, key in enumerate(written))
        index.commit(len(written), b"")
        index.add(row(key, len(written) + at) for at, key in enumerate(pending))
        found = index.find_all(map(id_of, asked))
        index.close()
    everything = [row(key, leaf) for leaf, key in enumerate([*written, *pending])]
    assert found == {id_of(key): [item for item in everything if item.trace_id == id_of(key)[0]] for key in asked}


def test_a_look_up_never_scans_the_table(tmp_path: Path) -> None:
    index = SpanIndex(tmp_path)
    index.add(row(key, key) for key in range(300))
    index.commit(300, b"")
    index.close()
    table = sqlite3.connect(tmp_path / "idx" / "spans.sqlite")
    wanted = [part for key in range(3) for part in id_of(key)]
    plan = [str(step[3]) for step in table.execute("EXPLAIN QUERY PLAN " + find_statement(3), wanted)]
    assert [step for step in plan if "span" in step] == ["SEARCH span USING PRIMARY KEY (trace=? AND id=?)"]
    assert len(table.execute(find_statement(3), wanted).fetchall()) == 3
    table.close()
