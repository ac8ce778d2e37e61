"""The JSON shapes of the pinned conventions' content attributes, as JSON Schemas (draft 2020-12) of our own wording.

Every object may have further members, as there.
"""

from __future__ import annotations

from typing import Any, Final

Schema = dict[str, Any]
_TEXT: Schema = {"type": "string"}
_TEXT_OR_NOT: Schema = {"type": ["string", "null"]}
_TYPED: Schema = {"type": "object", "required": ["type"]}
_MODALITY: Schema = {"type": "string", "minLength": 1}


def _part(kind: str, **members: Schema) -> Schema:
    """A part of this type; members whose name ends with an underscore are optional."""
    required = ["type", *(name for name in members if not name.endswith("_"))]
    properties = {name.rstrip("_"): schema for name, schema in members.items()}
    return {"type": "object", "required": required, "properties": {"type": {"const": kind}, **properties}}


_PARTS: dict[str, Schema] = {
    "text": _part("text", content=_TEXT),
    "tool_call": _part("tool_call", name=_TEXT, id_=_TEXT_OR_NOT, arguments_={}),
    "tool_call_response": _part("tool_call_response", response={}, id_=_TEXT_OR_NOT),
    "server_tool_call": _part("server_tool_call", name=_TEXT, server_tool_call=_TYPED),
    "server_tool_call_response": _part("server_tool_call_response", server_tool_call_response=_TYPED),
    "blob": _part("blob", modality=_MODALITY, content=_TEXT, mime_type_=_TEXT_OR_NOT),
    "file": _part("file", modality=_MODALITY, file_id=_TEXT, mime_type_=_TEXT_OR_NOT),
    "uri": _part("uri", modality=_MODALITY, uri=_TEXT, mime_type_=_TEXT_OR_NOT),
    "reasoning": _part("reasoning", content=_TEXT),
    "compaction": _part("compaction", id_=_TEXT_OR_NOT, content_=_TEXT_OR_NOT),
}
_GENERIC: Schema = {
    "type": "object", "required": ["type"],
    "properties": {"type": {"type": "string", "not": {"enum": list(_PARTS)}}},
}
_ANY_PART: Schema = {"anyOf": [*_PARTS.values(), _GENERIC]}
_MESSAGE: Schema = {
    "type": "object", "required": ["role", "parts"],
    "properties": {"role": _TEXT, "parts": {"type": "array", "items": _ANY_PART}, "name": _TEXT_OR_NOT},
}
_TOOL: Schema = {
    "type": "object", "required": ["type", "name"],
    "properties": {
        "type": _TEXT, "name": _TEXT, "description": _TEXT_OR_NOT, "parameters": {"type": ["object", "null"]},
    },
}
SCHEMAS: Final[dict[str, Schema]] = {
    "gen_ai.input.messages": {"type": "array", "items": _MESSAGE},
    "gen_ai.output.messages": {"type": "array", "items": _MESSAGE},
    "gen_ai.system_instructions": {"type": "array", "items": {"anyOf": [_PARTS["text"], _GENERIC]}},
    "gen_ai.tool.definitions": {"type": "array", "items": _TOOL},
    "gen_ai.tool.call.arguments": {"type": "object"},
    "gen_ai.tool.call.result": {"type": "object"},
}
