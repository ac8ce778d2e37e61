"""Whether the program still holds what it reads a stream with: closed while held is the program's will, dropped is not.

A generator is told to stop by the same ``GeneratorExit`` in both cases. But Python clears the weak references to an
object before it runs the object's own clean-up, so whoever looks from inside of that clean-up can tell. May import
nothing of spanseal.
"""

from __future__ import annotations

import weakref
from contextlib import suppress
from typing import Any, TypeVar

_T = TypeVar("_T")


class Reader:
    """Watches the object that a program reads with: a client's stream, an adapter's or a client's generator.

    >>> reader, numbers = Reader(), (number for number in range(3))
    >>> reader.watch(numbers) is numbers, reader.held
    (True, True)
    >>> del numbers
    >>> reader.held
    False
    """

    __slots__ = ("_watched",)

    def __init__(self) -> None:
        self._watched: weakref.ref[Any] | None = None

    def watch(self, held: _T) -> _T:
        """Watch ``held`` unless something is watched already, and return it."""
        if self._watched is None:
            with suppress(TypeError):  # no weak references to it: then nothing is known
                self._watched = weakref.ref(held, _cleared)
        return held

    @property
    def held(self) -> bool:
        """Whether what is watched is still held by anybody; False where nothing is watched."""
        return self._watched is not None and self._watched() is not None


def _cleared(gone: object) -> None:
    """Garbage collection clears references that have a callback before any clean-up runs, in every version."""
