"""Swapping an object's class for a subclass of the same name, and back. May import nothing of spanseal.

The name stays because clients put it into their User-Agent; ``isinstance`` holds, ``type(x) is Base`` does not. What is
pickled is an object of the original class: another process may know nothing of the swap.
"""

from __future__ import annotations

import copyreg
import functools
from collections.abc import Callable, Mapping
from typing import Any, Final, cast

MARK: Final = "__spanseal_original__"


def swapped_class(base: type, methods: Callable[[Any], Mapping[str, Any]]) -> type:
    """A subclass of ``base`` that looks like it and has the ``methods`` made for it; remembers ``base``.

    The same one is given as long as it lives. No list is kept of them: a class that the program drops goes away.
    """
    for known in type.__subclasses__(base):
        if vars(known).get(MARK) is base:
            return known
    made = {name: _looking_like(getattr(base, name), method) for name, method in methods(base).items()}
    look = {"__qualname__": base.__qualname__, "__module__": base.__module__, "__doc__": base.__doc__, MARK: base}
    return _subclass(base, look | made | _copying(base))


def is_swapped(value: object) -> bool:
    """Whether the object's class was swapped; looks through transparent proxies."""
    return hasattr(value.__class__, MARK)


def swap(value: Any, methods: Callable[[Any], Mapping[str, Any]]) -> None:
    """Give the object the swapped form of its class; a second time changes nothing."""
    if not is_swapped(value):
        value.__class__ = swapped_class(value.__class__, methods)


def swap_back(value: Any) -> None:
    """Give the object its own class again, if it was swapped and nobody has swapped it once more since."""
    original: type | None = value.__class__.__dict__.get(MARK)
    if original is not None:
        value.__class__ = original


class _Unannounced:
    """Keeps our subclass out of a program's own ``__init_subclass__``: registries, required keywords."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Announces nothing to the classes behind."""


def _subclass(base: type, holds: dict[str, Any]) -> type:
    announce = getattr(base.__init_subclass__, "__func__", None)
    if announce is None or announce.__module__ == "typing":
        return type(base.__name__, (base,), holds)

    def mro(cls: type) -> list[type]:
        return [cls, _Unannounced, *base.__mro__]  # a second base would change the layout of the objects

    meta = type(base)
    return type(meta.__name__, (meta,), {"mro": mro})(base.__name__, (base,), holds)


def _looking_like(original: Any, method: Any) -> Any:
    """``method`` under the signature, name and words of what it stands before."""
    return functools.update_wrapper(method, original)


def _copying(base: Any) -> dict[str, Any]:
    def __reduce_ex__(self: Any, protocol: Any) -> Any:  # noqa: N807 - takes the place of one
        parts = base.__reduce_ex__(self, protocol)
        if not isinstance(parts, tuple):
            return parts
        make, given, *rest = cast("tuple[Any, ...]", parts)
        if make is copyreg.__newobj__:  # type: ignore[attr-defined]  # pickle holds its class against the object's
            make = base.__new__
        return (make, tuple(base if _is_form_of(each, base) else each for each in given), *rest)

    def __copy__(self: Any) -> Any:  # noqa: N807 - takes the place of one
        made = base.__copy__(self) if hasattr(base, "__copy__") else _rebuilt(*self.__reduce_ex__(4)[:3])
        if made.__class__ is base:
            made.__class__ = self.__class__
        return made

    return {"__reduce_ex__": __reduce_ex__, "__copy__": __copy__}


def _is_form_of(value: Any, base: type) -> bool:
    return isinstance(value, type) and vars(value).get(MARK) is base


def _rebuilt(make: Callable[..., Any], given: tuple[Any, ...], state: Any = None) -> Any:
    """What ``copy.copy`` does with an object taken apart by ``__reduce_ex__`` (Python library reference, copy)."""
    made = make(*given)
    if state is None:
        return made
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
        return made
    plain, slots = cast("tuple[Any, Any]", state) if isinstance(state, tuple) else (state, None)
    made.__dict__.update(plain or {})
    slotted: dict[str, Any] = slots or {}
    for name, value in slotted.items():
        setattr(made, name, value)
    return made
