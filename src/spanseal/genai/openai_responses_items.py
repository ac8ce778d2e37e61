"""OpenAI Responses: items and content parts to the GenAI conventions' messages and parts. Pure.

Every item of ``input`` is one message, whatever its type; an item or part that we do not know is a generic part: the
wire's own object. Content keeps the wire's objects by reference: the replay record relies on it. Calls of tools that
the provider runs (web search, MCP, …) carry their whole item, results included.

>>> item_message({"type": "function_call_output", "call_id": "c1", "output": "3"})
{'role': 'tool', 'parts': [{'type': 'tool_call_response', 'id': 'c1', 'response': '3'}]}
"""

from __future__ import annotations

from typing import Any, Final

from spanseal.genai.openai_chat_semconv import parsed_arguments, url_part
from spanseal.genai.wire_json import JsonObject, as_list, as_map, as_text, is_map

_SERVER_TOOLS: Final = frozenset({
    "web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call", "mcp_call",
    "mcp_list_tools", "program",
})
_CLIENT_TOOLS: Final = frozenset({"local_shell_call", "shell_call", "apply_patch_call", "computer_call"})
_ARGUMENTS: Final = ("action", "actions", "operation", "arguments")
_PLAIN: Final = {"input_text": "text", "output_text": "text", "text": "text"}
_REASONING: Final = frozenset({"summary_text", "reasoning_text"})
_ROLES: Final = {
    "mcp_approval_response": "user", "compaction_trigger": "user", "item_reference": "assistant",
    "configuration_update": "developer", "additional_tools": "developer",
}


def item_message(item: object) -> JsonObject:
    """The message that one item of ``input`` is; its own id, where it has one, rides along as ``id``."""
    wire = as_map(item)
    if "role" in wire and wire.get("type", "message") == "message":
        return _plain_message(wire)
    kind = as_text(wire.get("type"))
    role = as_text(wire.get("role")) or _ROLES.get(kind) or ("tool" if kind.endswith("_output") else "assistant")
    message: JsonObject = {"role": role, "parts": item_parts(item)}
    first = message["parts"][0] if message["parts"] else wire
    if isinstance(wire.get("id"), str) and first is not wire and first.get("id") != wire["id"]:
        message["id"] = wire["id"]
    return message


def item_parts(item: object) -> list[JsonObject]:
    """The parts that an item of ``input`` or ``output`` is made of."""
    wire = as_map(item)
    kind = as_text(wire.get("type"))
    if kind == "message":
        return content_parts(wire.get("content"))
    if kind == "reasoning":
        return _reasoning(wire)
    if kind == "function_call":
        return [_call(wire, parsed_arguments(as_text(wire.get("arguments"))))]
    if kind == "custom_tool_call":
        return [_call(wire, wire.get("input"))]
    if kind in _CLIENT_TOOLS or (kind == "tool_search_call" and wire.get("execution") == "client"):
        arguments = next((wire[key] for key in _ARGUMENTS if key in wire), None)
        return [_call({"name": kind.removesuffix("_call"), **wire}, arguments)]
    if kind in _SERVER_TOOLS or kind == "tool_search_call":
        name = as_text(wire.get("name")) or kind.removesuffix("_call")
        return [{"type": "server_tool_call", "id": as_text(wire.get("id")), "name": name, "server_tool_call": wire}]
    if kind.endswith("_output") and ("output" in wire or "result" in wire):
        response = wire.get("output", wire.get("result"))
        return [{"type": "tool_call_response", "id": as_text(wire.get("call_id")), "response": response}]
    if kind == "compaction":
        return [{"type": "compaction", "id": as_text(wire.get("id")), "content": wire.get("encrypted_content")}]
    return [generic(item, "item_reference" if list(wire) == ["id"] else "unknown")]


def content_parts(content: object) -> list[JsonObject]:
    """The parts of a message's content: a text, or a list of content parts."""
    if isinstance(content, str):
        return [{"type": "text", "content": content}]
    return [_content_part(part) for part in as_list(content)]


def generic(value: object, kind: str) -> JsonObject:
    """A part of a type of its own: the object itself, or one that holds what is none."""
    if is_map(value):
        return value if isinstance(value.get("type"), str) and value["type"] else {"type": kind, **value}
    return {"type": kind, "value": value}


def _plain_message(wire: JsonObject) -> JsonObject:
    role, content = wire["role"], wire.get("content")
    message: JsonObject = {"role": role if isinstance(role, str) else "", "parts": content_parts(content)}
    if isinstance(wire.get("id"), str):
        message["id"] = wire["id"]
    return message


def _content_part(part: object) -> JsonObject:
    wire = as_map(part)
    kind = as_text(wire.get("type"))
    if kind in _PLAIN and isinstance(wire.get("text"), str):
        return {"type": "text", "content": wire["text"]}
    if kind in _REASONING and isinstance(wire.get("text"), str):
        return {"type": "reasoning", "content": wire["text"]}
    if kind == "refusal":
        return {"type": "refusal", "refusal": wire.get("refusal")}
    found: JsonObject | None = None
    if kind in ("input_image", "computer_screenshot"):
        found = _media("image", wire, "image_url")
    elif kind == "input_file":
        found = _media("document", wire, "file_url")
    elif kind == "input_audio":
        audio = as_map(wire.get("input_audio"))
        mime, data = f"audio/{as_text(audio.get('format'))}", as_text(audio.get("data"))
        found = {"type": "blob", "modality": "audio", "mime_type": mime, "content": data}
    return generic(part, "unknown") if found is None else found


def _media(modality: str, wire: JsonObject, url: str) -> JsonObject | None:
    if isinstance(wire.get(url), str):
        return url_part(modality, wire[url])
    if isinstance(wire.get("file_data"), str):
        found = url_part(modality, wire["file_data"])
        plain: JsonObject = {"type": "blob", "modality": modality, "content": wire["file_data"]}
        return found if found["type"] == "blob" else plain
    if isinstance(wire.get("file_id"), str):
        return {"type": "file", "modality": modality, "file_id": wire["file_id"]}
    return None


def _call(wire: JsonObject, arguments: Any) -> JsonObject:
    call_id = as_text(wire.get("call_id")) or as_text(wire.get("id"))
    return {"type": "tool_call", "id": call_id, "name": as_text(wire.get("name")), "arguments": arguments}


def _reasoning(wire: JsonObject) -> list[JsonObject]:
    """Summaries and texts; what only the provider can read rides along on the first part."""
    items = [*as_list(wire.get("summary")), *as_list(wire.get("content"))]
    parts = [_content_part(item) for item in items] or [{"type": "reasoning", "content": ""}]
    if isinstance(wire.get("encrypted_content"), str):
        parts[0] = {**parts[0], "encrypted_content": wire["encrypted_content"]}
    return parts
