"""One thread writes for all: what waits together is sealed together, and everyone is answered after the fsync.

Endpoint and tail hand their input to the same :class:`GroupCommit`, so the store has one writer and one order.
May import errors and the standard library; the sealer itself comes in as a protocol.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final, Protocol

from spanseal.errors import StoreError, StoreStoppedError
from spanseal.sealer.counters import Counters
from spanseal.sealer.seal import InputLine, SealReport

WAIT: Final = 0.005
GROUP_BYTES: Final = 4 << 20
HTTP: Final = "http"
"""The source of what came over the endpoint; its offsets count the bytes sealed from there."""


class Seals(Protocol):
    """What seals: durable and published on return (``sealer.seal.Sealer``, or a commit that others share)."""

    def seal(self, lines: Sequence[InputLine]) -> SealReport: ...

    def note_gap(self, source: str, start: int, end: int, reason: str) -> None: ...


@dataclass(slots=True)
class _Waiting:
    """One submission: lines of a file, a gap in one, or a body whose offsets are given out by the writer thread."""

    lines: Sequence[InputLine] = ()
    body: bytes | None = None
    gap: tuple[str, int, int, str] | None = None
    answer: Future[SealReport] = field(default_factory=Future[SealReport])

    @property
    def size(self) -> int:
        return len(self.body) if self.body is not None else sum(len(line.raw) for line in self.lines)


class GroupCommit:
    """Collects what waits, up to 4 MiB, seals it as one batch, then answers all who wait.

    While several send at once it waits up to 5 ms for more; one who sends alone is not kept waiting.

    ``position(source)`` is how many bytes of a source are sealed already. Thread-safe. A submission's
    future fails with the error of the seal: then nothing of it may be acknowledged. After a StoreStoppedError every
    further submission fails the same way and ``stopped`` tells why.
    """

    def __init__(self, sealer: Seals, position: Callable[[str], int], counters: Counters | None = None) -> None:
        self._sealer = sealer
        self._position = position
        self.counters = counters or Counters()
        self._queue: queue.SimpleQueue[_Waiting | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._waiting = 0
        self._closed = False
        self._crowded = False
        self.stopped: StoreStoppedError | None = None
        self._thread = threading.Thread(target=self._run, name="spanseal-writer", daemon=True)
        self._thread.start()

    @property
    def waiting_bytes(self) -> int:
        """Bytes handed in and not yet sealed."""
        return self._waiting

    def body(self, raw: bytes) -> Future[SealReport]:
        """Hand in one body of the endpoint."""
        return self._submit(_Waiting(body=raw))

    def seal(self, lines: Sequence[InputLine]) -> SealReport:
        """Hand in lines of files and wait. The report is that of everything that was sealed together."""
        return self._submit(_Waiting(lines)).result()

    def note_gap(self, source: str, start: int, end: int, reason: str) -> None:
        """Hand in a gap and wait until it is sealed."""
        self._submit(_Waiting(gap=(source, start, end, reason))).result()

    def close(self) -> None:
        """Seal what waits, then end. Later submissions fail."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._queue.put(None)
        self._thread.join()

    def _submit(self, waiting: _Waiting) -> Future[SealReport]:
        with self._lock:
            if self.stopped is not None:
                waiting.answer.set_exception(self.stopped)
            elif self._closed:
                waiting.answer.set_exception(StoreError("the sealer is stopping: send again to its successor"))
            else:
                waiting.answer.set_running_or_notify_cancel()  # a sender that goes away takes nothing back
                self._waiting += waiting.size
                self._queue.put(waiting)
        return waiting.answer

    def _run(self) -> None:
        more = True
        while more:
            group, more = self._collect()
            if group:
                self._commit(group)
                with self._lock:
                    self._waiting -= sum(waiting.size for waiting in group)

    def _collect(self) -> tuple[list[_Waiting], bool]:
        first = self._queue.get()
        if first is None:
            return [], False
        group, size, more = [first], first.size, True
        until = time.monotonic() + (WAIT if self._crowded else 0)
        while more and size < GROUP_BYTES:
            try:
                following = self._queue.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                break
            if following is None:
                more = False
            else:
                group.append(following)
                size += following.size
        self._crowded = len(group) > 1
        return group, more

    def _commit(self, group: list[_Waiting]) -> None:
        try:
            report = self._seal(group)
        except (StoreError, OSError) as error:
            self._fail(group, error)
        except Exception as error:  # noqa: BLE001 - an unforeseen fault is one sender's, not everybody's
            if len(group) == 1:
                self._fail(group, error)
                return
            for waiting in group:
                self._commit([waiting])
        else:
            self.counters.sealed(report.spans, report.duplicates, report.unparsable, report.size)
            for waiting in group:
                waiting.answer.set_result(report)

    def _seal(self, group: list[_Waiting]) -> SealReport:
        if self.stopped is not None:
            raise self.stopped
        lines: list[InputLine] = []
        at = self._position(HTTP)
        for waiting in group:
            if waiting.gap is not None:
                self._sealer.note_gap(*waiting.gap)
            lines.extend(waiting.lines)
            if waiting.body is not None:
                lines.append(InputLine(HTTP, at, at + len(waiting.body), waiting.body))
                at += len(waiting.body)
        return self._sealer.seal(lines)

    def _fail(self, group: list[_Waiting], error: Exception) -> None:
        if isinstance(error, StoreStoppedError):
            self.stopped = error
        for waiting in group:
            waiting.answer.set_exception(error)
