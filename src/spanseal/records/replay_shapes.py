"""Shapes of the replay record: what of a message or tool on the wire the conventions' value does not hold. Pure.

A shape is the wire's JSON with pointers in place of what lies in the value. A pointer is an object of one key:

- ``{"$": "0.content"}`` the field ``content`` of part 0, ``{"$": "role"}`` a field of the message or tool itself,
  ``{"$": "#0"}`` part 0 as a whole
- ``{"$json": "0.arguments"}`` and ``{"$spaced": …}`` that value as JSON text, compact or with the spaces that Python's
  ``json.dumps`` writes
- ``{"$data": 0}`` part 0 (a blob) as a data URL
- ``{"$lit": …}`` what follows as it is, for objects of the wire that look like pointers

May import genai only.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import orjson

from spanseal.genai.wire_json import JsonObject, as_list, as_map, as_text, encoded, is_list, is_map

_PLAIN_WIRE: Final = ("role", "content")
_PLAIN_SHAPE: Final = {"role": {"$": "role"}, "content": {"$": "0.content"}}
_OWN_FIELDS: Final = ("role", "name", "description", "parameters", "id")
_PART_FIELDS: Final = (
    "content", "id", "name", "response", "uri", "file_id", "refusal", "arguments", "encrypted_content",
    "server_tool_call",
)
_LONG: Final = 16
_SHORT_SHAPE: Final = 4096
_MOST_TOOLS: Final = 256
_LONG_TOOL: Final = 8192


class Shapes:
    """The distinct shapes of one request's messages and tools. ``quick`` guesses that what has the same keys has the
    shape of the last one with these keys, which the caller must check by the bytes.

    >>> shapes = Shapes()
    >>> role, said = "user", "how are you?"
    >>> value = {"role": role, "parts": [{"type": "text", "content": said}]}
    >>> shapes.numbers([{"role": role, "content": said}], [value])
    ([0], [{'role': 'user', 'content': 'how are you?'}])
    >>> shapes.all
    [{'role': {'$': 'role'}, 'content': {'$': '0.content'}}]
    """

    def __init__(self, *, quick: bool = True) -> None:
        self.all: list[Any] = []
        self._makers: list[Callable[[JsonObject], Any]] = []
        self._numbers: dict[bytes, int] = {}
        self._like: dict[tuple[Any, ...], int] | None = {} if quick else None
        self._plain = -1

    def numbers(
        self, wires: Sequence[Any], values: Sequence[JsonObject | None], *, tools: bool = False
    ) -> tuple[list[int], list[Any]]:
        """The number of the shape of each of ``wires``, whose content is in ``values``, and what the two give back.

        None stands for the value of a message that is a role and a text (:mod:`spanseal.genai.sent_messages`);
        ``tools`` says that these are tools, mostly those of the request before.
        Raises ValueError, TypeError or LookupError for what has no shape.
        """
        numbers: list[int] = []
        made: list[Any] = []
        for wire, value in zip(wires, values, strict=True):
            if value is None or _plain(wire, value):
                if self._plain < 0:
                    self._plain = self._add(_PLAIN_SHAPE)
                number, back = self._plain, wire
            else:
                number, back = self._number(wire, value, _tool_shape if tools else _new_shape)
            numbers.append(number)
            made.append(back)
        return numbers, made

    def _number(
        self, wire: Any, value: JsonObject, shape_of: Callable[[Any, JsonObject], Any]
    ) -> tuple[int, Any]:
        keys = tuple(wire) if is_map(wire) else ()
        found = self._guessed(keys, wire, value)
        if found is None:
            number = self._add(shape_of(wire, value))
            if self._like is not None:
                self._like[keys] = number
            found = number, self._makers[number](value)
        return found

    def _guessed(self, keys: tuple[Any, ...], wire: Any, value: JsonObject) -> tuple[int, Any] | None:
        number = None if self._like is None else self._like.get(keys)
        if number is None:
            return None
        try:
            made = self._makers[number](value)
        except (ValueError, TypeError, LookupError):
            return None
        return (number, made) if made == wire else None

    def _add(self, shape: Any) -> int:
        told = orjson.dumps(shape)
        number = self._numbers.setdefault(told, len(self._numbers))
        if number == len(self.all):
            self.all.append(shape)
            self._makers.append(_known_maker(told) if len(told) <= _SHORT_SHAPE else maker(shape))
        return number


_tool_shapes: Final[dict[bytes, Any]] = {}


def _tool_shape(wire: Any, value: JsonObject) -> Any:
    """The shape of a tool that may have been seen before, word for word."""
    try:
        words = orjson.dumps((wire, value))
    except TypeError:
        return _new_shape(wire, value)
    shape = _tool_shapes.get(words)
    if shape is None:
        shape = _new_shape(wire, value)
        if len(_tool_shapes) >= _MOST_TOOLS:
            _tool_shapes.clear()
        if len(words) <= _LONG_TOOL:
            _tool_shapes[words] = shape
    return shape


def _new_shape(wire: Any, value: JsonObject) -> Any:
    return _shape(wire, _Index(value))


def _plain(wire: Any, value: JsonObject) -> bool:
    """Whether the two are a role and a text: the very objects, so what the value gives back is the wire's."""
    try:
        part = value["parts"][0]
        same = wire["content"] is part["content"] and wire["role"] is value["role"]
        return same and part["type"] == "text" and tuple(wire) == _PLAIN_WIRE
    except (LookupError, TypeError):
        return False


