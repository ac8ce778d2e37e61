"""Clock, ids and randomness that a test sets: the same run gives the same bytes. May import effects only."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass, field

from spanseal.effects import Effects


class FixedClock:
    """A clock that stands at ``now_ns`` and moves only when told; each reading moves it on by ``step_ns``.

    >>> clock = FixedClock(1_000)
    >>> clock.sleep(2.0)
    >>> clock.time_ns()
    2000001000
    """

    def __init__(self, now_ns: int = 1_700_000_000_000_000_000, step_ns: int = 0) -> None:
        self.now_ns = now_ns
        self.step_ns = step_ns
        self.slept: list[float] = []
        self._lock = threading.Lock()
        self._began = now_ns

    def time_ns(self) -> int:
        """The time, nanoseconds since 1970."""
        with self._lock:
            now = self.now_ns
            self.now_ns += self.step_ns
            return now

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return (self.time_ns() - self._began) / 1e9

    def sleep(self, seconds: float) -> None:
        """Move on at once; ``slept`` remembers each wait."""
        self.slept.append(seconds)
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Move on by ``seconds``."""
        with self._lock:
            self.now_ns += round(seconds * 1e9)


class FixedIds:
    """Ids counted from one, in a form that is valid everywhere.

    >>> FixedIds().run_id()
    '00000000000000000000000000000001'
    """

    def __init__(self, first: int = 1) -> None:
        self._lock = threading.Lock()
        self._runs = first - 1

    def run_id(self) -> str:
        """32 hex digits."""
        with self._lock:
            self._runs += 1
            return f"{self._runs:032x}"


class FixedRandomness:
    """Bytes that follow from ``seed`` and how many were asked for before.

    >>> FixedRandomness(1).bytes(4) == FixedRandomness(1).bytes(4)
    True
    """

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._calls = 0
        self._lock = threading.Lock()

    def bytes(self, count: int) -> bytes:
        """``count`` bytes, the same in every run."""
        with self._lock:
            self._calls += 1
            start = f"{self._seed} {self._calls} ".encode()
        blocks = (hashlib.sha256(start + str(block).encode()).digest() for block in range(count // 32 + 1))
        return b"".join(blocks)[:count]


@dataclass(frozen=True, slots=True)
class FixedEffects(Effects):
    """The bundle of the three, for ``configure(effects=…)`` and wherever effects are asked for."""

    clock: FixedClock = field(default_factory=FixedClock)
    ids: FixedIds = field(default_factory=FixedIds)
    random: FixedRandomness = field(default_factory=FixedRandomness)
