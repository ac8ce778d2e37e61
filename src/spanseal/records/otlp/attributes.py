"""OTLP AnyValue and KeyValue lists to plain values. Pure; imports this package and errors."""

from __future__ import annotations

import binascii
import math
from collections.abc import Mapping
from typing import Any, cast

from spanseal.errors import OtlpError
from spanseal.records.otlp import fields
from spanseal.records.otlp.fields import JsonObject
from spanseal.records.otlp.values import Value

_I64_MIN, _I64_END = -(1 << 63), 1 << 63
_NAMED_FLOATS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_KINDS = ("stringValue", "intValue", "boolValue", "doubleValue", "arrayValue", "kvlistValue", "bytesValue")


def attributes(pairs: list[Any]) -> dict[str, Value]:
    """A list of KeyValue objects as a dict. A key twice in one list is refused (OTLP: keys MUST be unique).

    >>> attributes([{"key": "n", "value": {"intValue": "7"}}, {"key": "empty"}])
    {'n': 7, 'empty': None}
    """
    values: dict[str, Value] = {}
    for pair in pairs:
        if type(pair) is not dict:
            raise OtlpError(f"an attribute is {fields.kind_of(pair)}, not an object")
        known = cast("JsonObject", pair)
        key = known.get("key")
        if type(key) is not str or not key:
            raise OtlpError("an attribute has no key")
        values[key] = any_value(known["value"]) if "value" in known else None
    if len(values) != len(pairs):
        raise OtlpError("an attribute key stands twice in one list")
    return values


def any_value(value: object) -> Value:
    """One AnyValue; ``{}`` is None. Two kinds in one value are refused: they have two readings.

    >>> any_value({"arrayValue": {"values": [{"boolValue": True}, {"doubleValue": "NaN"}]}})
    (True, nan)
    """
    if type(value) is not dict:
        raise OtlpError(f"an attribute's value is {fields.kind_of(value)}, not an object")
    known = cast("JsonObject", value)
    if len(known) == 1 and type(text := known.get("stringValue")) is str:
        return text
    kinds = [kind for kind in _KINDS if kind in known] if len(known) != 1 else list(known)
    if not kinds:
        return None
    if len(kinds) > 1:
        raise OtlpError("an attribute's value has two kinds at once")
    return _of_kind(kinds[0], known[kinds[0]])


def _of_kind(kind: str, inner: Any) -> Value:
    match kind:
        case "stringValue" if type(inner) is str:
            return inner
        case "boolValue" if type(inner) is bool:
            return inner
        case "intValue":
            return _int64(inner)
        case "doubleValue":
            return _double(inner)
        case "arrayValue":
            return tuple(any_value(item) for item in fields.array(fields.as_object(inner, kind), "values"))
        case "kvlistValue":
            return attributes(fields.array(fields.as_object(inner, kind), "values"))
        case "bytesValue":
            return _base64(inner)
        case "stringValue" | "boolValue":
            raise OtlpError(f"{kind} is {fields.kind_of(inner)}")
        case _:
            return None  # a kind of a later OTLP: kept in the raw bytes, not readable


def _int64(value: object) -> int:
    number = fields.integer(value, "intValue")
    if not _I64_MIN <= number < _I64_END:
        raise OtlpError("intValue is out of range")
    return number


def _double(value: object) -> float:
    if type(value) is float or type(value) is int:
        return float(value)
    if type(value) is str and value in _NAMED_FLOATS:
        return _NAMED_FLOATS[value]
    raise OtlpError(f"doubleValue is {fields.kind_of(value)}, not a number, NaN or Infinity")


def _base64(value: object) -> bytes:
    if type(value) is not str:
        raise OtlpError(f"bytesValue is {fields.kind_of(value)}, not a base64 string")
    try:
        return binascii.a2b_base64(value.encode(), strict_mode=True) if value else b""
    except binascii.Error:
        raise OtlpError("bytesValue is not base64") from None


def named(owner: JsonObject) -> Mapping[str, Value]:
    """The ``attributes`` of a span, event, link, resource or scope."""
    return attributes(fields.array(owner, "attributes"))
