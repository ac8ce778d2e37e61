"""What may happen once, whoever comes first: without a lock. May import nothing of spanseal."""

from __future__ import annotations


class Once:
    """Says yes to the first who asks, in any thread.

    No lock: garbage collection may ask while the lock was held by the very thread that it interrupted, and a fork
    would copy a lock that nobody ever opens again. Taking an item from a list is one step.

    >>> once = Once()
    >>> once.first(), once.first()
    (True, False)
    """

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left = [None]

    def first(self) -> bool:
        """True for the first caller only."""
        try:
            self._left.pop()
        except IndexError:
            return False
        return True
