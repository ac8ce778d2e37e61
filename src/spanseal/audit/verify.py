"""Verify a store: every byte of it against the signed head, with public keys alone; content too where keys are given.

Reads the store once, one frame in memory at a time. What is damaged is named with file, byte and leaf as far as that
can be told, and everything behind it is still checked. Nothing is changed but the memory of heads. May import audit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from spanseal.audit.content_keys import ContentKeys
from spanseal.audit.findings import Finding, verdict_of
from spanseal.audit.findings import Verdict as Word
from spanseal.audit.heads import HeadMemory
from spanseal.audit.leaf import KIND_SPAN, KIND_UNPARSABLE, KeyEventLeaf, decode_leaf
from spanseal.audit.read_frame import OpenFrame
from spanseal.audit.store_names import CHECKPOINT
from spanseal.audit.trust import Trust
from spanseal.audit.verify_content import ContentCheck
from spanseal.audit.verify_files import check_files
from spanseal.audit.verify_frames import FrameWalk, Piece
from spanseal.audit.verify_heads import (
    FoundHead,
    HistoryCheck,
    MemoryCheck,
    check_own_signatures,
    check_trust,
    grown_to,
    read_head,
)
from spanseal.audit.verify_named import NamedHeads
from spanseal.audit.verify_report import Report
from spanseal.audit.verify_tiles import TileCheck
from spanseal.audit.verify_wiped import HeadlessCheck
from spanseal.errors import FormatError, StoreError

Watcher = Callable[[OpenFrame], None]
"""Sees every good frame under the head, in order; for what judges the runs (ledger, manifests)."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome. ``size`` and ``origin`` are the head's (0 and "" without one).

    ``covered`` and ``unchecked`` count what was and was not checked, by name (leaves, spans, content, ranges, …);
    ``rebuildable`` are the paths of caches, which nothing was believed from.
    """

    verdict: Word
    size: int
    origin: str
    findings: tuple[Finding, ...]
    covered: Mapping[str, int]
    unchecked: Mapping[str, int]
    rebuildable: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        """0 good, 1 bad, 2 cannot be judged."""
        return {"ok": 0, "bad": 1, "unknown": 2}[self.verdict]

    def to_json(self) -> dict[str, Any]:
        """The documented JSON object of ``spanseal verify --json``."""
        return {
            "verdict": self.verdict,
            "size": self.size,
            "origin": self.origin,
            "findings": [asdict(found) for found in self.findings],
            "covered": dict(self.covered),
            "unchecked": dict(self.unchecked),
            "rebuildable": list(self.rebuildable),
        }


def verify_store(
    root: str | Path, trust: Trust | None, heads: HeadMemory | None, content_keys: ContentKeys | None = None,
    *, watch: Watcher | None = None,
) -> Verdict:  # fmt: skip
    """Judge a store. A head that the trust file accepts in a store that is not bad is remembered in ``heads``.

    Raises NotAStoreError if the folder is no store, StoreError if it cannot be read, TrustError if the memory of
    heads is damaged; whatever is wrong with the store itself is a finding.
    """
    root, report = Path(root), Report()
    seen = heads.all() if heads is not None else None
    headless = HeadlessCheck(root, seen, trust, report)
    try:
        headless.segments()
        found = read_head(root, report)
        head = found.head
        trusted = check_trust(found.note, trust, report) if head is not None else False
        memory = MemoryCheck(seen, head, report)
        rebuildable = check_files(root, report)
        run = _Run(root, found, memory, headless, ContentCheck(root, content_keys, report), report, watch)
        for piece in FrameWalk(root, headless.segments(), run.signed, report):
            run.piece(piece)
        run.finish()
    except OSError as error:
        place = error.filename or root
        raise StoreError(f"{place} cannot be read ({error.strerror}): check its permissions") from error
    word = verdict_of(report.findings())
    if head is not None and heads is not None and trusted and word != "bad":
        heads.remember(head, root)
    return Verdict(
        word, run.signed, head.origin if head else "", report.findings(),
        dict(report.covered), dict(report.unchecked), tuple(rebuildable),
    )  # fmt: skip


class _Run:
    """The state of one pass over the leaves."""

    def __init__(
        self, root: Path, found: FoundHead, memory: MemoryCheck, headless: HeadlessCheck,
        content: ContentCheck, report: Report, watch: Watcher | None,
    ) -> None:  # fmt: skip
        self.signed = found.head.size if found.head else 0
        self._root, self._found, self._head, self._note = root, found, found.head, found.note
        self._memory, self._headless = memory, headless
        self._content, self._report, self._watch = content, report, watch
        self._tiles = TileCheck(root, self.signed, report)
        self._history = HistoryCheck(root, found, report)
        self._named = NamedHeads(report)
        self._vkeys: tuple[str, ...] = ()
        self._root_there: bytes | None = None

    def piece(self, piece: Piece) -> None:
        """The next leaves."""
        if piece.first == 0:
            self._opening(piece.entries[0])
        self._tiles.add(piece.entries)
        size = self._tiles.size
        if piece.placed is not None:
            opened = self._content.frame(piece.placed)
            if size <= self.signed:
                self._report.covered["frames"] += 1
                if opened is not None and self._watch is not None:
                    self._watch(opened)
        if size > self.signed:
            return
        if piece.placed is None:
            self._without_frame(piece.entries)
        self._report.covered["leaves"] = size
        root = self._tiles.root()
        self._named.entry(size - 1, piece.entries[-1])
        if self._history.at(size, root, self._vkeys):
            self._tiles.published(size)
            self._named.published(size, root)
        self._memory.at(size, root)
        if size == self.signed:
            self._root_there = root

    def _without_frame(self, entries: tuple[bytes, ...]) -> None:
        """Leaves that only the bundles still have: the spans lie in a frame that cannot be read, content and all."""
        for entry in entries:
            if entry[1:2] in (bytes([KIND_SPAN]), bytes([KIND_UNPARSABLE])):
                self._report.unchecked["spans" if entry[1] == KIND_SPAN else "unparsable"] += 1

    def finish(self) -> None:
        """After the last leaf."""
        beyond = self._tiles.size - self.signed
        if beyond < 0:
            self._report.unchecked["leaves"] = -beyond
        if self._head is not None:
            self._memory.finish(self.signed)
            if beyond > 0 and grown_to(self._root) < self._tiles.size:  # else a sealer has signed them meanwhile
                self._report.add("unsigned-tail", f"leaves {self.signed} to {self._tiles.size - 1}")
        elif not self._note:
            self._headless.finish(self._found, self._tiles.size)
        self._history.finish()
        if self._head is not None and self._root_there == self._head.root and not self._history.failed:
            self._named.finish()
        self._tiles.finish(self._head.root if self._head else None, self._root_there)
        self._content.finish()
        if self._vkeys and self._head is not None and self._root_there == self._head.root:
            check_own_signatures(self._note, self._vkeys, CHECKPOINT, self._report)

    def _opening(self, entry: bytes) -> None:
        try:
            leaf = decode_leaf(entry)
        except FormatError as error:
            self._report.add("leaf-malformed", "leaf 0", str(error))
            return
        if not isinstance(leaf, KeyEventLeaf):
            self._report.add("leaf-malformed", "leaf 0", "it is not the key event that opens a log")
        elif self._head is not None and leaf.origin != self._head.origin:
            self._report.add("origin-mismatch", "leaf 0", f"leaf 0 says {leaf.origin}, the head {self._head.origin}")
        else:
            self._vkeys = leaf.vkeys
            if self._head is None:
                self._headless.opening(leaf.origin)
