"""Checks the heads that batch leaves name: each was published, with the root that the leaves give, none goes back.

So an entry taken out of the history is missed, whoever took it; only the last one is named by no leaf yet. Imports
``leaf`` and ``verify_report``.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from spanseal.audit.leaf import KIND_BATCH, VERSION, BatchLeaf, decode_leaf
from spanseal.audit.verify_report import Report
from spanseal.errors import FormatError

_START: Final = bytes((VERSION, KIND_BATCH))
_KEPT: Final = 1000


def ends_frame(entry: bytes) -> bool:
    """Whether an entry of the log is a batch leaf, the last of its frame.

    >>> ends_frame(bytes((1, 2))), ends_frame(bytes((1, 1)))
    (True, False)
    """
    return entry.startswith(_START)


class NamedHeads:
    """Told of published heads and of entries in the order of the log; keeps the heads since the one named last."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._heads: deque[tuple[int, bytes]] = deque()
        self._size = 0
        self._lost = -1
        self._found: list[tuple[str, str]] = []

    def published(self, size: int, root: bytes) -> None:
        """The history has a head of this size, and the leaves give this root there."""
        self._heads.append((size, root))

    def entry(self, number: int, entry: bytes) -> None:
        """The last entry of a frame, which is leaf ``number``; other entries and malformed ones name nothing."""
        try:
            leaf = decode_leaf(entry) if ends_frame(entry) else None
        except FormatError:
            return
        if isinstance(leaf, BatchLeaf):
            self._batch(number, leaf.head_size, leaf.head_root)

    def finish(self) -> None:
        """Report; to be called if the leaves are those that were signed: others name anything."""
        for where, detail in self._found:
            self._report.add("head-history-changed", where, detail)

    def _batch(self, number: int, size: int, root: bytes) -> None:
        if size < self._size:
            self._note(number, f"it names a head of {size} leaves after one of {self._size}")
            return
        self._size = size
        while self._heads and self._heads[0][0] < size:
            self._heads.popleft()
        if not size or size == self._lost:
            return
        if not self._heads or self._heads[0][0] != size:
            self._lost = size
            self._note(number, f"it names a head of {size} leaves, which is not in the history")
        elif self._heads[0][1] != root:
            self._note(number, f"it names a head of {size} leaves with another root than the leaves give")

    def _note(self, number: int, detail: str) -> None:
        if len(self._found) < _KEPT:
            self._found.append((f"leaf {number}", detail))
