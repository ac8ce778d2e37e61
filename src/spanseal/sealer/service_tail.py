"""Seals what a tail reads: once to its end, or on and on. May import the rest of sealer and errors."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from spanseal.errors import StoreError, StoreStoppedError
from spanseal.sealer.group_commit import Seals
from spanseal.sealer.seal import SealReport
from spanseal.sealer.tail import Gap, Tail
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
    for _ in range(2):
        for batch in tail.poll():
            totals.add(sealer.seal(batch))
    for gap in tail.gaps:
        sealer.note_gap(gap.source, gap.sealed, gap.seen, gap.reason)


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
    said: set[Unread | Gap] = set()
    while not stop.is_set():
        for batch in tail.poll():
            if not _patiently(lambda batch=batch: totals.add(sealer.seal(batch)), stop):
                return
        for unread in tail.unread:
            if unread not in said:
                said.add(unread)
                log.warning("%s: %s", unread.path, unread.why)
        for gap in tail.gaps:
            if gap not in said:
                said.add(gap)
                log.warning("%s: after byte %d: %s", gap.path, gap.sealed, gap.reason)
                _patiently(lambda gap=gap: sealer.note_gap(gap.source, gap.sealed, gap.seen, gap.reason), stop)
        after()
        stop.wait(interval)


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
