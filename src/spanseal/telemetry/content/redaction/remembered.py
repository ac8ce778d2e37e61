"""What was searched before: each turn of a conversation sends all earlier turns again. Imports nothing of spanseal.

A text is known by its hash, which Python keeps on the object and keys by a secret of the process, so that nobody can
make two texts collide on purpose.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Final

_MOST_CLEAN: Final = 20_000
_MOST_CHANGED: Final = 512
_LARGEST: Final = 64 * 1024


class Remembered:
    """The texts found clean lately, in two generations, and what became of those that were not.

    >>> seen = Remembered()
    >>> seen.add("a", "a")
    >>> seen.add("b", "c")
    >>> seen.get("a"), seen.get("b"), seen.get("c"), seen.get("d")
    ('a', 'c', 'c', None)
    """

    __slots__ = ("_changed", "_old", "_young")

    def __init__(self) -> None:
        self._young: set[int] = set()
        self._old: set[int] = set()
        self._changed: dict[int, str] = {}

    @property
    def clean(self) -> Set[int]:
        """The hashes of some of the texts that are known to be clean, for a first look."""
        return self._young

    def get(self, text: str) -> str | None:
        """The text itself if it is known to be clean, what it became, or None."""
        key = hash(text)
        if key in self._young:
            return text
        if key in self._old:
            self._clean(key)
            return text
        return self._changed.get(key)

    def add(self, text: str, became: str) -> None:
        """Remember; what a text became is clean."""
        if became is text or became == text:
            self._clean(hash(text))
            return
        self._clean(hash(became))
        if len(text) <= _LARGEST:
            if len(self._changed) >= _MOST_CHANGED:
                self._changed = {}
            self._changed[hash(text)] = became

    def _clean(self, key: int) -> None:
        if len(self._young) >= _MOST_CLEAN:
            self._old, self._young = self._young, set()
        self._young.add(key)
