"""The tree of a run's spans, whatever state they are in: every span is in it once.

May import ``records``, ``genai`` names and the siblings. A parent that is named but not here is shown as missing, a
circle of parents is cut at its earliest span, and beyond a depth of 64 everything is shown flat.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, TypeAlias

from spanseal.replay.gather import is_root
from spanseal.replay.note import Note
from spanseal.replay.read_part import read_part
from spanseal.replay.run import Decision, Node, Other, Part, Step
from spanseal.replay.same_call import doubles
from spanseal.replay.sources.base import SourceSpan

_DEEPEST: Final = 64
_Key: TypeAlias = tuple[str, str]


class Forest:
    """Builds the tree once; what was odd goes to ``notes``."""

    def __init__(self, spans: Sequence[SourceSpan], notes: list[Note]) -> None:
        self._notes = notes
        self._doubles = doubles(spans)
        self._known = {_key(span) for span in spans}
        self._children: defaultdict[_Key, list[SourceSpan]] = defaultdict(list)
        self._tops: list[SourceSpan] = []
        for span in spans:
            parent = _parent(span)
            if not parent[1] or (is_root(span.record) and parent not in self._known):
                self._tops.append(span)
            else:
                self._children[parent].append(span)

    def tree(self) -> tuple[Node, ...]:
        """The roots in order of start."""
        nodes = [self._node(span, None, 0) for span in self._tops]
        for key in [key for key in self._children if key not in self._known]:
            nodes.append(self._missing(key))
        while circle := [span for below in self._children.values() for span in below]:
            nodes.append(self._cut(circle[0]))
        return tuple(sorted(nodes, key=lambda node: node.part.started))

    def _node(self, span: SourceSpan, step: int | None, depth: int) -> Node:
        part = self._part(span, step)
        number = part.number if isinstance(part, Step) else part.step
        if depth < _DEEPEST:
            below = self._children.pop(_key(span), [])
            return Node(part, tuple(self._node(child, number, depth + 1) for child in below))
        return Node(part, tuple(Node(self._part(child, number)) for child in self._all_below(span)))

    def _part(self, span: SourceSpan, step: int | None) -> Part:
        return read_part(span, step, self._notes, double=_key(span) in self._doubles)

    def _all_below(self, span: SourceSpan) -> list[SourceSpan]:
        found: list[SourceSpan] = []
        left = self._children.pop(_key(span), [])
        while left:
            found.append(left.pop())
            left += self._children.pop(_key(found[-1]), [])
        return found

    def _missing(self, key: _Key) -> Node:
        below = self._children.pop(key)
        nodes = tuple(self._node(child, None, 1) for child in below)
        name = _what(nodes)
        spans = f"{len(below)} span" + "s" * (len(below) > 1)
        meaning = f"{name}, parent of {spans}, is not here (it never ended, was lost, or is elsewhere)"
        self._notes.append(Note("orphans", f"span {key[1]}", meaning))
        part = Other(span_id=key[1], name=name, started=min(node.part.started for node in nodes), missing=True)
        return Node(part, nodes)

    def _cut(self, span: SourceSpan) -> Node:
        self._children[_parent(span)].remove(span)
        self._notes.append(Note("circle", f"span {span.record.span_id}", "its parents form a circle; cut here"))
        node = self._node(span, None, 0)
        for key in [key for key, below in self._children.items() if not below]:
            del self._children[key]
        return node


def _what(nodes: Sequence[Node]) -> str:
    """What a missing span was, as far as its children tell: in our runs only the root has steps, only steps gates."""
    parts = [node.part for node in nodes]
    if any(isinstance(part, Step) for part in parts):
        return "the run's root"
    return "a step" if any(isinstance(part, Decision) for part in parts) else "a span"


def walk(tree: Sequence[Node]) -> Iterator[Part]:
    """All parts of the tree, parents first."""
    left = list(reversed(tree))
    while left:
        node = left.pop()
        yield node.part
        left += reversed(node.children)


def _key(span: SourceSpan) -> _Key:
    return span.record.trace_id, span.record.span_id


def _parent(span: SourceSpan) -> _Key:
    return span.record.trace_id, span.record.parent_span_id
