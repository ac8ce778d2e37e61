"""Puts methods of other people's classes in place and takes them out again. May import the standard library only.

A method that somebody else has wrapped since is left in their chain when ours is undone: it then only passes on.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

Around: TypeAlias = Callable[..., Any]
"""Called as ``around(original, *args, **kwargs)`` in place of ``original(*args, **kwargs)``."""


class Patches:
    """Methods that are replaced while it is on.

    >>> class Bell:
    ...     def ring(self):
    ...         return "ding"
    >>> patches = Patches()
    >>> patches.put(Bell, "ring", lambda original, self: original(self) + " dong")
    >>> Bell().ring()
    'ding dong'
    >>> patches.undo()
    >>> Bell().ring()
    'ding'
    """

    def __init__(self) -> None:
        self._done: list[tuple[type, str, Any, Any]] = []
        self._on = [False]

    @property
    def on(self) -> bool:
        """Whether anything is replaced now."""
        return bool(self._done)

    def put(self, owner: type, name: str, around: Around) -> None:
        """Replace the method that ``owner`` itself defines, or inherits."""
        original = getattr(owner, name)
        on = self._on
        on[0] = True

        @functools.wraps(original)
        def replacement(*args: Any, **kwargs: Any) -> Any:
            return around(original, *args, **kwargs) if on[0] else original(*args, **kwargs)

        self._done.append((owner, name, owner.__dict__.get(name), replacement))
        setattr(owner, name, replacement)

    def holds(self, owner: type, name: str) -> bool:
        """Whether this method of this class is replaced."""
        return any(done[:2] == (owner, name) for done in self._done)

    def undo(self) -> None:
        """As before; what others have put on top since stays theirs."""
        done, self._done = self._done, []
        self._on[0], self._on = False, [False]
        for owner, name, before, ours in reversed(done):
            if owner.__dict__.get(name) is not ours:
                continue
            if before is None:
                delattr(owner, name)
            else:
                setattr(owner, name, before)
