"""Checks the head: who signed it, whether the history leads to it, whether it continues the head that was seen before.

Imports ``tlog``, ``trust`` and ``store_scan``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from spanseal.audit.store_names import CHECKPOINT, HISTORY
from spanseal.audit.store_scan import HistoryEntry, read_at_most, read_history
from spanseal.audit.tlog.checkpoint import Checkpoint
from spanseal.audit.tlog.keys import VKey
from spanseal.audit.tlog.note import MAX_NOTE, Note
from spanseal.audit.trust import HeadError, Trust
from spanseal.audit.verify_report import Report
from spanseal.errors import FormatError

_TRIES = 20
_UNCHANGED = 3
_PAUSE = 0.01
_GROWN = 1 << 16
"""How many bytes of heads a sealer may publish between two reads."""
OPENING_SIZE = 2
"""Leaves of a log that was only begun: its key event and the batch leaf of that frame."""


@dataclass(frozen=True, slots=True)
class FoundHead:
    """The checkpoint's bytes (empty: there is none), its meaning (None: malformed), how far the history was then."""

    note: bytes
    head: Checkpoint | None
    history_end: int


def read_head(root: Path, report: Report) -> FoundHead:
    """Head and length of the history as of one moment, also while a sealer goes on writing."""
    path, history = root / CHECKPOINT, root / HISTORY
    data, end, unchanged = b"", 0, 0
    for _ in range(_TRIES):
        before = (data, end)
        end = history.stat().st_size if history.is_file() else 0
        data = read_at_most(path, MAX_NOTE) if path.is_file() else b""
        start = max(end - len(data) - 1, 0)
        at = _piece(history, start, end + _GROWN).find(data + b"\n") if data else -1
        if at >= 0:  # it was the last entry then, or became it while the checkpoint was read
            end = start + at + len(data) + 1
            break
        unchanged = unchanged + 1 if before == (data, end) else 0
        if unchanged == _UNCHANGED:
            break
        time.sleep(_PAUSE)  # a sealer that goes on is between checkpoint and history
    try:
        return FoundHead(data, Checkpoint.parse(Note.parse(data).text) if data else None, end)
    except FormatError as error:
        report.add("head-malformed", CHECKPOINT, str(error))
        return FoundHead(data, None, end)


def grown_to(root: Path) -> int:
    """The size that the checkpoint names by now; 0 if it cannot be read."""
    path = root / CHECKPOINT
    try:
        return Checkpoint.parse(Note.parse(read_at_most(path, MAX_NOTE)).text).size if path.is_file() else 0
    except (OSError, FormatError):
        return 0


def _piece(path: Path, start: int, end: int) -> bytes:
    if start < 0 or not path.is_file():
        return b""
    with path.open("rb") as file:
        file.seek(start)
        return file.read(end - start)


def check_trust(note: bytes, trust: Trust | None, report: Report) -> bool:
    """Whether the trust file's keys signed the head; what is wrong with it is a finding."""
    if trust is None:
        report.add("no-trust", CHECKPOINT)
        return False
    try:
        trust.verify_head(note)
    except HeadError as error:
        report.add(error.code, CHECKPOINT, error.detail)
        return False
    if not trust.witnessed:
        report.add("no-witness", CHECKPOINT)
    return True


def check_own_signatures(note: bytes, vkeys: Sequence[str], where: str, report: Report) -> bool:
    """Whether all keys that leaf 0 names signed this head. Proves consistency, not whom to believe."""
    good = True
    for text in vkeys:
        try:
            key = VKey.parse(text)
            signed = Note.parse(note).signed(key) is not None
        except FormatError as error:
            report.add("signature-invalid", where, str(error))
            good = False
            continue
        if not signed:
            report.add("signature-missing", where, f"of {key.name} {key.key_id.hex()}, which leaf 0 names")
            good = False
    return good


