"""The replay record of a model call: split a request's bytes over attributes, and rebuild exactly those bytes. Pure.

What the conventions' attributes hold (messages, tool definitions) is stored there once;
``spanseal.llm.request.params`` holds the rest, the body with pointers in place of what lies in the attributes::

    {"v": 1, "body": {"model": "m", "messages": {"$": "messages"}, "tools": {"$": "tools"}, "seed": 7},
     "shapes": [{"role": {"$": "role"}, "content": {"$": "0.content"}}, …],    one for each distinct form
     "messages": [0, 0, 1, …], "tools": [2]}                                   the shape of each message and tool

A pointer ``{"$": "0.content"}`` is the field ``content`` of part 0, ``{"$": "role"}`` a field of the message or tool
itself; ``{"$json": …}`` and ``{"$spaced": …}`` are that value as JSON text, compact or with the spaces that Python's
``json.dumps`` writes; ``{"$data": 0}`` is part 0 (a blob) as a data URL. Whatever no pointer reaches stays in the shape
as it is, key order included. The split is tried at once: unless it gives back the very bytes, the body itself is
stored instead (``spanseal.llm.request.body``).

May import genai only.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from spanseal.genai.wire_json import JsonObject, as_list, as_map, as_text, dumps, is_list, is_map, loads

VERSION: Final = 1
_PLAIN_WIRE: Final = ["role", "content"]
_PLAIN_SHAPE: Final = {"role": {"$": "role"}, "content": {"$": "0.content"}}
_PLAIN_KEY: Final = orjson.dumps(_PLAIN_SHAPE)
_OWN_FIELDS: Final = ("role", "name", "description", "parameters")
_PART_FIELDS: Final = ("content", "id", "name", "response", "uri", "file_id", "refusal", "arguments")


class _NotInvertibleError(Exception):
    """The body uses the pointers' own form."""


@dataclass(frozen=True, slots=True)
class Split:
    """``params`` is the attribute's JSON text; empty where ``body`` (the whole body as text) must be stored."""

    params: str
    body: str
    sha256: str


def split(raw: bytes, body: object, messages: Sequence[JsonObject], tools: Sequence[JsonObject]) -> Split:
    """Split the request ``raw``, parsed as ``body``, whose attributes hold ``messages`` and ``tools``.

    The two lists must answer to ``body["messages"]`` and ``body["tools"]`` one to one. Where the bytes are not UTF-8
    both texts are empty: the call cannot be rebuilt. Never raises.

    >>> raw = b'{"messages":[{"role":"user","content":"hi"}],"seed":7}'
    >>> split(raw, loads(raw), [{"role": "user", "parts": [{"type": "text", "content": "hi"}]}], []).params
    '{"v":1,"body":{"messages":{"$":"messages"},"seed":7},"shapes":[{"role":{"$":"role"},"content":{"$":"0.content"}}],"messages":[0],"tools":[]}'
    """
    digest = hashlib.sha256(raw).hexdigest()
    try:
        params = _params(as_map(body), messages, tools)
        joined = join(params, messages, tools)
        if orjson.dumps(joined) == raw or dumps(joined) == raw:  # what bytes_of() will try
            return Split(orjson.dumps(params).decode(), "", digest)
    except (ValueError, TypeError, LookupError, RecursionError, _NotInvertibleError):
        pass
    try:
        return Split("", raw.decode(), digest)
    except UnicodeDecodeError:
        return Split("", "", digest)


def bytes_of(body: JsonObject, sha256: str) -> bytes | None:
    """``body`` as the bytes that have this digest, written by one of the serialisers that clients use; else None.

    First orjson, five times faster and mostly the same; then the standard library with the openai and ollama clients'
    flags, which differs for floats with exponents and big integers.
    """
    for write in (orjson.dumps, dumps):
        try:
            written = write(body)
        except (ValueError, TypeError):
            continue
        if hashlib.sha256(written).hexdigest() == sha256:
            return written
    return None


def join(params: Mapping[str, Any], messages: Sequence[Any], tools: Sequence[Any]) -> JsonObject:
    """The body that ``params`` and the attributes' values give. Raises ValueError where they do not fit together."""
    if params.get("v") != VERSION:
        raise ValueError(f"request params of version {params.get('v')!r}; this reader knows {VERSION}")
    shapes = as_list(params.get("shapes"))
    body: JsonObject = {}
    for key, value in as_map(params.get("body")).items():
        target = as_map(value).get("$")
        if target == "messages":
            body[key] = _filled(shapes, as_list(params.get("messages")), messages, "messages")
        elif target == "tools":
            body[key] = _filled(shapes, as_list(params.get("tools")), tools, "tools")
        else:
            body[key] = value
    return body


