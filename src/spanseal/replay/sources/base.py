"""What every source gives: spans with their place, notes, and a verdict where there is one.

May import ``records``, ``audit`` (types) and the siblings ``note`` and ``seen``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from spanseal.records.otlp import SpanRecord
from spanseal.replay.note import Note
from spanseal.replay.sources.seen import Seen

if TYPE_CHECKING:
    from spanseal.audit.verify import Verdict

Content: TypeAlias = Literal["open", "withheld", "erased", "missing"]
_MOST_NOTES: Final = 1000


@dataclass(frozen=True, slots=True)
class SourceSpan:
    """A span and where it came from; ``content`` says whether its private values are readable here, ``conflict``
    whether another span with the same ids says something else, ``lost`` why its messages cannot be restored from the
    earlier calls that they build on (empty: they can, or are here in full)."""

    record: SpanRecord
    place: str
    content: Content = "open"
    conflict: bool = False
    lost: str = ""


class NoteLog:
    """Notes in order, bounded: what comes after the first thousand is counted."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._notes: list[Note] = []
        self._more = 0

    def add(self, kind: str, where: str, meaning: str) -> None:
        """Remember a note, or count it."""
        self.counts[kind] += 1
        if len(self._notes) < _MOST_NOTES:
            self._notes.append(Note(kind, where, meaning))
        else:
            self._more += 1

    def all(self) -> tuple[Note, ...]:
        """The notes so far."""
        more = (Note("more", "source", f"{self._more} further notes of these kinds"),) if self._more else ()
        return (*self._notes, *more)


class Source(ABC):
    """Recorded spans in a place. Each call of :meth:`read` reads again from the beginning."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.verdict: Verdict | None = None
        self.witnessed = False
        self._log = NoteLog()

    @property
    def notes(self) -> tuple[Note, ...]:
        """What the last reading skipped or found odd, with places; complete when the reading is."""
        return self._log.all()

    @property
    def note_counts(self) -> Mapping[str, int]:
        """How many notes of each kind the last reading had, those included that were too many to keep."""
        return self._log.counts

    def read(self) -> Iterator[SourceSpan]:
        """Every span once, in the order found. Repetitions are dropped and counted in a note."""
        self._log = NoteLog()
        seen = Seen()
        for span in self._stored():
            newness = "conflict" if span.conflict else seen.judge(span.record)
            if newness == "duplicate":
                continue
            if newness == "conflict":
                self._log.add("conflict", span.place, _two_contents(span.record))
                span = SourceSpan(span.record, span.place, span.content, conflict=True)
            yield span
        if seen.duplicates:
            self._log.add("duplicate", self.path.name, f"{seen.duplicates} spans came more than once; taken once")

    def spans(self) -> Iterator[SpanRecord]:
        """The bare spans of :meth:`read`."""
        return (span.record for span in self.read())

    @abstractmethod
    def _stored(self) -> Iterator[SourceSpan]:
        """The spans as they lie there, repetitions included; adds notes to ``self._log``."""


def _two_contents(record: SpanRecord) -> str:
    return f"span {record.span_id} of trace {record.trace_id} is there with two contents; both are kept"
