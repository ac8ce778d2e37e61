"""Breaks one function of ours at a time, wherever it is called from: instead of its work, or right after it, it raises.

The function object keeps its identity, so every name that was imported from elsewhere is broken with it.
"""

from __future__ import annotations

import builtins
import contextlib
import gc
import inspect
import sys
import threading
import warnings
from collections.abc import Callable, Generator
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any

import spanseal

_SOURCE = str(Path(spanseal.__file__).parent)


def functions_run_by(program: Callable[[], Any]) -> list[FunctionType]:
    """Every function of spanseal that the program and the threads it starts run, in order of their first call."""
    codes: dict[CodeType, None] = {}

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(_SOURCE):
            codes[frame.f_code] = None

    before = sys.getprofile()
    threading.setprofile(look)
    sys.setprofile(look)
    try:
        program()
    finally:
        sys.setprofile(before)
        threading.setprofile(None)
    found: dict[CodeType, FunctionType] = {}
    for held in gc.get_objects():
        if isinstance(held, FunctionType) and held.__code__ in codes:
            found[held.__code__] = held
    return [found[code] for code in codes if code in found]


@contextlib.contextmanager
def broken(function: FunctionType, error: str, *, after: bool) -> Generator[None]:
    """Inside, every call of the function raises the builtin ``error``; ``after`` its work was done."""
    whole = function.__code__
    original = FunctionType(whole, function.__globals__, whole.co_name, function.__defaults__, function.__closure__)
    original.__kwdefaults__ = function.__kwdefaults__
    setattr(builtins, "_spanseal_original", original)  # noqa: B010 - no attribute that a type checker knows
    _become(function, _raising(whole, error, after=after and not inspect.isgeneratorfunction(original)))
    try:
        yield
    finally:
        _become(function, whole)
        del builtins._spanseal_original  # type: ignore[attr-defined]  # pyright: ignore


def _become(function: FunctionType, code: CodeType) -> None:
    with warnings.catch_warnings():  # Python 3.13 frowns on a generator that becomes a plain function
        warnings.simplefilter("ignore", DeprecationWarning)
        function.__code__ = code


def _raising(whole: CodeType, error: str, *, after: bool) -> CodeType:
    names = ", ".join(whole.co_freevars)
    waits = bool(whole.co_flags & inspect.CO_COROUTINE)
    work = f"{'await ' if waits else ''}_spanseal_original(*args, **kwargs)" if after else "pass"
    source = (
        f"def make({names}):\n"
        f"    {'async ' if waits else ''}def injected(*args, **kwargs):\n"
        f"        if 0: ({names})\n"
        f"        {work}\n"
        f"        raise {error}('injected')\n"
        "    return injected\n"
    )
    space: dict[str, Any] = {}
    exec(compile(source, "<injected>", "exec"), space)
    made: FunctionType = space["make"](*whole.co_freevars)
    return made.__code__.replace(co_name=whole.co_name)
