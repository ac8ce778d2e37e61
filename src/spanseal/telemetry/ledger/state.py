"""What a process remembers of its runs while they go on: writers, numbered rows, open spans. May import records.

A row takes 34 bytes, whatever the span holds; the rows of a run are given free once a manifest covers them all.
No method of ``RunState`` locks: the processor holds one re-entrant lock around every call (a garbage collection may
end a span in the middle of any line, on the same thread).
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from opentelemetry import context as otel_context
from opentelemetry.context import Context

from spanseal.effects import Effects
from spanseal.records import ledger
from spanseal.records.history import Bases

_RUN: Final = otel_context.create_key("spanseal-run")
_MOST_RUNS: Final = 10_000  # the numbering of a run that is this many runs ago is forgotten


@dataclass(frozen=True, slots=True)
class RunContext:
    """Which run this is; ``parent_run_id`` is empty unless the run was started inside another one.

    ``conversation_id`` is the application's, empty where it gave none; a run inside another one inherits it.
    """

    run_id: str
    agent_name: str
    parent_run_id: str = ""
    conversation_id: str = ""


class Writer:
    """One process (renewed after fork) that numbers spans; its key lives and dies with it."""

    __slots__ = ("id", "key")

    def __init__(self, effects: Effects) -> None:
        self.key = Ed25519PrivateKey.from_private_bytes(effects.random.bytes(32))
        self.id = ledger.writer_id(self.key.public_key().public_bytes_raw())


class RunState:
    """One run as one writer sees it.

    ``pending`` is True until the root span of a run that we opened ourselves has started; ``closed`` once the root has
    ended (or lies in another process): from then on further spans are covered by manifest spans. ``bases`` are the
    calls that later ones may build on, until then.
    """

    __slots__ = (
        "_counter",
        "_listed",
        "_rows",
        "bases",
        "children",
        "closed",
        "context",
        "first",
        "open",
        "pending",
        "uncovered",
        "writer",
    )

    def __init__(self, context: RunContext, *, pending: bool = False) -> None:
        self.context = context
        self.pending = pending
        self.children: list[str] = []
        self.writer: Writer | None = None
        self.closed = False
        self.bases: Bases | None = Bases()
        self._reset()

    def belong_to(self, writer: Writer) -> bool:
        """Called before each number; True for a writer's first one.

        After a fork the child counts anew, and the root is its parent's business.
        """
        if self.writer is writer:
            return False
        if self.writer is not None:
            self.close()
            self.children = []
            self._reset()
        self.writer = writer
        return True

    def close(self) -> None:
        """The root has ended, or lies in another process."""
        self.closed = True
        self.bases = None  # nobody would say when to give them free

    def start(self, span_id: int, start: int) -> int:
        """Number a span that starts now (nanoseconds); returns its seq."""
        seq = next(self._counter)
        self.open[seq] = None
        self._put(seq, span_id, start, ended=False, end=0, status=0)
        return seq

    def end(self, seq: int, span_id: int, start: int, end: int, status: int) -> None:
        """Enter a span's end (nanoseconds) and status (0, 1, 2)."""
        self.open.pop(seq, None)
        self._put(seq, span_id, start, ended=True, end=end, status=status)

    def manifest(self) -> str:
        """The signed manifest over all rows since the last ones that were given free."""
        writer = self.writer
        if writer is None:  # belong_to comes first
            raise RuntimeError("a run without writer has no manifest")
        self.uncovered = False
        self._listed = len(self.children)
        made = ledger.sign_manifest(
            writer.key,
            run_id=self.context.run_id,
            first=self.first,
            count=len(self._rows) // ledger.ROW.size,
            digest=hashlib.sha256(self._rows).hexdigest(),
            open=tuple(sorted(self.open)),
            children=tuple(self.children),
        )
        return ledger.encode_manifest(made)

    def free(self) -> None:
        """Give the rows free if a manifest covers them all and none is open; numbering goes on."""
        if self.closed and not self.open and not self.uncovered:
            self.first += len(self._rows) // ledger.ROW.size
            self._rows = bytearray()
            del self.children[: self._listed]
            self._listed = 0

    @property
    def size(self) -> int:
        """Bytes that the rows take."""
        return len(self._rows)

    def _reset(self) -> None:
        self._rows = bytearray()
        self._counter = itertools.count()
        self.first = 0
        self._listed = 0
        self.open: dict[int, None] = {}
        self.uncovered = False

    def _put(self, seq: int, span_id: int, start: int, *, ended: bool, end: int, status: int) -> None:
        self.uncovered = True
        place = (seq - self.first) * ledger.ROW.size
        if place < 0:
            return
        if len(self._rows) < place + ledger.ROW.size:
            self._rows.extend(bytes(place + ledger.ROW.size - len(self._rows)))
        ledger.ROW.pack_into(self._rows, place, seq, span_id.to_bytes(8), start, ended, end, status)


def run_of(context: Mapping[str, Any]) -> RunState | None:
    """The run that an OpenTelemetry context carries."""
    found = context.get(_RUN)
    return found if isinstance(found, RunState) else None


def with_run(state: RunState, context: Context | None = None) -> Context:
    """A context (by default: the current one) that carries the run."""
    return otel_context.set_value(_RUN, state, context)


_known: Final[OrderedDict[str, RunState]] = OrderedDict()


def remember(state: RunState) -> None:
    """From now on this process's numbering of the run can be found by the run's id."""
    run_id = state.context.run_id
    with contextlib.suppress(KeyError):  # another thread forgot it in between
        _known[run_id] = state
        _known.move_to_end(run_id)
        if len(_known) > _MOST_RUNS:
            _known.popitem(last=False)


def recalled(run_id: str) -> RunState | None:
    """The state of a run that has numbered spans in this process; None if there is none, or it was long ago."""
    return _known.get(run_id)


def known_run(run: RunContext) -> RunState:
    """The one state that this process has of a run, which may have its root in another process or on another host."""
    state = _known.get(run.run_id)
    if state is None:
        elsewhere = RunState(run)
        elsewhere.close()
        state = _known.setdefault(run.run_id, elsewhere)
    remember(state)
    return state
