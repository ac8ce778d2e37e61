"""Headers and keys that a request's body carries for somebody else: a tool server's, a search index's. Pure.

They are no content but credentials, so no setting keeps them: Responses' ``mcp`` tools have ``headers``,
``authorization`` and a ``server_url`` (which may hold more), others' tool servers the same under ``url``; Azure's
``data_sources`` have an ``authentication``. Servers repeat tools in their answers. May import ``detectors``,
``urls`` and the wire's JSON.
"""

from __future__ import annotations

from typing import Any, Final

import orjson

from spanseal.genai.wire_json import JsonObject, as_map, as_text, dumps, is_list, is_map, loads
from spanseal.telemetry.content.redaction.detectors import mark
from spanseal.telemetry.content.redaction.urls import without_credentials

_SIGNS: Final = (b'"headers"', b'"authentication"', b'"server_url"', b'"authorization')
_ADDRESSES: Final = ("server_url", "url")
_TOKENS: Final = ("authorization", "authorization_token")
_SCHEMA: Final = frozenset({"object", "string", "array", "number", "integer", "boolean", "null", ""})
_CONTENT: Final = frozenset({"messages", "message", "input", "output", "choices", "item", "arguments"})
"""What people and models wrote: the redactor's business. A model may call a tool with headers of its own choice."""
_SHORTEST: Final = 16


def without_tool_credentials(data: bytes) -> bytes:
    """The JSON text ``data`` with every such value masked; the same object where there is none, or it is no JSON.

    >>> without_tool_credentials(b'{"tools":[{"type":"mcp","server_url":"https://h","headers":{"X-Pin":"1234"}}]}')
    b'{"tools":[{"type":"mcp","server_url":"https://h","headers":{"X-Pin":"[redacted:header:4]"}}]}'
    """
    return _masked(data)[0]


def may_hold_credentials(data: bytes) -> bool:
    """Whether it is worth to look; quick."""
    return any(sign in data for sign in _SIGNS)


def carries_credentials(data: bytes, body: JsonObject) -> bool:
    """Whether it is worth to look at a request ``data``, parsed as ``body`` (empty: it could not be); quick.

    What people and models wrote, nearly all of a request, is left out of the search.
    """
    try:
        if body:
            data = orjson.dumps({key: item for key, item in body.items() if key not in _CONTENT})
    except TypeError:  # nested deeper than orjson writes
        pass
    return may_hold_credentials(data)


def tool_credentials(data: bytes) -> tuple[str, ...]:
    """The values in it that are long and odd enough to be looked for elsewhere, in a server's words.

    >>> tool_credentials(b'{"tools":[{"url":"https://h","headers":{"Authorization":"Token 0123456789abcdef"}}]}')
    ('0123456789abcdef',)
    """
    return tuple(word for value in _masked(data)[1] for word in value.split() if _is_odd(word))


def _is_odd(word: str) -> bool:
    return len(word) >= _SHORTEST and any(map(str.isdigit, word))


def _masked(data: bytes) -> tuple[bytes, list[str]]:
    if not may_hold_credentials(data):
        return data, []
    taken: list[str] = []
    try:
        masked = _without(loads(data), taken)
        return (dumps(masked), taken) if taken else (data, taken)
    except (ValueError, RecursionError):
        return data, []


def _without(value: Any, taken: list[str]) -> Any:
    if is_list(value):
        return [_without(item, taken) for item in value]
    if not is_map(value):
        return value
    made = {key: item if key in _CONTENT else _without(item, taken) for key, item in value.items()}
    address = next((key for key in _ADDRESSES if isinstance(value.get(key), str)), "")
    if value.get("type") == "mcp" or address == "server_url" or (address and is_map(value.get("headers"))):
        _mask_server(made, address, taken)
    access = as_map(value.get("authentication"))
    if access and as_text(access.get("type")) not in _SCHEMA:
        made["authentication"] = {
            key: item if key == "type" else _gone("key", item, taken) for key, item in access.items()
        }
    return made


def _mask_server(tool: JsonObject, address: str, taken: list[str]) -> None:
    if is_map(tool.get("headers")):
        tool["headers"] = {key: _gone("header", item, taken) for key, item in tool["headers"].items()}
    for key in _TOKENS:
        if isinstance(tool.get(key), str):
            tool[key] = _gone("key", tool[key], taken)
    if address:
        bare = without_credentials(tool[address])
        if bare != tool[address]:
            taken.append(tool[address])
            tool[address] = bare


def _gone(name: str, value: Any, taken: list[str]) -> Any:
    """Every text and number in it marked; what is marked already stays."""
    if is_map(value):
        return {key: _gone(name, item, taken) for key, item in value.items()}
    if is_list(value):
        return [_gone(name, item, taken) for item in value]
    if value is None or isinstance(value, bool):
        return value
    text = value if isinstance(value, str) else str(value)
    if not text or text.startswith("[redacted"):
        return value
    taken.append(text)
    return mark(name, len(text))
