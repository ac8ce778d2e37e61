"""A growing history without its repetitions: which earlier call to build on, what is new since. Pure.

The way back is :mod:`spanseal.records.history_read`.

Every turn of a conversation sends all earlier turns again, so n turns recorded in full cost n² bytes. In *delta* a call
is recorded as the messages that follow the first ``kept`` ones of an earlier call, its base. Written in full
(*keyframe*) is a call whose history begins like no known one, or mostly differs from it, or whose base lies as many
bytes from its keyframe as the keyframe has itself: when a history has doubled. So keyframes and deltas of n turns
together cost O(n) bytes, and who loses a keyframe loses what followed until the history doubled.

Which histories begin alike is told by running digests, 16 bytes a message, never by keeping messages. The
replay record's ``params`` (:mod:`spanseal.records.replay_record`) name a shape for every message and are cut likewise.
May import genai only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

import orjson

from spanseal.genai.wire_json import JsonObject, as_list

_MARK: Final = 16
_MOST_BASES: Final = 64
_MOST_BYTES: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Placed:
    """Where a history belongs: ``kept`` messages of the span ``base`` come first; an empty ``base`` is a keyframe.

    ``keyframe`` is the size of the keyframe below, ``apart`` how many bytes of deltas lie between it and the end.
    """

    base: str
    kept: int
    marks: bytes
    keyframe: int
    apart: int


@dataclass(frozen=True, slots=True)
class _Base:
    name: str
    placed: Placed


class Bases:
    """The calls that later ones may build on: the last 64, at most 1 MiB of digests. One run in one process.

    Threads may share it: what is known is replaced as a whole, and a call that gets lost on the way is no base, which
    costs bytes and nothing else.

    >>> bases = Bases()
    >>> shape = b'{"role":{"$":"role"},"content":{"$":"0.content"}}'
    >>> first = bases.place(["a long question"], [shape])
    >>> first.base, first.kept
    ('', 0)
    >>> bases.add("span-1", first)
    >>> second = bases.place(["a long question", "answer"], [shape, shape])
    >>> second.base, second.kept
    ('span-1', 1)
    """

    __slots__ = ("_bases",)

    def __init__(self) -> None:
        self._bases: tuple[_Base, ...] = ()

    def place(self, texts: Sequence[str], shapes: Sequence[bytes], *, whole_fits: bool = True) -> Placed:
        """Where the history of these messages belongs: each its JSON for the attribute, and its shape on the wire.

        The base with the longest common beginning is taken, of several the last. With ``whole_fits`` False, because
        the history is too large to be recorded in full, a delta is chosen wherever there is one.
        """
        marks = marks_of(texts, shapes)
        base, kept = _nearest(self._bases, marks)
        size = sum(map(len, texts))
        new = sum(map(len, texts[kept:]))
        if base is None or (whole_fits and (new > size - new or base.placed.apart + new >= base.placed.keyframe)):
            return Placed("", 0, marks, size, 0)
        return Placed(base.name, kept, marks, base.placed.keyframe, base.placed.apart + new)

    def add(self, name: str, placed: Placed) -> None:
        """Build on the call ``name``, recorded as ``placed``, from now on; not if it has more than 65,536 messages."""
        if len(placed.marks) > _MOST_BYTES:
            return
        bases = (*self._bases[1 - _MOST_BASES :], _Base(name, placed))
        size = sum(len(base.placed.marks) for base in bases)
        first = 0
        while size > _MOST_BYTES and first < len(bases):
            size -= len(bases[first].placed.marks)
            first += 1
        self._bases = bases[first:]

    @property
    def size(self) -> int:
        """Bytes that the digests take."""
        return sum(len(base.placed.marks) for base in self._bases)


def marks_of(texts: Sequence[str], shapes: Sequence[bytes]) -> bytes:
    """For each message 16 bytes that stand for it and all before it."""
    mark, marks = bytes(_MARK), bytearray()
    for text, shape in zip(texts, shapes, strict=True):
        mark = sha256(b"%b%b\n%b" % (mark, shape, text.encode())).digest()[:_MARK]
        marks += mark
    return bytes(marks)


def _nearest(bases: Sequence[_Base], marks: bytes) -> tuple[_Base | None, int]:
    best, kept = None, 0
    for base in reversed(bases):
        place = kept * _MARK
        mark = marks[place : place + _MARK]
        if not mark:
            break  # nothing can begin alike for longer than the whole
        if base.placed.marks[place : place + _MARK] == mark:
            best, kept = base, _common(base.placed.marks, marks, kept + 1)
    return best, kept


def _common(one: bytes, other: bytes, least: int) -> int:
    """How many messages two histories have in common, at least ``least``; by bisection: a mark covers all before."""
    most = min(len(one), len(other)) // _MARK
    while least < most:
        middle = (least + most + 1) // 2
        end = middle * _MARK
        if one[end - _MARK : end] == other[end - _MARK : end]:
            least = middle
        else:
            most = middle - 1
    return least


def tail_params(params: Mapping[str, Any], kept: int) -> JsonObject:
    """``params`` for the messages after the first ``kept`` only, with the shapes that these and the tools have.

    >>> full = {"v": 1, "body": {}, "shapes": ["a", "b", "c"], "messages": [0, 1, 1], "tools": [2]}
    >>> tail_params(full, 2)
    {'v': 1, 'body': {}, 'shapes': ['b', 'c'], 'messages': [0], 'tools': [1]}
    """
    shapes = shapes_of(params, "messages")[kept:]
    return with_shapes(params, shapes, shapes_of(params, "tools"))


def shapes_of(params: Mapping[str, Any], which: str) -> list[bytes]:
    """The shape of each message or tool, as JSON. Raises ValueError, TypeError or LookupError for other params."""
    shapes = [orjson.dumps(shape) for shape in as_list(params.get("shapes"))]
    return [shapes[number] for number in as_list(params.get(which))]


def with_shapes(params: Mapping[str, Any], messages: Sequence[bytes], tools: Sequence[bytes]) -> JsonObject:
    """``params`` with these shapes of messages and tools, numbered by first use as a split numbers them."""
    table: dict[bytes, int] = {}
    numbers = [[table.setdefault(shape, len(table)) for shape in shapes] for shapes in (messages, tools)]
    return {
        **params,
        "shapes": [orjson.loads(shape) for shape in table],
        "messages": numbers[0],
        "tools": numbers[1],
    }
