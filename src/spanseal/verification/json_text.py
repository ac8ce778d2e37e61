"""Strict reading of JSON that a model or a tool wrote: one meaning per text, bounded depth. Pure.

The standard parser accepts repeated keys (and drops one), NaN, Infinity and 1e999, and any depth; a text like that
means different things to different readers, so it is refused here with a message that a model can act on.

>>> parse('{"a": [1, 2]}')
{'a': [1, 2]}
"""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn, cast

MAX_DEPTH = 64


class JsonTextError(ValueError):
    """The text is not strict JSON; the message says what and where."""


def parse(text: str) -> Any:
    """The value of ``text``. Raises :class:`JsonTextError`: whoever wrote the text is at fault."""
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)
    except json.JSONDecodeError as error:
        raise JsonTextError(f"not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})") from None
    except RecursionError:
        raise JsonTextError(f"not accepted: nested deeper than {MAX_DEPTH} levels") from None
    except JsonTextError:
        raise
    except ValueError as error:
        raise JsonTextError(f"not accepted: {error}") from None
    if _too_deep(value):
        raise JsonTextError(f"not accepted: nested deeper than {MAX_DEPTH} levels")
    return value


def kind(value: object) -> str:
    """The JSON name of a value's type.

    >>> kind([]), kind(True), kind(1)
    ('array', 'boolean', 'integer')
    """
    if value is None:
        return "null"
    for python, name in ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"), (dict, "object")):
        if isinstance(value, python):
            return name
    return "array" if isinstance(value, list | tuple) else type(value).__name__


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        double = next(key for key, _ in pairs if key in seen or seen.add(key))
        raise JsonTextError(f"not accepted: the key {double!r} appears twice in one object")
    return made


def _finite(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise JsonTextError(f"not accepted: {text[:40]} is larger than any number that can be kept")
    return value


def _no_constant(name: str) -> NoReturn:
    raise JsonTextError(f"not accepted: {name} is no JSON number")


def _too_deep(value: object) -> bool:
    level: list[object] = [value]
    for _ in range(MAX_DEPTH):
        below: list[object] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(cast("dict[str, object]", item).values())
            elif isinstance(item, list):
                below.extend(cast("list[object]", item))
        if not below:
            return False
        level = below
    return True