def _params(body: JsonObject, messages: Sequence[JsonObject], tools: Sequence[JsonObject]) -> JsonObject:
    table: dict[bytes, int] = {}
    rest: JsonObject = {}
    for key, value in body.items():
        pointed = key in ("messages", "tools") and is_list(value)
        if is_map(value) and "$" in value:
            raise _NotInvertibleError
        rest[key] = {"$": key} if pointed else value
    wires = {key: as_list(body.get(key)) for key in ("messages", "tools")}
    numbers = {
        key: [_shape_number(table, wire, value) for wire, value in zip(wires[key], values, strict=True)]
        for key, values in (("messages", messages), ("tools", tools))
    }
    return {"v": VERSION, "body": rest, "shapes": [orjson.loads(shape) for shape in table], **numbers}


def _shape_number(table: dict[bytes, int], wire: Any, value: JsonObject) -> int:
    if list(wire) == _PLAIN_WIRE and isinstance(wire["content"], str) and value["parts"][0].get("type") == "text":
        return table.setdefault(_PLAIN_KEY, len(table))
    return table.setdefault(orjson.dumps(_shape(wire, _index(value))), len(table))


def _index(value: JsonObject) -> dict[object, JsonObject]:
    """Where each text (by equality) and each object (by identity) of the attribute's value can be pointed at."""
    found: dict[object, JsonObject] = {}
    for key in _OWN_FIELDS:
        _add(found, value.get(key), key)
    for number, part in enumerate(as_list(value.get("parts"))):
        for key in _PART_FIELDS:
            if key in part:
                _add(found, part[key], f"{number}.{key}")
        if part.get("type") == "blob":
            found.setdefault(_data_url(part), {"$data": number})
        arguments = part.get("arguments")
        if is_map(arguments) or is_list(arguments):
            found.setdefault(_text(arguments, "$json"), {"$json": f"{number}.arguments"})
            found.setdefault(_text(arguments, "$spaced"), {"$spaced": f"{number}.arguments"})
    return found


def _add(found: dict[object, JsonObject], item: object, path: str) -> None:
    if isinstance(item, str):
        found.setdefault(item, {"$": path})
    elif is_map(item) or is_list(item):
        found.setdefault(id(item), {"$": path})


def _shape(wire: Any, index: dict[object, JsonObject]) -> Any:
    if isinstance(wire, str):
        return index.get(wire, wire)
    if id(wire) in index:
        return index[id(wire)]
    if is_list(wire):
        return [_shape(item, index) for item in wire]
    if not is_map(wire):
        return wire
    if any(key.startswith("$") for key in wire):
        raise _NotInvertibleError
    # "type" is a word of the format: pointing it at an equal text would only make more shapes
    return {key: item if key == "type" else _shape(item, index) for key, item in wire.items()}


def _filled(shapes: list[Any], numbers: list[Any], values: Sequence[Any], what: str) -> list[Any]:
    if len(numbers) != len(values):
        raise ValueError(f"params tell of {len(numbers)} {what}, the attribute holds {len(values)}")
    result: list[Any] = []
    for number, value in zip(numbers, values, strict=True):
        shape = shapes[number]
        if shape == _PLAIN_SHAPE:
            result.append({"role": value["role"], "content": value["parts"][0]["content"]})
        else:
            result.append(_fill(shape, as_map(value)))
    return result


def _fill(shape: Any, value: JsonObject) -> Any:
    if is_list(shape):
        return [_fill(item, value) for item in shape]
    if not is_map(shape):
        return shape
    if len(shape) == 1:
        (key, path), = shape.items()
        if key == "$data":
            return _data_url(value["parts"][path])
        if key.startswith("$"):
            found = _at(value, path)
            return found if key == "$" else _text(found, key)
    return {key: _fill(item, value) for key, item in shape.items()}


def _at(value: JsonObject, path: str) -> Any:
    number, dot, key = path.partition(".")
    return value["parts"][int(number)][key] if dot else value[number]


def _text(value: Any, style: str) -> str:
    if style == "$json":
        return dumps(value).decode()
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _data_url(part: JsonObject) -> str:
    return f"data:{as_text(part.get('mime_type'))};base64,{as_text(part.get('content'))}"


def parse_params(text: str) -> JsonObject:
    """The params attribute as an object. Raises ValueError where it is none (or was replaced for its size)."""
    params = loads(text)
    if "v" not in as_map(params):
        raise ValueError("the request params are not recorded in full")
    return params
