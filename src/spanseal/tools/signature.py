"""From a function to its JSON Schema, and from a checked object to the keyword arguments it takes. Pure.

>>> def add(a: int, b: int = 1) -> int:
...     return a + b
>>> signature_of(add).parameters["required"]
['a']
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_type_hints

from spanseal.errors import UsageError
from spanseal.genai.plain_json import plain
from spanseal.tools.annotation import Shape, is_json, object_schema, shape_of
from spanseal.tools.docstring import described

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function takes and gives. ``returns`` is None where the annotation promises nothing checkable."""

    description: str
    parameters: dict[str, Any]
    shapes: Mapping[str, Shape]
    returns: dict[str, Any] | None

    def bind(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The keyword arguments for values that follow ``parameters``; what is absent keeps its default."""
        return {name: self.shapes[name].convert(value) for name, value in arguments.items()}


def signature_of(function: Callable[..., Any]) -> Signature:
    """Read ``function``. Raises :class:`UsageError` naming the parameter that JSON cannot carry."""
    name = getattr(function, "__name__", type(function).__name__)
    _refuse(function, name)
    try:
        target = function if inspect.isroutine(function) else type(function).__call__
        hints = get_type_hints(target, include_extras=True)
        given = inspect.signature(function).parameters.values()
    except Exception as error:
        raise UsageError(
            f"tool {name}: its annotations cannot be read: {error}; types that they name are looked up in the module"
        ) from error
    text, notes = described(function.__doc__)
    shapes: dict[str, Shape] = {}
    required: list[str] = []
    for parameter in given:
        place = f"tool {name}, parameter {parameter.name}"
        if parameter.kind not in _NAMED:
            raise UsageError(f"{place}: a tool's parameters have names; no *args, **kwargs or positional-only ones")
        if parameter.name == "self" and parameter.name not in hints:
            raise UsageError(f"{place}: it is a method without its object; give the bound one, tool(obj.{name})")
        if parameter.name not in hints:
            raise UsageError(f"{place}: it has no annotation; annotate it, so that the model knows what to pass")
        shape = _shape(hints[parameter.name], place).described(notes.get(parameter.name, ""))
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
        elif is_json(plain(parameter.default), parameter.default):
            shape = Shape(shape.schema | {"default": plain(parameter.default)}, shape.convert)
        shapes[parameter.name] = shape
    return Signature(text, object_schema(shapes, required), shapes, _returned(hints.get("return", Any)))


def _refuse(function: object, name: str) -> None:
    if not callable(function):
        raise UsageError(f"tool: {function!r} is no function; annotate a function and give that")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise UsageError(f"tool {name}: a generator has no one result that a model can read; return a list")
    if isinstance(function, type | functools.partial):
        kind = "a class" if isinstance(function, type) else "a functools.partial"
        raise UsageError(f"tool {name}: it is {kind}; give a function with annotations and a docstring of its own")


def _shape(annotation: Any, place: str) -> Shape:
    try:
        return shape_of(annotation, place)
    except RecursionError:
        raise UsageError(f"{place}: its type contains itself; use dict for the inner one") from None
    except (NameError, TypeError, AttributeError) as error:
        raise UsageError(f"{place}: its type cannot be read: {error}") from error


def _returned(annotation: Any) -> dict[str, Any] | None:
    try:
        schema = _shape(annotation, "return").schema
    except UsageError:
        return None
    return schema or None
