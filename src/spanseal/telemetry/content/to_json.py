"""Any Python value as JSON text, whatever it is. Pure; may import the wire's JSON.

orjson first, since most values are plain; what it cannot write (huge integers, lone surrogates, NaN, cycles, objects of
any class) is made plain by a bounded walk and written then.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime
import enum
import math
from collections.abc import Callable, Mapping, Set
from typing import Any, Final, cast

import orjson

from spanseal.genai.wire_json import mend_text

_OPTIONS: Final = orjson.OPT_NON_STR_KEYS | orjson.OPT_PASSTHROUGH_DATACLASS | orjson.OPT_PASSTHROUGH_SUBCLASS
_DEEPEST: Final = 64
INT64: Final = range(-(2**63), 2**63)


def to_json(value: Any) -> str:
    """``value`` as JSON text; never raises.

    Not JSON in itself: NaN and infinities become the strings ``"NaN"``, ``"Infinity"``, ``"-Infinity"``; bytes become
    ``{"base64": …}``; dates ISO text; pydantic models and dataclasses objects; sets sorted lists; anything else its
    ``str``, or the name of its type where it has none. A cycle or a depth over 64 becomes the string ``"<cycle>"`` or
    ``"<too deep>"``.

    >>> to_json({"price": 1.5, "at": datetime.date(2026, 1, 2), "raw": b"x"})
    '{"price":1.5,"at":"2026-01-02","raw":{"base64":"eA=="}}'
    >>> to_json(float("nan"))
    '"NaN"'
    """
    try:
        fast = orjson.dumps(value, option=_OPTIONS)
        # orjson writes NaN as null, which would be a lie: look again only where there is a null.
        if b"null" not in fast or not _holds_nonfinite(value, 0):
            return fast.decode()
    except Exception:  # noqa: BLE001, S110 - whatever it was, the walk below copes
        pass
    try:
        return orjson.dumps(_plain(value, _DEEPEST, frozenset())).decode()
    except Exception:  # noqa: BLE001 - the last resort for objects that fight back
        return '"<unprintable>"'


def _holds_nonfinite(value: Any, depth: int) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(_holds_nonfinite(item, depth + 1) for item in cast("dict[Any, Any]", value).values())
    if isinstance(value, list | tuple):
        return any(_holds_nonfinite(item, depth + 1) for item in cast("list[Any]", value))
    return False


def _plain(value: Any, depth: int, seen: frozenset[int]) -> Any:
    """``value`` built of dict, list, str, int, float, bool and None only."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, enum.Enum):
        return _plain(value.value, depth - 1, seen)
    if isinstance(value, int):
        return int(value) if value in INT64 else str(int(value))
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else nonfinite(value)
    if isinstance(value, str):
        return mend_text(str(value))
    if depth <= 0:
        return "<too deep>"
    if id(value) in seen:
        return "<cycle>"
    return _container(value, depth - 1, seen | {id(value)})


def _container(value: Any, depth: int, seen: frozenset[int]) -> Any:
    if isinstance(value, bytes | bytearray | memoryview):
        return {"base64": base64.b64encode(bytes(cast("bytes", value))).decode()}
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, Any]", value).items()
        return {_key(key): _plain(item, depth, seen) for key, item in items}
    if isinstance(value, list | tuple):
        return [_plain(item, depth, seen) for item in cast("list[Any]", value)]
    if isinstance(value, Set):  # in an order that does not differ from process to process
        return sorted((_plain(item, depth, seen) for item in cast("Set[Any]", value)), key=orjson.dumps)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: _plain(getattr(value, name, None), depth, seen) for name in names}
    dump = cast("Callable[[], Any] | None", getattr(value, "model_dump", None))
    if callable(dump) and not isinstance(value, type):
        try:
            return _plain(dump(), depth, seen)
        except Exception:  # noqa: BLE001 - a model that cannot dump itself is described instead
            return _described(value)
    return _described(value)


def nonfinite(value: float) -> str:
    """The name of a number that JSON does not have, as OTLP spells it."""
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _key(key: Any) -> str:
    return mend_text(key) if isinstance(key, str) else _described(key)


def _described(value: Any) -> str:
    if type(value).__str__ is object.__str__ and type(value).__repr__ is object.__repr__:
        return f"<{type(value).__module__}.{type(value).__qualname__}>"  # Python's own text holds an address
    try:
        return mend_text(str(value))
    except Exception:  # noqa: BLE001 - a broken __str__ is the object's fault, not ours
        return f"<{type(value).__module__}.{type(value).__qualname__}>"
