"""From Python annotations to JSON Schema, and from checked JSON values to Python values. Pure.

Understood: str, int, float, bool, None, list[X], tuple[X, ...], dict[str, X], X | Y, Optional, Literal, Enum,
dataclasses, NewType, Annotated[X, "description"] and Any. No value changes its meaning: the only conversion between
numbers is int to float.

>>> shape_of(list[int]).schema
{'type': 'array', 'items': {'type': 'integer'}}
"""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, NewType, Union, cast, get_args, get_origin, get_type_hints

from spanseal.errors import UsageError
from spanseal.verification.json_schema import problems


def _as_is(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class Shape:
    """A JSON Schema and the function that turns a value that follows it into the Python value."""

    schema: dict[str, Any]
    convert: Callable[[Any], Any] = _as_is

    def described(self, text: str) -> Shape:
        """With a description, unless there is one."""
        return Shape({"description": text} | self.schema, self.convert) if text else self


_SIMPLE: dict[Any, Shape] = {
    str: Shape({"type": "string"}),
    int: Shape({"type": "integer"}),
    float: Shape({"type": "number"}, float),
    bool: Shape({"type": "boolean"}),
    None: Shape({"type": "null"}),
    type(None): Shape({"type": "null"}),
    Any: Shape({}),
    object: Shape({}),
    list: Shape({"type": "array"}),
    dict: Shape({"type": "object"}),
}


def shape_of(annotation: Any, place: str = "annotation") -> Shape:
    """The shape of ``annotation``. Raises :class:`UsageError` naming ``place`` for one that JSON cannot carry."""
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return _enum(annotation, place)
    if isinstance(annotation, type) and dataclasses.is_dataclass(annotation):
        return _dataclass(annotation, place)
    if isinstance(annotation, NewType):
        return shape_of(annotation.__supertype__, place)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is None:
        try:
            return _SIMPLE[annotation]
        except (KeyError, TypeError):
            raise UsageError(f"{place}: {annotation!r} has no JSON form; use str, int, float, bool, list, dict, "
                             "Optional, Literal, Enum or a dataclass") from None
    if origin is Annotated:
        words = next((note for note in arguments[1:] if isinstance(note, str)), "")
        return shape_of(arguments[0], place).described(words)
    if origin is Literal:
        return Shape({"enum": [_scalar(value, place) for value in arguments]})
    if origin in (Union, types.UnionType):
        return _union([shape_of(part, place) for part in arguments])
    if origin in (list, Sequence) or (origin is tuple and arguments[1:] == (Ellipsis,)):
        return _array(shape_of(arguments[0], f"{place}[]"), tuple if origin is tuple else list)
    if origin in (dict, Mapping) and arguments[0] is str:
        return _mapping(shape_of(arguments[1], f"{place}{{}}"))
    raise UsageError(f"{place}: {annotation!r} has no JSON form; lists take one type, dictionaries have text keys")


def _enum(annotation: type[Enum], place: str) -> Shape:
    return Shape({"enum": [_scalar(member.value, place) for member in annotation]}, annotation)


def _scalar(value: object, place: str) -> Any:
    if isinstance(value, Enum) or not is_json(value, value) or isinstance(value, list | tuple | dict):
        raise UsageError(f"{place}: {value!r} cannot be told from others in JSON; use texts, numbers, booleans or None")
    return value


def is_json(value: object, original: object) -> bool:
    """Whether ``value``, a JSON form of ``original``, says all that it says and can be written.

    >>> is_json([1], (1,)), is_json("<object>", object())
    (True, False)
    """
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return False
    return not isinstance(value, str) or isinstance(original, str | Enum)


def _array(item: Shape, made: type[list[Any]] | type[tuple[Any, ...]]) -> Shape:
    return Shape({"type": "array", "items": item.schema}, lambda values: made(item.convert(v) for v in values))


def _mapping(item: Shape) -> Shape:
    def convert(value: dict[str, Any]) -> dict[str, Any]:
        return {key: item.convert(each) for key, each in value.items()}

    return Shape({"type": "object", "additionalProperties": item.schema}, convert)


def _union(parts: list[Shape]) -> Shape:
    names = [part.schema.get("type") for part in parts if set(part.schema) == {"type"}]
    schema = {"type": names} if len(names) == len(parts) else {"anyOf": [part.schema for part in parts]}

    def convert(value: Any) -> Any:
        fitting = (part for part in parts if not problems(value, part.schema, exact_integers=True))
        return next(fitting).convert(value)

    return Shape(schema, convert)


def _dataclass(annotation: type, place: str) -> Shape:
    shapes: dict[str, Shape] = {}
    required: list[str] = []
    hints = get_type_hints(annotation, include_extras=True)
    for field in dataclasses.fields(cast("Any", annotation)):
        if not field.init:
            continue
        shapes[field.name] = shape_of(hints[field.name], f"{place}.{field.name}")
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            required.append(field.name)

    def convert(value: dict[str, Any]) -> Any:
        return annotation(**{key: shapes[key].convert(each) for key, each in value.items()})

    return Shape(object_schema(shapes, required), convert)


def object_schema(shapes: Mapping[str, Shape], required: Sequence[str]) -> dict[str, Any]:
    """The schema of an object with exactly these keys."""
    return {
        "type": "object",
        "properties": {name: shape.schema for name, shape in shapes.items()},
        "required": list(required),
        "additionalProperties": False,
    }
