"""Seals what a tail reads: once to its end, or on and on. May import the rest of sealer and errors."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from spanseal.errors import StoreError, StoreStoppedError
from spanseal.sealer.group_commit import Seals
from spanseal.sealer.seal import InputLine, SealReport
from spanseal.sealer.tail import Tail
from spanseal.sealer.tail_files import Unread

POLL: Final = 0.5
RETRY: Final = 1.0

log = logging.getLogger("spanseal.sealer")


@dataclass(slots=True)
class Totals:
    """What was sealed since the start; ``size`` is the log's size after the last seal, ``None`` before the first."""

    spans: int = 0
    duplicates: int = 0
    unparsable: int = 0
    size: int | None = None

    def add(self, report: SealReport) -> None:
        """Count one seal."""
        self.spans += report.spans
        self.duplicates += report.duplicates
        self.unparsable += report.unparsable
        self.size = report.size


def seal_once(tail: Tail, sealer: Seals, totals: Totals) -> None:
    """Seal every complete line there is now. Errors of the seal pass: what was sealed before them stays sealed.

    Looks twice, so that a file that was renamed between being listed and being opened is not left out.
    """
    gaps = _Gaps(tail, sealer)
    for _ in range(2):
        for batch in tail.poll():
            gaps.seal()
            totals.add(sealer.seal(batch))
        gaps.seal()


def seal_on(
    tail: Tail,
    sealer: Seals,
    totals: Totals,
    stop: threading.Event,
    *,
    after: Callable[[], None] = lambda: None,
    interval: float = POLL,
) -> None:
    """Seal what comes until ``stop`` is set. What is not durable is tried again, without end.

    ``after`` is called after each look at the files, every ``interval`` seconds. Raises StoreStoppedError only.
    """
    gaps = _Gaps(tail, sealer)
    said: set[Unread] = set()
    while not stop.is_set():
        for batch in tail.poll():

            def seal(batch: list[InputLine] = batch) -> None:
                gaps.seal()
                totals.add(sealer.seal(batch))

            if not _patiently(seal, stop) or stop.is_set():
                return
        _patiently(gaps.seal, stop)
        for unread in tail.unread:
            if unread not in said:
                said.add(unread)
                log.warning("%r: %s", str(unread.path), unread.why)  # a name is a stranger's
        after()
        stop.wait(interval)


class _Gaps:
    """Seals what a tail found missing, before the lines that were read instead: a crash cannot hide the gap."""

    def __init__(self, tail: Tail, sealer: Seals) -> None:
        self._tail, self._sealer = tail, sealer
        self._sealed = 0

    def seal(self) -> None:
        """Seal the gaps found since the last call."""
        while self._sealed < len(self._tail.gaps):
            gap = self._tail.gaps[self._sealed]
            self._sealer.note_gap(gap.source, gap.sealed, gap.seen, gap.reason)
            log.info("%r: after byte %d: %s", str(gap.path), gap.sealed, gap.reason)
            self._sealed += 1


def _patiently(seal: Callable[[], None], stop: threading.Event) -> bool:
    """Whether it became durable before ``stop``."""
    while True:
        try:
            seal()
        except StoreStoppedError:
            raise
        except (StoreError, OSError) as error:
            log.warning("not sealed, tried again every %g s: %s", RETRY, error)
            if stop.wait(RETRY):
                return False
        else:
            return True
