"""The replay record of a model call: split a request's bytes over attributes, and rebuild exactly those bytes. Pure.

What the conventions' attributes hold (messages, system instructions, tool definitions) is stored there once;
``spanseal.llm.request.params`` holds the rest, the body with marks in place of what lies in the attributes::

    {"v": 1, "body": {"model": "m", "messages": {"$": "messages"}, "tools": {"$": "tools"}, "seed": 7},
     "shapes": [{"role": {"$": "role"}, "content": {"$": "0.content"}}, …],    one for each distinct form
     "messages": [0, 0, 1, …], "tools": [2]}                                   the shape of each message and tool

A field marked ``{"$": "messages"}`` or ``{"$": "tools"}`` is the list of them, ``{"$": "system"}`` the text of the
instructions; ``{"$": "message"}`` is this field of the only message, whose shape is an object of such fields;
``{"$": "lit", "value": …}`` is a field that looks like a mark. For shapes see :mod:`spanseal.records.replay_shapes`;
which fields are meant, the wire format tells (:class:`spanseal.genai.places.Places`).
Whatever no pointer reaches stays in the shape as it is, key order included. The split is tried at once: unless it
gives back the very bytes, the body itself is stored instead (``spanseal.llm.request.body``); so are bodies with
integers beyond 64 bits.

May import genai and :mod:`spanseal.records.replay_shapes`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from spanseal.genai.places import CHAT, Places
from spanseal.genai.wire_json import JsonObject, as_list, as_map, dumps, is_list, is_map, loads
from spanseal.records.replay_shapes import Shapes, filled

VERSION: Final = 1
_BROKEN: Final = (ValueError, TypeError, LookupError, RecursionError)
_SPACED: Final = re.compile(rb'\{"[^"\\]*": ')


@dataclass(frozen=True, slots=True)
class Split:
    """``params`` is the attribute's JSON text; empty where ``body`` (the whole body as text) must be stored."""

    params: str
    body: str
    sha256: str


def split(
    raw: bytes, body: object, messages: Sequence[JsonObject | None], tools: Sequence[JsonObject],
    system: Sequence[JsonObject] = (), places: Places = CHAT,
) -> Split:
    """Split the request ``raw``, parsed as ``body``, whose attributes hold ``messages``, ``tools`` and ``system``.

    The lists must be what the wire format of ``places`` makes of ``body``; None stands for a message that is a role and
    a text (:mod:`spanseal.genai.sent_messages`). Where the bytes are not UTF-8 both texts
    are empty: the call cannot be rebuilt. Never raises.

    >>> raw = b'{"messages":[{"role":"user","content":"hi"}],"seed":7}'
    >>> split(raw, loads(raw), [{"role": "user", "parts": [{"type": "text", "content": "hi"}]}], []).params
    '{"v":1,"body":{"messages":{"$":"messages"},"seed":7},"shapes":[{"role":{"$":"role"},"content":{"$":"0.content"}}],"messages":[0],"tools":[]}'
    """
    digest = hashlib.sha256(raw).hexdigest()
    for quick in (True, False):
        try:
            params, joined = _params(as_map(body), messages, tools, system, places, Shapes(quick=quick))
            if _writes(joined, raw):
                return Split(orjson.dumps(params).decode(), "", digest)
            if _same(joined, body):
                break  # the bytes are none that a known serialiser writes
        except _BROKEN:
            break
    try:
        return Split("", raw.decode(), digest)
    except UnicodeDecodeError:
        return Split("", "", digest)


def bytes_of(body: JsonObject, sha256: str) -> bytes | None:
    """``body`` as the bytes that have this digest, written by one of the serialisers that clients use; else None."""
    for write in _WRITERS:
        try:
            written = write(body)
        except _BROKEN:
            continue
        if hashlib.sha256(written).hexdigest() == sha256:
            return written
    return None


def _compact_ascii(body: object) -> bytes:
    return json.dumps(body, separators=(",", ":"), allow_nan=False).encode()


def _spaced(body: object) -> bytes:
    return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()


def _spaced_ascii(body: object) -> bytes:
    return json.dumps(body, allow_nan=False).encode()


