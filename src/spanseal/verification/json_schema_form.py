"""Refuses a JSON Schema that :mod:`json_schema` would not obey, when it is given and not when it is used. Pure.

>>> check_schema({"type": "object", "properties": {"n": {"minimum": "3"}}})
Traceback (most recent call last):
spanseal.errors.UsageError: schema.properties.n.minimum: expected is a number, not string
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, cast

from spanseal.errors import UsageError
from spanseal.verification.json_text import kind

ANNOTATIONS = frozenset({
    "$schema", "$id", "$defs", "definitions", "$comment", "title", "description", "default", "examples",
    "deprecated", "readOnly", "writeOnly", "format", "contentEncoding", "contentMediaType",
})
TYPES = frozenset({"null", "boolean", "integer", "number", "string", "array", "object"})
_NESTED_ONE = ("items", "additionalProperties", "not")
_NESTED_LIST = ("allOf", "anyOf", "oneOf", "prefixItems")
_NESTED_MAP = ("properties", "$defs", "definitions")
ASSERTIONS = frozenset({
    "$ref", "type", "enum", "const", "properties", "required", "additionalProperties", "minProperties",
    "maxProperties", "items", "prefixItems", "minItems", "maxItems", "uniqueItems", "minLength", "maxLength",
    "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "allOf", "anyOf", "oneOf",
    "not",
})


def check_schema(schema: object, place: str = "schema") -> None:
    """Refuse a schema that the validator would not obey. Raises :class:`UsageError` naming the keyword's place."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, Mapping):
        raise UsageError(f"{place}: a JSON Schema is an object or a boolean, not {kind(schema)}")
    for keyword, argument in cast("Mapping[Any, Any]", schema).items():
        here = f"{place}.{keyword}"
        if keyword not in ASSERTIONS and keyword not in ANNOTATIONS:
            raise UsageError(f"{here}: this keyword is not supported; supported are {', '.join(sorted(ASSERTIONS))}")
        fits, words = _FORMS.get(keyword, _ANYTHING)
        if not fits(argument):
            raise UsageError(f"{here}: expected is {words}, not {kind(argument)}")
        _check_inside(keyword, argument, here)


def _check_inside(keyword: str, argument: Any, place: str) -> None:
    if keyword in _NESTED_ONE:
        check_schema(argument, place)
    elif keyword in _NESTED_LIST:
        for index, part in enumerate(argument):
            check_schema(part, f"{place}[{index}]")
    elif keyword in _NESTED_MAP:
        for name, part in argument.items():
            check_schema(part, f"{place}.{name}")
    elif keyword == "type":
        for name in (argument,) if isinstance(argument, str) else argument:
            if name not in TYPES:
                raise UsageError(f"{place}: {name!r} is no JSON type; possible are {', '.join(sorted(TYPES))}")
    elif keyword == "pattern":
        try:
            re.compile(argument)
        except re.error as error:
            raise UsageError(f"{place}: {error}") from None
    elif keyword == "$ref" and not argument.startswith("#"):
        raise UsageError(f"{place}: only references inside the schema ('#/...') are followed")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)


def _texts(value: object) -> bool:
    return _is_list(value) and all(isinstance(item, str) for item in cast("list[object]", value))


_Form = tuple[Callable[[Any], bool], str]
_ANYTHING: _Form = (lambda value: True, "anything")
_TEXT: _Form = (lambda value: isinstance(value, str), "a text")
_NUMBER: _Form = (_is_number, "a number")
_COUNT: _Form = (lambda value: _is_number(value) and value >= 0 and value == int(value), "a whole number from 0 on")
_MAP: _Form = (lambda value: isinstance(value, Mapping), "an object")
_LIST: _Form = (_is_list, "a list")
_SOME: _Form = (lambda value: _is_list(value) and len(value) > 0, "a list that is not empty")
_FORMS: dict[str, _Form] = {
    "$ref": _TEXT, "pattern": _TEXT, "type": (lambda value: isinstance(value, str) or _texts(value), "a type or types"),
    "required": (_texts, "a list of names"), "enum": _LIST, "uniqueItems": (lambda v: isinstance(v, bool), "a boolean"),
    "multipleOf": (lambda value: _is_number(value) and value > 0, "a number above 0"),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _NUMBER),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _COUNT),
    **dict.fromkeys(_NESTED_MAP, _MAP),
    **dict.fromkeys(("allOf", "anyOf", "oneOf"), _SOME), "prefixItems": _LIST,
}
