"""Everything that comes from outside and differs from run to run: clock, ids, randomness.

Pure modules take an :class:`Effects` value and never call the operating system themselves, so a rerun can feed
the recorded values and a test fixed ones (``spanseal.testing``). What no record holds and no rerun feeds is taken
where it is needed: how long an export waits, the log's own key, the name of a process. May import the standard library
only.

>>> Effects().clock.time_ns() > 0
True
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from typing import Protocol


class Clock(Protocol):
    """Where time comes from."""

    def time_ns(self) -> int:
        """Wall clock, nanoseconds since 1970 (UTC); may step."""
        ...

    def monotonic(self) -> float:
        """Seconds since some start; never steps back."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait; a fixed clock only moves on."""
        ...


class Ids(Protocol):
    """Where new identities come from."""

    def run_id(self) -> str:
        """A new run id: 32 lower-case hex digits."""
        ...


class Randomness(Protocol):
    """Where random bytes come from (salts, nonces, keys of writers and runs)."""

    def bytes(self, count: int) -> bytes:
        """``count`` bytes fit for keys."""
        ...


class SystemClock:
    """The machine's clock."""

    def time_ns(self) -> int:
        return time.time_ns()

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class RandomIds:
    """Ids from the machine's randomness."""

    def run_id(self) -> str:
        return secrets.token_hex(16)


class SystemRandomness:
    """The machine's randomness."""

    def bytes(self, count: int) -> bytes:
        return secrets.token_bytes(count)


@dataclass(frozen=True, slots=True)
class Effects:
    """The bundle that is handed down; real ones by default.

    >>> len(Effects().ids.run_id())
    32
    """

    clock: Clock = field(default_factory=SystemClock)
    ids: Ids = field(default_factory=RandomIds)
    random: Randomness = field(default_factory=SystemRandomness)