class _Index:
    """Where each text (by equality) and each object (by identity) of a value can be pointed at."""

    def __init__(self, value: JsonObject) -> None:
        self._found: dict[object, JsonObject] = {}
        self._texts: list[tuple[str, Any]] = []
        for key, item in value.items():
            short = isinstance(item, str) and len(item) < _LONG and key not in _OWN_FIELDS
            if not short and key not in ("parts", "type") and "." not in key and key[:1] != "#":
                self._add(item, key)
        for number, item in enumerate(as_list(value.get("parts"))):
            self._add(item, f"#{number}")
            part = as_map(item)
            for key in _PART_FIELDS:
                if key in part:
                    self._add(part[key], f"{number}.{key}")
            if part.get("type") == "blob":
                self._found.setdefault(_data_url(part), {"$data": number})
            arguments = part.get("arguments")
            if is_map(arguments) or is_list(arguments):
                self._texts.append((f"{number}.arguments", arguments))

    def _add(self, item: object, path: str) -> None:
        if isinstance(item, str):
            self._found.setdefault(item, {"$": path})
        elif is_map(item) or is_list(item):
            self._found.setdefault(id(item), {"$": path})

    def of(self, wire: Any) -> JsonObject | None:
        """The pointer to ``wire``, if it is somewhere in the value."""
        if not isinstance(wire, str):
            return self._found.get(id(wire))
        if wire[:1] in ("{", "["):
            self._write_out()
        return self._found.get(wire)

    def _write_out(self) -> None:
        while self._texts:
            path, arguments = self._texts.pop(0)
            for style, write in _STYLES.items():
                self._found.setdefault(write(arguments), {style: path})


def _shape(wire: Any, index: _Index) -> Any:
    pointer = index.of(wire)
    if pointer is not None:
        return pointer
    if is_list(wire):
        return [_shape(item, index) for item in wire]
    if not is_map(wire):
        return wire
    if any(key.startswith("$") for key in wire):
        return {"$lit": wire}
    # "type" is a word of the format: pointing it at an equal text would only make more shapes
    return {key: item if key == "type" else _shape(item, index) for key, item in wire.items()}


def maker(shape: Any) -> Callable[[JsonObject], Any]:
    """What makes the wire's JSON of ``shape`` from a value; it raises ValueError, TypeError or LookupError where the
    two do not fit together, and so does this function for a shape that is none.

    >>> maker({"role": {"$": "role"}, "x": 1})({"role": "user"})
    {'role': 'user', 'x': 1}
    """
    make = _maker(shape)
    return (lambda _: shape) if make is None else make


@lru_cache(256)
def _known_maker(told: bytes) -> Callable[[JsonObject], Any]:
    """The few shapes that come again with each request, as JSON."""
    return maker(orjson.loads(told))


def _maker(shape: Any) -> Callable[[JsonObject], Any] | None:
    """As :func:`maker`; None for what has no pointer in it."""
    if is_map(shape):
        if len(shape) == 1:
            (key, path), = shape.items()
            if key[:1] == "$":
                return _pointer(key, path)
        fields = [(key, item, _maker(item)) for key, item in shape.items()]
        if all(make is None for _, _, make in fields):
            return None
        return lambda value: {key: item if make is None else make(value) for key, item, make in fields}
    if is_list(shape):
        items = [(item, _maker(item)) for item in shape]
        if any(make is not None for _, make in items):
            return lambda value: [item if make is None else make(value) for item, make in items]
    return None


def _pointer(kind: str, path: Any) -> Callable[[JsonObject], Any]:
    if kind == "$":
        return _at(path)
    if kind == "$lit":
        return lambda _: path
    if kind == "$data":
        return lambda value: _data_url(value["parts"][path])
    if kind not in _STYLES:
        raise ValueError(f"a pointer of a kind that this reader does not know: {kind}")
    at, write = _at(path), _STYLES[kind]
    return lambda value: write(at(value))


def _at(path: str) -> Callable[[JsonObject], Any]:
    if path[:1] == "#":
        index = int(path[1:])
        return lambda value: value["parts"][index]
    number, dot, key = path.partition(".")
    if not dot:
        return lambda value: value[path]
    index = int(number)
    return lambda value: value["parts"][index][key]


def _spaced(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


_STYLES: Final[Mapping[str, Callable[[Any], str]]] = {"$json": encoded, "$spaced": _spaced}


def _data_url(value: Any) -> str:
    part = as_map(value)
    return f"data:{as_text(part.get('mime_type'))};base64,{as_text(part.get('content'))}"


def filled(shapes: list[Any], numbers: list[Any], values: Any, what: str) -> list[Any]:
    """Messages or tools on the wire. Raises ValueError, TypeError or LookupError where the lists do not fit."""
    if len(numbers) != len(values):
        raise ValueError(f"params tell of {len(numbers)} {what}, the attribute holds {len(values)}")
    makers: dict[int, Callable[[JsonObject], Any]] = {}
    plain = {number for number, shape in enumerate(shapes) if shape == _PLAIN_SHAPE and tuple(shape) == _PLAIN_WIRE}
    result: list[Any] = []
    for number, value in zip(numbers, values, strict=True):
        if number in plain:
            result.append({"role": value["role"], "content": value["parts"][0]["content"]})
            continue
        if number not in makers:
            makers[number] = maker(shapes[number])
        result.append(makers[number](as_map(value)))
    return result
