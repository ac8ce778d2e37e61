"""Who is told in a forked child, for as long as it lives. Imports the standard library only."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable


def call_in_child(method: Callable[[], None]) -> None:
    """Have the bound ``method`` called in every child that is forked from now on; its object is not kept alive."""
    weak = weakref.WeakMethod(method)

    def in_child() -> None:
        found = weak()
        if found is not None:
            found()

    os.register_at_fork(after_in_child=in_child)
