"""Checks what a frame commits to: readable parts with public data alone, content where its keys are there.

Imports the format modules of audit, ``read`` and ``read_frame``.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from spanseal.audit.commitments import dedup_digest, range_hash, slice_root
from spanseal.audit.content_keys import ContentKeys, key_file_name
from spanseal.audit.leaf import ZERO32, BatchLeaf, GapLeaf, RedactionLeaf, SpanLeaf, UnparsableLeaf, decode_leaf
from spanseal.audit.read import StoreReader
from spanseal.audit.read_frame import OpenFrame
from spanseal.audit.segment import NO_GROUP
from spanseal.audit.segment_slices import ContentKeyMismatchError
from spanseal.audit.store_scan import PlacedFrame
from spanseal.audit.tlog.encoding import MAX_SIZE
from spanseal.audit.verify_frames import place
from spanseal.audit.verify_report import Report
from spanseal.errors import FormatError, TrustError


class _JudgedKeys(ContentKeys):
    """The keys at hand, where a damaged key file is remembered and closes only what is under it."""

    def __init__(self, keys: ContentKeys) -> None:
        super().__init__(keys.directory, whole=keys.whole)
        self.damaged: dict[str, tuple[str, str]] = {}
        """By scope: the file and what is wrong with it."""

    def key_for(self, scope: str, *, create: bool = False) -> bytes | None:
        if scope in self.damaged:
            return None
        try:
            return super().key_for(scope, create=create)
        except TrustError as error:
            self.damaged[scope] = str(self.directory / key_file_name(scope)), str(error.__cause__)
            return None


class ContentCheck:
    """Checks frames one by one; ``content_keys`` None means with public data alone."""

    def __init__(self, root: Path, content_keys: ContentKeys | None, report: Report) -> None:
        self._root, self._report = root, report
        self._keys = _JudgedKeys(content_keys) if content_keys is not None else None
        self._reader: StoreReader | None = None
        self._closed: set[str] = set()
        self._redacted: set[str] = set()

    def frame(self, placed: PlacedFrame) -> OpenFrame | None:
        """Check one frame; its decoded form, or None if it is malformed (which is then a finding)."""
        where = place(placed)
        try:
            opened = OpenFrame(placed.frame, self._key)
        except FormatError as error:
            self._report.add(_code_of(placed), where, str(error))
            return None
        try:
            self._readable(opened, where)
            if self._keys is not None:
                self._content(opened, where)
        except ContentKeyMismatchError as error:
            self._report.add("content-unreadable", where, str(error))
        except FormatError as error:
            self._report.add("frame-malformed", where, str(error))
        return opened

    def finish(self) -> None:
        """After the last frame: which scopes could not be opened, and whether a redaction says why."""
        unchecked = self._report.unchecked["content"]
        damaged = self._keys.damaged if self._keys is not None else {}
        for path, why in sorted(damaged.values()):
            self._report.add("content-key-damaged", path, why)
        if self._keys is None or not self._keys.whole:
            if unchecked:
                self._report.add("content-unchecked", "", f"{unchecked} spans or lines")
            return
        erased, missing = self._closed & self._redacted, self._closed - self._redacted - damaged.keys()
        for scope in sorted(missing):
            self._report.add("content-missing", scope)
        if erased:
            self._report.add("content-erased", "", f"{len(erased)} scopes")

    def _readable(self, opened: OpenFrame, where: str) -> None:
        """Skeletons, commitments, and what the leaves tell."""
        covered, first = self._report.covered, opened.frame.first
        for at, leaf in enumerate(opened.leaves):
            match leaf:
                case SpanLeaf():
                    covered["spans"] += 1
                    record = opened.body.skeletons[at]
                    if sha256(record).digest() != leaf.skeleton or len(opened.skeleton(at).kinds) + 1 != leaf.slices:
                        self._report.add("commitment-mismatch", f"{where}: leaf {first + at}", "its readable part")
                    if leaf.conflict:
                        self._report.add("conflict", f"leaf {first + at}", f"span {leaf.span_id.hex()}")
                case UnparsableLeaf():
                    covered["unparsable"] += 1
                    self._report.add("unparsable-line", f"leaf {first + at}", f"{leaf.length} bytes")
                case RedactionLeaf():
                    self._redacted.add(leaf.scope)
                case GapLeaf():
                    self._report.add("input-gap", f"leaf {first + at}", f"{leaf.source}: {leaf.reason}")
                case BatchLeaf():
                    covered["duplicates"] += leaf.duplicates
                case _:
                    pass
            root = leaf.root if isinstance(leaf, SpanLeaf | UnparsableLeaf) else ZERO32
            if root != ZERO32 and slice_root(opened.body.commitments[at]) != root:
                self._report.add("commitment-mismatch", f"{where}: leaf {first + at}", "the commitments of its content")
            if isinstance(leaf, SpanLeaf | UnparsableLeaf) and self._keys is None:
                self._report.unchecked["content"] += 1

    def _content(self, opened: OpenFrame, where: str) -> None:
        opened.whole_groups()
        for at, leaf in enumerate(opened.leaves):
            if not isinstance(leaf, SpanLeaf | UnparsableLeaf):
                continue
            slices = opened.slices(at)
            if slices is None:
                self._report.unchecked["content"] += 1
                if not isinstance(leaf, SpanLeaf) or leaf.has_content:
                    self._closed.add(leaf.scope)
                continue
            self._report.covered["content"] += 1
            if opened.commitments(at, slices) != opened.body.commitments[at] or not self._fits(opened, at, slices):
                self._report.add("commitment-mismatch", f"{where}: leaf {opened.frame.first + at}", "its content")
        self._ranges(opened, where)

    def _fits(self, opened: OpenFrame, at: int, slices: list[bytes]) -> bool:
        """Whether slices and skeleton give the very bytes that were sealed (dedup digest), or that length."""
        leaf = opened.leaves[at]
        if isinstance(leaf, UnparsableLeaf):
            return len(slices[0]) == leaf.length
        key = self._key(opened.scope(at))
        return key is not None and dedup_digest(key, opened.raw(at, slices)) == opened.body.digests[at]

    def _ranges(self, opened: OpenFrame, where: str) -> None:
        """Put the input back together and compare it with the salted hash of each range."""
        reader = self._reader = self._reader or StoreReader(self._root, self._keys, size=MAX_SIZE)
        by_range: dict[int, list[int]] = {}
        for at, line in enumerate(opened.body.lines):
            by_range.setdefault(line.range, []).append(at)
        for number, item in enumerate(opened.batch.ranges):
            pieces: list[bytes] = []
            scopes: set[str] = set()
            checkable = item.checkable
            for at in by_range.get(number, ()):
                line = opened.body.lines[at]
                raw = reader.line_raw(opened, at) if checkable and line.group != NO_GROUP else None
                checkable = checkable and raw is not None
                if raw is not None:
                    pieces += (raw, b"\n") if line.end - line.start > len(raw) else (raw,)
                    scopes.update(opened.line_scopes(line) or ())
            if not checkable:
                self._report.unchecked["ranges"] += 1
                continue
            self._report.covered["ranges"] += 1
            keys = [key for scope in sorted(scopes) if (key := self._key(scope)) is not None]
            if not keys or range_hash(keys, opened.frame.end - 1, number, pieces) != item.hash:
                place_in = f"{where}: input of {item.source}"
                self._report.add("commitment-mismatch", place_in, f"bytes {item.start} to {item.end}")

    def _key(self, scope: str) -> bytes | None:
        return self._keys.key_for(scope) if self._keys is not None else None


def _code_of(placed: PlacedFrame) -> str:
    """Which of a frame's parts is the malformed one."""
    try:
        leaves = [decode_leaf(entry) for entry in placed.frame.entries]
    except FormatError:
        return "leaf-malformed"
    batch = leaves[-1]
    if isinstance(batch, BatchLeaf) and sha256(placed.frame.body).digest() != batch.body:
        return "payload-changed"
    return "frame-malformed"