_WRITERS: Final[tuple[Callable[[object], bytes], ...]] = (
    orjson.dumps, dumps, _compact_ascii, _spaced_ascii, _spaced,
)
"""orjson is five times faster and mostly the same; then the standard library with the openai and ollama clients' flags,
which differs for floats with exponents and big integers; then what ``json.dumps`` writes by itself."""


def _writes(body: JsonObject, raw: bytes) -> bool:
    """Whether :func:`bytes_of` will find these bytes; of the serialisers, those are tried that may have made them."""
    if _SPACED.match(raw):
        return _made_by(_spaced_ascii if raw.isascii() else _spaced, body, raw)
    if _made_by(orjson.dumps, body, raw) or _made_by(dumps, body, raw):
        return True
    return b"\\u" in raw and _made_by(_compact_ascii, body, raw)


def _made_by(write: Callable[[object], bytes], body: JsonObject, raw: bytes) -> bool:
    try:
        return write(body) == raw
    except _BROKEN:
        return False


def _same(one: object, other: object) -> bool:
    """Whether two parsed values are the same JSON, the order of keys and the types of numbers included."""
    try:
        return json.dumps(one) == json.dumps(other)
    except _BROKEN:
        return True


def join(
    params: Mapping[str, Any], messages: Sequence[Any], tools: Sequence[Any], system: Sequence[Any] = ()
) -> JsonObject:
    """The body that ``params`` and the attributes' values give.

    Raises ValueError, TypeError or LookupError where they do not fit together.
    """
    if params.get("v") != VERSION:
        raise ValueError(f"request params of version {params.get('v')!r}; this reader knows {VERSION}")
    shapes = as_list(params.get("shapes"))
    lists = {
        "messages": filled(shapes, as_list(params.get("messages")), messages, "messages"),
        "tools": filled(shapes, as_list(params.get("tools")), tools, "tools"),
    }
    return _joined(as_map(params.get("body")), lists, system)


def _joined(marked: JsonObject, lists: Mapping[str, list[Any]], system: Sequence[Any]) -> JsonObject:
    body: JsonObject = {}
    for key, value in marked.items():
        mark = value.get("$") if is_map(value) else None
        if mark is None:
            body[key] = value
        elif mark == "message":
            body[key] = lists["messages"][0][key]
        elif mark == "system":
            body[key] = system[0]["content"]
        else:
            body[key] = value["value"] if mark == "lit" else lists[mark]
    return body


def _params(
    body: JsonObject, messages: Sequence[JsonObject | None], tools: Sequence[JsonObject], system: Sequence[JsonObject],
    places: Places, shapes: Shapes,
) -> tuple[JsonObject, JsonObject]:
    """The params, and the body that they will give back."""
    rest: JsonObject = {
        key: {"$": "lit", "value": value} if is_map(value) and "$" in value else value for key, value in body.items()
    }
    wires: list[Any] = []
    if places.history and is_list(body.get(places.history)):
        wires = body[places.history]
        rest[places.history] = {"$": "messages"}
    elif messages:
        wires = [{key: body[key] for key in places.message if key in body}]
        rest |= {key: {"$": "message"} for key in wires[0]}
    offered: list[Any] = []
    if is_list(body.get("tools")) and len(tools) == len(body["tools"]):
        offered = body["tools"]
        rest["tools"] = {"$": "tools"}
    text = body.get(places.system) if places.system else None
    if system and isinstance(text, str) and system[0].get("content") == text:
        rest[places.system] = {"$": "system"}
    told, said = shapes.numbers(wires, messages)
    used, given = shapes.numbers(offered, tools if offered else (), tools=True)
    params: JsonObject = {"v": VERSION, "body": rest, "shapes": shapes.all, "messages": told, "tools": used}
    lists = {"messages": said, "tools": given}
    return params, _joined(rest, lists, system)


def parse_params(text: str) -> JsonObject:
    """The params attribute as an object. Raises ValueError where it is none (or was replaced for its size)."""
    params = loads(text)
    if "v" not in as_map(params):
        raise ValueError("the request params are not recorded in full")
    return params
