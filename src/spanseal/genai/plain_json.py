"""Values of this vocabulary as plain JSON, and digests of them that are equal for equal values. Pure.

The digest binds decisions to actions (an approval, an idempotency key) and states to steps. It is taken over our
own JSON form, never over wire bytes; those have their own digest, taken at the transport.

>>> from spanseal.genai.messages import Message
>>> plain(Message("user", "hi"))
{'role': 'user', 'content': 'hi', 'name': ''}
>>> digest({"b": 1, "a": 2}) == digest({"a": 2, "b": 1})
True
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, cast

from spanseal.genai.messages import Media, Other, Reasoning, Text, ToolCall, ToolResult

_PART_TYPES: dict[type, str] = {
    Text: "text", ToolCall: "tool_call", ToolResult: "tool_call_response", Reasoning: "reasoning", Media: "media",
}


def plain(value: object) -> Any:
    """``value`` as dicts, lists, strings, numbers, booleans and None.

    Parts of messages get a ``type``; numbers that JSON does not have become their names; an object that has no JSON
    form becomes the name of its type (its ``repr`` may hold addresses, which differ from run to run).
    """
    if value is None or isinstance(value, str | bool | int):
        return value.value if isinstance(value, Enum) else value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, Enum):
        return plain(value.value)
    if isinstance(value, Other):
        return plain(value.value)
    if is_dataclass(value) and not isinstance(value, type):
        tag = {"type": _PART_TYPES[type(value)]} if type(value) in _PART_TYPES else {}
        return tag | {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    return _plain_container(value)


def _plain_container(value: object) -> Any:
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    if isinstance(value, Sequence):
        return [plain(item) for item in cast("Sequence[object]", value)]
    if isinstance(value, Set):
        return sorted((plain(item) for item in cast("Set[object]", value)), key=canonical)
    return f"<{type(value).__qualname__}>"


def canonical(value: object) -> str:
    """The one JSON text of ``value``: sorted keys, no spaces, ASCII only."""
    return _text(plain(value))


def digest(value: object) -> str:
    """SHA-256 of :func:`canonical`, 64 lower-case hex digits."""
    return digest_of_plain(plain(value))


def digest_of_plain(value: Any) -> str:
    """The same for a value that is plain JSON already."""
    return hashlib.sha256(_text(value).encode("ascii")).hexdigest()


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