class MemoryCheck:
    """Compares the log with the head that was seen before."""

    def __init__(self, seen: Mapping[str, Checkpoint] | None, head: Checkpoint | None, report: Report) -> None:
        """``seen`` is the memory as it was before the head was read: another verifier may remember a newer one."""
        self._report = report
        self._seen = seen.get(head.origin) if seen is not None and head is not None else None
        self._met = False
        if seen is not None and head is not None:
            self._compare(head)

    def _compare(self, head: Checkpoint) -> None:
        seen = self._seen
        if seen is None:
            self._report.add("head-not-remembered", CHECKPOINT)
        elif head.size < seen.size:
            self._report.add("rollback", CHECKPOINT, f"it has {head.size} leaves, {seen.size} were seen before")
        elif head.size == seen.size and head.root != seen.root:
            self._report.add("fork", CHECKPOINT, f"size {head.size}: {seen.root.hex()} seen, {head.root.hex()} here")

    def at(self, size: int, root: bytes) -> None:
        """The root that the leaves give at a size."""
        if self._seen is not None and size == self._seen.size:
            self._met = True
            if root != self._seen.root:
                self._report.add("inconsistent", CHECKPOINT, f"at size {size}, which was seen with another root")

    def finish(self, size: int) -> None:
        """After the last leaf of the head."""
        if self._seen is not None and not self._met and size > self._seen.size:
            self._report.add("inconsistent", CHECKPOINT, f"no head of {self._seen.size} leaves was ever published")


class HistoryCheck:
    """Follows the history of heads while the tree grows; one entry in memory at a time.

    ``failed`` is set, and reported, at the first entry that does not fit; those behind it are not looked at.
    """

    def __init__(self, root: Path, found: FoundHead, report: Report) -> None:
        self._head, self._note, self._report = found.head, found.note, report
        self._entries = read_history(root / HISTORY, found.history_end) if (root / HISTORY).is_file() else iter(())
        self._next: tuple[HistoryEntry, Checkpoint] | None = None
        self._size = 0
        self._last = b""
        self._last_size = 0
        self._rest = b""
        self.failed = False
        self._advance()

    def at(self, size: int, root: bytes, vkeys: Sequence[str]) -> bool:
        """The root that the leaves give at the end of a frame; whether a head of that size was published."""
        published = False
        while self._next is not None and self._next[1].size <= size:
            entry, head = self._next
            where = f"{HISTORY}, byte {entry.offset}"
            if head.size < size:
                self._fail(where, f"a head of {head.size} leaves, where no batch ends")
                return published
            published = True
            if head.root != root:
                self._fail(where, f"the head of {size} leaves has another root than the leaves")
                return published
            if not check_own_signatures(entry.note, vkeys, where, self._report):
                self.failed, self._next = True, None
                return published
            self._advance()
        return published

    def finish(self) -> None:
        """After the last leaf of the head: the history's last entry must be the head."""
        if self.failed or self._head is None:
            return
        if self._next is not None:
            size = self._next[1].size
            if size > self._head.size:
                self._report.add("rollback", CHECKPOINT, f"the store's own history holds a head of {size} leaves")
            return
        if self._last == self._note and not self._rest:
            self._report.covered["heads"] += self._size
        elif self._last_size < self._head.size and (self._note + b"\n").startswith(self._rest) and self._may_lack_one():
            self._report.add("write-interrupted", HISTORY, "the last head is not in it yet")
        else:
            self._report.add("head-history-changed", HISTORY, "its last entry is not the checkpoint")

    def _may_lack_one(self) -> bool:
        return bool(self._last) or (self._head is not None and self._head.size == OPENING_SIZE)

    def _advance(self) -> None:
        self._next = None
        if self.failed:
            return
        try:
            entry = next(self._entries, None)
            if entry is None:
                return
            if not entry.complete:
                self._rest = entry.note
                return
            head = Checkpoint.parse(Note.parse(entry.note).text)
        except FormatError as error:
            self._fail(HISTORY, f"entry {self._size}: {error}")
            return
        where = f"{HISTORY}, byte {entry.offset}"
        if self._head is not None and head.origin != self._head.origin:
            self._fail(where, f"a head of {head.origin}")
        elif head.size <= self._last_size:
            self._fail(where, f"a head of {head.size} leaves after one of {self._last_size}")
        else:
            self._size += 1
            self._last, self._last_size = entry.note, head.size
            self._next = (entry, head)

    def _fail(self, where: str, detail: str) -> None:
        self._report.add("head-history-changed", where, detail)
        self.failed, self._next = True, None
