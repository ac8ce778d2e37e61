"""The index: which leaves hold a span, and how to tell a resent one. A cache in ``idx/``, rebuilt when in doubt.

SQLite, one file; may be deleted at any time while no sealer runs. A forged row cannot hide a span: duplicates are
told by digests that need the scope's content key. Standard library only.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from pathlib import Path
from typing import Final

from spanseal.audit.leaf import Leaf, SpanLeaf
from spanseal.audit.segment import Body
from spanseal.audit.segment_build import IndexRow
from spanseal.audit.store_names import INDEX
from spanseal.errors import StoreError

_FILE: Final = "spans.sqlite"
_AT_ONCE: Final = 128  # SQLite takes 999 parameters at least
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS span (trace BLOB, id BLOB, leaf INTEGER, digest BLOB, skeleton BLOB,
                                 PRIMARY KEY (trace, id, leaf)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS state (only_row INTEGER PRIMARY KEY CHECK (only_row = 0), size INTEGER, root BLOB);
"""


class SpanIndex:
    """Rows of sealed spans up to ``size`` leaves (of the tree with ``root``). Used by the writer's thread only."""

    def __init__(self, store: Path) -> None:
        self._folder = store / INDEX
        self._pending: dict[tuple[bytes, bytes], list[IndexRow]] = {}
        self._connection: sqlite3.Connection | None = None
        try:
            self._connect()
            self.size, self.root = self._state()
        except sqlite3.DatabaseError:
            self.clear()

    def clear(self) -> None:
        """Begin anew: the files were damaged or belong to another tree."""
        self.close()
        self._pending.clear()
        for path in self._folder.glob(_FILE + "*"):
            path.unlink()
        try:
            self._connect()
        except sqlite3.DatabaseError as error:
            raise StoreError(f"the index in {self._folder} cannot be made ({error}): is the disk full?") from error
        self.size, self.root = 0, b""

    def find_all(self, ids: Iterable[tuple[bytes, bytes]]) -> dict[tuple[bytes, bytes], list[IndexRow]]:
        """For each (trace id, span id) all leaves that hold such a span, oldest first.

        Many at once are looked up in one step. sqlite3.DatabaseError if the file is damaged.
        """
        found: dict[tuple[bytes, bytes], list[IndexRow]] = {key: [] for key in ids}
        wanted = iter(found)
        while part := list(islice(wanted, _AT_ONCE)):
            rows = self._open.execute(find_statement(len(part)), list(chain.from_iterable(part)))
            for trace_id, span_id, *rest in rows:
                found[trace_id, span_id].append(IndexRow(trace_id, span_id, *rest))
        for key, known in found.items():
            known += self._pending.get(key, ())
        return found

    def add(self, rows: Iterable[IndexRow]) -> None:
        """Remember rows; :meth:`commit` writes them."""
        for row in rows:
            self._pending.setdefault((row.trace_id, row.span_id), []).append(row)

    def commit(self, size: int, root: bytes) -> None:
        """Write what is pending. A full disk is no fault of the seal: rows wait in memory for the next time."""
        with contextlib.suppress(sqlite3.DatabaseError), self._open:
            self._open.executemany(
                "INSERT OR REPLACE INTO span VALUES (?, ?, ?, ?, ?)",
                ((row.trace_id, row.span_id, row.leaf, row.digest, row.skeleton) for row in self._rows()),
            )
            self._open.execute("INSERT OR REPLACE INTO state VALUES (0, ?, ?)", (size, root))
            self.size, self.root = size, root
        if self.size == size:
            self._pending.clear()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @property
    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            raise StoreError("the index is closed")
        return self._connection

    def _rows(self) -> Iterator[IndexRow]:
        for rows in self._pending.values():
            yield from rows

    def _connect(self) -> None:
        self._folder.mkdir(exist_ok=True)
        self._connection = sqlite3.connect(self._folder / _FILE, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.executescript(_SCHEMA)

    def _state(self) -> tuple[int, bytes]:
        row = self._open.execute("SELECT size, root FROM state").fetchone()
        return (int(row[0]), bytes(row[1])) if row else (0, b"")


def find_statement(count: int) -> str:
    """SQL that finds the rows of ``count`` spans.

    CROSS JOIN keeps SQLite to this order: for each wanted span one step into the table, never a scan of it.
    """
    wanted = ", ".join(["(?, ?)"] * count)
    return (
        f"WITH wanted (t, i) AS (VALUES {wanted}) "  # noqa: S608 - question marks only
        "SELECT trace, id, leaf, digest, skeleton FROM wanted CROSS JOIN span ON trace = t AND id = i ORDER BY leaf"
    )


def rows_of(first: int, leaves: Iterable[Leaf], body: Body) -> Iterator[IndexRow]:
    """The index rows of a stored frame."""
    for at, leaf in enumerate(leaves):
        if isinstance(leaf, SpanLeaf):
            digest = body.digests.get(at, b"")
            yield IndexRow(leaf.trace_id, leaf.span_id, first + at, digest, leaf.skeleton[:16])
