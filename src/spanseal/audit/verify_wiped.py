"""Judges a store without a head: one that was only begun, or one from which the sealed data were taken away.

Which of the two, the memory of heads knows; which log it is, leaf 0 says, else the trust file. Imports
``trust``, ``verify_heads`` and what lies below them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from spanseal.audit.store_names import CHECKPOINT, CHECKPOINT_TMP, HISTORY, INDEX, LOCK, TILES
from spanseal.audit.store_scan import segments_of
from spanseal.audit.tlog.checkpoint import Checkpoint
from spanseal.audit.trust import Trust
from spanseal.audit.verify_heads import OPENING_SIZE, FoundHead, grown_to
from spanseal.audit.verify_report import Report
from spanseal.errors import NotAStoreError

_REMAINS = {CHECKPOINT_TMP, HISTORY, INDEX, LOCK, TILES}


class HeadlessCheck:
    """For a store without a checkpoint; ``seen`` (the heads it remembers) and ``trust`` are the verifier's."""

    def __init__(self, root: Path, seen: Mapping[str, Checkpoint] | None, trust: Trust | None, report: Report) -> None:
        self._root, self._heads, self._trust, self._report = root, seen or {}, trust, report
        self._origin = ""

    def segments(self) -> list[Path]:
        """The store's segments. NotAStoreError if the folder is none, nor what is left of one that was seen before."""
        try:
            return segments_of(self._root)
        except NotAStoreError:
            names = {path.name for path in self._root.iterdir()} if self._root.is_dir() else {""}
            if names <= _REMAINS and self._seen():
                return []
            raise

    def opening(self, origin: str) -> None:
        """The log that leaf 0 names."""
        self._origin = origin
        if self._trust is not None and origin not in self._trust.origins:
            known = ", ".join(self._trust.origins)
            self._report.add("origin-mismatch", "leaf 0", f"leaf 0 says {origin}, the trust file {known}")

    def finish(self, found: FoundHead, size: int) -> None:
        """After the last leaf; ``size`` leaves are stored."""
        if grown_to(self._root):  # its first head came while the leaves were read
            self._report.add("unsigned-tail", f"leaves 0 to {size - 1}")
            return
        seen = self._seen()
        for head in seen:
            said = f"there is none, and one of {head.size} leaves of {head.origin} was seen before"
            self._report.add("rollback", CHECKPOINT, said)
        if size > OPENING_SIZE or found.history_end:
            self._report.add("head-missing", CHECKPOINT, f"the segments hold {size} leaves")
        elif not seen:
            self._report.add("empty-store")

    def _seen(self) -> list[Checkpoint]:
        """The heads seen of this log; if it may be one of several, only where each of them was seen."""
        origins = (self._origin,) if self._origin else self._trust.origins if self._trust is not None else ()
        seen = [self._heads[origin] for origin in origins if origin in self._heads]
        return seen if len(seen) == len(origins) else []
