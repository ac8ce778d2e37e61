"""Checked access to the fields of decoded OTLP JSON objects. Pure; imports errors only.

A missing field has its protobuf default; a field of another type, ``null`` included, is an
:class:`~spanseal.errors.OtlpError` that names it.
"""

from __future__ import annotations

import re
from typing import Any, cast

from spanseal.errors import OtlpError

JsonObject = dict[str, Any]
_TRACE_ID = re.compile(r"(?!0{32})[0-9a-f]{32}\Z")
_SPAN_ID = re.compile(r"(?!0{16})[0-9a-f]{16}\Z")
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]{0,19})\Z", re.ASCII)
_U64 = 1 << 64


def as_object(value: object, what: str) -> JsonObject:
    """``value`` if it is a JSON object."""
    if not isinstance(value, dict):
        raise OtlpError(f"{what} is {kind_of(value)}, not an object")
    return cast("JsonObject", value)


def array(owner: JsonObject, key: str) -> list[Any]:
    """The array ``key``, empty where absent."""
    value = owner.get(key, ())
    if value == ():
        return []
    if not isinstance(value, list):
        raise OtlpError(f"{key} is {kind_of(value)}, not an array")
    return cast("list[Any]", value)


def text(owner: JsonObject, key: str) -> str:
    """The string ``key``, empty where absent."""
    value = owner.get(key, "")
    if type(value) is not str:
        raise OtlpError(f"{key} is {kind_of(value)}, not a string")
    return value


def trace_id(owner: JsonObject) -> str:
    """The field ``traceId``: 32 lower hex digits, not all zero."""
    value = owner.get("traceId")
    if type(value) is not str or not _TRACE_ID.match(value):
        raise OtlpError("traceId is not 32 lower hex digits (or all zero)")
    return value


def span_id(owner: JsonObject, key: str = "spanId", *, optional: bool = False) -> str:
    """The field ``key``: 16 lower hex digits, not all zero; where ``optional``, also absent or empty."""
    value = owner.get(key, "")
    if optional and value == "":
        return ""
    if type(value) is not str or not _SPAN_ID.match(value):
        raise OtlpError(f"{key} is not 16 lower hex digits (or all zero)")
    return value


def whole(owner: JsonObject, key: str, limit: int = _U64) -> int:
    """The unsigned integer ``key`` below ``limit``, as a JSON number or decimal string; 0 where absent."""
    value = integer(owner.get(key, 0), key)
    if not 0 <= value < limit:
        raise OtlpError(f"{key} is out of range")
    return value


def integer(value: object, what: str) -> int:
    """A 64-bit integer, written as a JSON number or (as the encoders do) as a decimal string."""
    if type(value) is int:
        return value
    if type(value) is str and _DECIMAL.match(value):
        return int(value)
    raise OtlpError(f"{what} is {kind_of(value)}, not an integer or decimal string")


def kind_of(value: object) -> str:
    """What to call a JSON value in a message; never its content."""
    if value is None:
        return "null"
    names: dict[type, str] = {
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "an array",
        dict: "an object",
    }
    return names.get(type(value), "something else")
