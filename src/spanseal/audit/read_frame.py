"""One frame with its content opened as far as keys are there. Readable alone, without the rest of the store.

May import the format modules of audit, and the cutter's placeholders from records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from spanseal.audit.commitments import commit_slices
from spanseal.audit.leaf import BatchLeaf, Leaf, SpanLeaf, UnparsableLeaf
from spanseal.audit.segment import (
    LINE_STORED,
    LINE_UNPARSABLE,
    Body,
    Frame,
    LineEntry,
    Skeleton,
    decode_body,
    decode_skeleton,
    frame_leaves,
)
from spanseal.audit.segment_slices import open_group
from spanseal.errors import FormatError
from spanseal.records.otlp.cut import PLACEHOLDERS

Keys = Callable[[str], bytes | None]
"""Gives a scope's content key, or None."""

_PLACEHOLDERS: Final = (PLACEHOLDERS["any"], PLACEHOLDERS["string"])


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a leaf's or line's records lie: group number, first record, how many."""

    group: int
    start: int
    count: int


class OpenFrame:
    """A decoded frame: its leaves, its body, and its content on demand.

    Making one raises :class:`FormatError` if the frame is malformed or its body is not the committed one. Opening
    content raises :class:`ContentKeyMismatchError` for a wrong key.
    """

    def __init__(self, frame: Frame, keys: Keys) -> None:
        self.frame = frame
        self.leaves: tuple[Leaf, ...] = frame_leaves(frame)
        self.body: Body = decode_body(self.leaves, frame.body)
        self._keys = keys
        self._records: dict[int, list[bytes] | None] = {}
        self._leaf_places: dict[int, _Place] = {}
        self._line_places: dict[int, _Place] = {}
        self._expected: dict[int, int] = {}
        self._skeletons: dict[int, Skeleton] = {}
        self._lay_out()

    @property
    def batch(self) -> BatchLeaf:
        """The leaf that closes the frame."""
        leaf = self.leaves[-1]
        assert isinstance(leaf, BatchLeaf)  # frame_leaves has made sure
        return leaf

    def slices(self, at: int) -> list[bytes] | None:
        """Context and private values of the span at position ``at`` (or the one slice of an unparsable line).

        None where its key is not there, or it was sealed without content.
        """
        return self._take(self._leaf_places.get(at))

    def skeleton(self, at: int) -> Skeleton:
        """What is readable of the span at position ``at`` without a key."""
        known = self._skeletons.get(at)
        if known is None:
            known = self._skeletons[at] = decode_skeleton(self.body.skeletons[at])
        return known

    def raw(self, at: int, slices: Sequence[bytes] | None) -> bytes:
        """The span's bytes: exact with its ``slices``, with placeholders for its private values without."""
        skeleton = self.skeleton(at)
        private = slices[1:] if slices is not None else [_PLACEHOLDERS[kind] for kind in skeleton.kinds]
        if len(private) != len(skeleton.kinds):
            raise FormatError(f"leaf {self.frame.first + at}: its skeleton and its leaf differ in number of slices")
        parts = [skeleton.pieces[0]]
        for value, piece in zip(private, skeleton.pieces[1:], strict=True):
            parts += (value, piece)
        return b"".join(parts)

    def commitments(self, at: int, slices: Sequence[bytes]) -> tuple[bytes, ...]:
        """The commitments that opened slices should have."""
        key = self._keys(self.scope(at))
        return commit_slices(key, self.frame.first + at, slices) if key is not None else ()

    def scope(self, at: int) -> str:
        """The scope of the span or unparsable line at position ``at``."""
        leaf = self.leaves[at]
        if not isinstance(leaf, SpanLeaf | UnparsableLeaf):
            raise ValueError(f"leaf {self.frame.first + at} has no scope")
        return leaf.scope

    def line_scopes(self, line: LineEntry) -> tuple[str, ...] | None:
        """The scopes whose keys the line needs; None where one was erased before it came."""
        return self.body.groups[line.group].scopes if line.group < len(self.body.groups) else None

    def glue(self, number: int) -> list[bytes] | None:
        """The n + 1 pieces around the spans of line ``number`` of the frame; None without all its keys."""
        return self._take(self._line_places.get(number))

    def whole_groups(self) -> None:
        """Check that every group that opens holds exactly the records its leaves and lines need."""
        for number in range(len(self.body.groups)):
            records = self.records(number)
            if records is not None and len(records) != self._expected.get(number, 0):
                raise FormatError(f"content of group {number} has {len(records)} records")

    def records(self, group: int) -> list[bytes] | None:
        """All records of a group, opened once; None without its keys."""
        if group not in self._records:
            sealed = self.body.groups[group]
            keys = [key for scope in sealed.scopes if (key := self._keys(scope)) is not None]
            whole = len(keys) == len(sealed.scopes)
            self._records[group] = open_group(sealed, keys, self.frame.first) if whole else None
        return self._records[group]

    def _take(self, place: _Place | None) -> list[bytes] | None:
        records = self.records(place.group) if place is not None else None
        if place is None or records is None:
            return None
        if place.start + place.count > len(records):
            raise FormatError(f"content of group {place.group} has too few records")
        return records[place.start : place.start + place.count]

    def _lay_out(self) -> None:
        numbers = {group.scopes: number for number, group in enumerate(self.body.groups)}
        for at, leaf in enumerate(self.leaves):
            if isinstance(leaf, SpanLeaf) and leaf.has_content:
                self._leaf_places[at] = self._next(numbers, leaf.scope, leaf.slices)
            elif isinstance(leaf, UnparsableLeaf):
                self._leaf_places[at] = self._next(numbers, leaf.scope, 1)
        for number, line in enumerate(self.body.lines):
            if line.state == LINE_STORED:
                self._line_places[number] = self._reserve(line.group, len(line.leaves) + 1)
            elif line.state == LINE_UNPARSABLE and line.leaves[0] - self.frame.first not in self._leaf_places:
                raise FormatError(f"lines: line {number} names leaf {line.leaves[0]}, which is not in its frame")

    def _next(self, numbers: dict[tuple[str, ...], int], scope: str, count: int) -> _Place:
        number = numbers.get((scope,))
        if number is None:
            raise FormatError(f"groups: no content of {scope} is stored")
        return self._reserve(number, count)

    def _reserve(self, group: int, count: int) -> _Place:
        start = self._expected.get(group, 0)
        self._expected[group] = start + count
        return _Place(group, start, count)
