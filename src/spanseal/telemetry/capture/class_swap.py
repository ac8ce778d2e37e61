"""Swapping an object's class for a subclass of the same name, and back. May import nothing of spanseal.

The name stays because clients put it into their User-Agent; ``isinstance`` holds, ``type(x) is Base`` does not.
"""

from __future__ import annotations

from typing import Any, Final

MARK: Final = "__spanseal_original__"


def swapped_class(base: type, methods: dict[str, Any]) -> type:
    """A subclass of ``base`` that looks like it and has ``methods``; remembers ``base``."""
    look = {"__qualname__": base.__qualname__, "__module__": base.__module__, "__doc__": base.__doc__, MARK: base}
    return type(base.__name__, (base,), look | methods)


def is_swapped(value: object) -> bool:
    """Whether the object's class was swapped."""
    return hasattr(type(value), MARK)


def swap_back(value: Any) -> None:
    """Give the object its own class again, if it was swapped."""
    original = getattr(value.__class__, MARK, None)
    if original is not None:
        value.__class__ = original
