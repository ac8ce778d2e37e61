"""``durability="off"``: spans wait in memory for the sender, nothing is written. May import its siblings.

A killed process loses what was not delivered; a normal end says how much it could not deliver.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from spanseal.telemetry.export.intents import Key
from spanseal.telemetry.export.segment import Source
from spanseal.telemetry.export.start_line import opened

MOST_BYTES = 64 * 1024 * 1024


class Memory:
    """Lines in order of their coming, as the one source of the sender; the same calls as a journal's."""

    own = True
    failing = False

    def __init__(self, added: Callable[[Source], None]) -> None:
        self._added = added
        self._reset()

    def _reset(self) -> None:
        self._lock = threading.RLock()
        self._lines: deque[bytes] = deque()
        self._open: dict[Key, bytes] = {}
        self._announced = False
        self.size = self.sent = 0
        self.count = self.unsent = 0
        """All lines so far, and those that wait."""

    @property
    def held(self) -> bool:
        """No write is ever under way."""
        return False

    def start(self, key: Key, line: bytes) -> None:
        """Remember a start."""
        self._open[key] = line

    def end(self, key: Key | None, line: bytes) -> None:
        """Keep a line."""
        with self._lock:
            self._lines.append(line)
            self.size += len(line)
            self.count += 1
            self.unsent += 1
            announced, self._announced = self._announced, True
        if not announced:
            self._added(self)
        if key is not None:
            self._open.pop(key, None)

    def lose(self, key: Key) -> None:
        """It is missing, not open."""
        self._open.pop(key, None)

    def sync(self) -> None:
        """There is no disk."""

    def retire(self, segment: Source, *, tidy: bool) -> bool:
        """The one source is never removed."""
        del segment, tidy
        return False

    def after_fork(self) -> None:
        """The parent delivers its own."""
        self._reset()

    def close(self, now: int, *, keep: bool) -> int:
        """Add what has not ended as open; returns how many."""
        del keep
        still, self._open = self._open, {}
        for line in still.values():
            self.end(None, opened(line, now))
        return len(still)

    def leave(self, *, delivered: bool) -> None:
        """Nothing is left anywhere."""
        del delivered

    def lines(self, most: int) -> list[bytes]:
        """The first lines, together at most ``most`` bytes but at least one."""
        with self._lock:
            found: list[bytes] = []
            for line in self._lines:
                if found and len(line) > most:
                    break
                found.append(line)
                most -= len(line)
            return found

    def advance(self, count: int) -> None:
        """The first ``count`` bytes are delivered or set aside."""
        with self._lock:
            while count > 0:
                line = self._lines.popleft()
                count -= len(line)
                self.size -= len(line)
                self.unsent -= 1

    def tail(self) -> bytes:
        """Every line is whole."""
        return b""

    def remove(self) -> None:
        """There is no file."""

    def release(self) -> None:
        """There is no file."""
