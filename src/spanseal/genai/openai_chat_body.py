"""OpenAI chat completions: request bodies from values, and values from request bodies. Pure.

Stated rules: a reasoning part is not sent back (servers refuse it); a message with several tool results becomes one
``tool`` message each; ``strict`` is asked for only where the schema is closed (``additionalProperties: false``),
because the API refuses it elsewhere; a lone surrogate, which UTF-8 cannot carry, is sent as U+FFFD. Arguments that a
server sends as an object are taken as its JSON text.

>>> request_body(ChatRequest("m", (Message("user", "hi"),)), stream=False)
{'model': 'm', 'messages': [{'role': 'user', 'content': 'hi'}]}
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from spanseal.genai.messages import (
    ChatRequest,
    Media,
    Message,
    Other,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from spanseal.genai.wire_json import (
    JsonObject,
    arguments_text,
    as_list,
    as_map,
    as_number,
    as_text,
    mend_text,
    thaw,
)

MODES: Final = frozenset({"auto", "none", "required"})
"""What ``tool_choice`` may be besides a tool's name."""
_KNOWN: Final = frozenset({
    "model", "messages", "temperature", "max_tokens", "top_p", "seed", "stop", "tools", "tool_choice",
    "response_format", "stream", "stream_options",
})


def request_body(request: ChatRequest, *, stream: bool) -> JsonObject:
    """The body to send. A stream also asks for the usage chunk, unless ``extra`` says otherwise."""
    body: JsonObject = {"model": request.model, "messages": [w for m in request.messages for w in _to_wire(m)]}
    simple = {
        "temperature": request.temperature, "max_tokens": request.max_tokens, "top_p": request.top_p,
        "seed": request.seed, "stop": list(request.stop) or None,
    }
    body.update({key: value for key, value in simple.items() if value is not None})
    if request.tools:
        body["tools"] = [_tool_to_wire(tool) for tool in request.tools]
    if request.tool_choice:
        body["tool_choice"] = _choice_to_wire(request.tool_choice)
    if request.response_format is not None:
        body["response_format"] = format_to_wire(request.response_format)
    if stream:
        body["stream"] = True
        body["stream_options"] = {"include_usage": True}
    body.update({key: thaw(value) for key, value in request.extra.items()})
    return body


def parse_request(body: Mapping[str, Any]) -> ChatRequest:
    """The values of a body; fields that :class:`ChatRequest` does not name are in ``extra``. Never raises."""
    stop = body.get("stop")
    seed = body.get("seed")
    limit = body.get("max_tokens")
    extra = {key: value for key, value in body.items() if key not in _KNOWN}
    response_format = as_map(body.get("response_format"))
    schema = as_map(as_map(response_format.get("json_schema")).get("schema"))
    return ChatRequest(
        model=as_text(body.get("model")),
        messages=tuple(_from_wire(as_map(item)) for item in as_list(body.get("messages"))),
        temperature=as_number(body.get("temperature")),
        max_tokens=limit if isinstance(limit, int) else None,
        top_p=as_number(body.get("top_p")),
        seed=seed if isinstance(seed, int) else None,
        stop=(stop,) if isinstance(stop, str) else tuple(as_text(item) for item in as_list(stop)),
        tools=tuple(_tool_from_wire(as_map(item)) for item in as_list(body.get("tools"))),
        tool_choice=_choice_from_wire(body.get("tool_choice")),
        response_format=schema or response_format or None,
        extra=extra,
    )


def tool_call_to_wire(call: ToolCall) -> JsonObject:
    """One entry of ``tool_calls``."""
    function = {"name": mend_text(call.name), "arguments": mend_text(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _to_wire(message: Message) -> Iterable[JsonObject]:
    if isinstance(message.content, str) and not message.name:
        return ({"role": message.role, "content": mend_text(message.content)},)
    return _parts_to_wire(message)


def _parts_to_wire(message: Message) -> Iterator[JsonObject]:
    rest = [part for part in message.parts if not isinstance(part, (ToolResult, Reasoning))]
    for part in message.parts:
        if isinstance(part, ToolResult):
            yield {"role": "tool", "tool_call_id": part.id, "content": mend_text(part.content)}
    if not rest and any(isinstance(part, ToolResult) for part in message.parts):
        return
    wire: JsonObject = {"role": message.role}
    if message.name:
        wire["name"] = message.name
    calls = [tool_call_to_wire(part) for part in rest if isinstance(part, ToolCall)]
    content = [part for part in rest if not isinstance(part, ToolCall)]
    if all(isinstance(part, Text) for part in content):
        wire["content"] = mend_text(message.text) if content or not calls else None
    else:
        wire["content"] = [_part_to_wire(part) for part in content]
    if calls:
        wire["tool_calls"] = calls
    yield wire


def _part_to_wire(part: Part) -> JsonObject:
    if isinstance(part, Text):
        return {"type": "text", "text": mend_text(part.content)}
    if isinstance(part, Media):
        return _media_to_wire(part)
    return thaw(part.value) if isinstance(part, Other) else {}


def _media_to_wire(media: Media) -> JsonObject:
    if media.modality == "image":
        return {"type": "image_url", "image_url": {"url": media.uri or f"data:{media.mime_type};base64,{media.data}"}}
    if media.modality == "audio":
        return {"type": "input_audio", "input_audio": {"data": media.data, "format": media.mime_type.split("/")[-1]}}
    if media.file_id:
        return {"type": "file", "file": {"file_id": media.file_id}}
    return {"type": "file", "file": {"file_data": media.uri or f"data:{media.mime_type};base64,{media.data}"}}


def _from_wire(wire: JsonObject) -> Message:
    role, content, name = as_text(wire.get("role")), wire.get("content"), as_text(wire.get("name"))
    if role == "tool":
        texts = [content] if isinstance(content, str) else [as_text(as_map(i).get("text")) for i in as_list(content)]
        return Message(role, (ToolResult(as_text(wire.get("tool_call_id")), "".join(texts)),), name)
    calls = tuple(tool_call_from_wire(as_map(item)) for item in as_list(wire.get("tool_calls")))
    if isinstance(content, str) and not calls:
        return Message(role, content, name)
    parts: list[Part] = [Text(content)] if isinstance(content, str) and content else []
    parts.extend(_part_from_wire(as_map(item)) for item in as_list(content))
    return Message(role, (*parts, *calls), name)


def tool_call_from_wire(wire: JsonObject) -> ToolCall:
    """The call in one entry of ``tool_calls``; a custom tool's input counts as its arguments."""
    function = as_map(wire.get("function")) or as_map(wire.get("custom"))
    arguments = function.get("arguments", function.get("input"))
    return ToolCall(as_text(wire.get("id")), as_text(function.get("name")), arguments_text(arguments))


def _part_from_wire(wire: JsonObject) -> Part:
    kind = wire.get("type")
    if kind == "text" and isinstance(wire.get("text"), str) and len(wire) == 2:
        return Text(wire["text"])
    if kind == "image_url" and list(as_map(wire.get("image_url"))) == ["url"]:
        return _media_from_url("image", as_text(wire["image_url"]["url"]))
    if kind == "input_audio":
        audio = as_map(wire.get("input_audio"))
        return Media("audio", data=as_text(audio.get("data")), mime_type=f"audio/{as_text(audio.get('format'))}")
    if kind == "file" and list(as_map(wire.get("file"))) == ["file_id"]:
        return Media("document", file_id=as_text(wire["file"]["file_id"]))
    return Other(wire)


def _media_from_url(modality: str, url: str) -> Media:
    match = DATA_URL.match(url)
    if match is None:
        return Media(modality, uri=url)
    return Media(modality, data=url[match.end():], mime_type=match[1])


DATA_URL: Final = re.compile(r"data:([\w.+/-]*);base64,")


def _tool_to_wire(tool: ToolSpec) -> JsonObject:
    function: JsonObject = {"name": tool.name}
    if tool.description:
        function["description"] = tool.description
    function["parameters"] = thaw(tool.parameters)
    if tool.strict is not None:
        function["strict"] = tool.strict
    return {"type": "function", "function": function}


def _tool_from_wire(wire: JsonObject) -> ToolSpec:
    function = as_map(wire.get("function"))
    strict = function.get("strict")
    return ToolSpec(
        as_text(function.get("name")), as_text(function.get("description")), as_map(function.get("parameters")),
        strict if isinstance(strict, bool) else None,
    )


def _choice_to_wire(choice: str) -> str | JsonObject:
    return choice if choice in MODES else {"type": "function", "function": {"name": choice}}


def _choice_from_wire(choice: object) -> str | None:
    return (choice if isinstance(choice, str) else as_text(as_map(as_map(choice).get("function")).get("name"))) or None


def format_to_wire(schema: Mapping[str, Any]) -> JsonObject:
    """The ``response_format`` for a JSON Schema, or for what is one already."""
    if schema.get("type") in ("json_object", "json_schema", "text"):
        return thaw(schema)
    name = re.sub(r"[^A-Za-z0-9_-]", "_", as_text(schema.get("title")))[:64] or "answer"
    inner: JsonObject = {"name": name, "schema": thaw(schema)}
    if schema.get("additionalProperties") is False:
        inner["strict"] = True
    return {"type": "json_schema", "json_schema": inner}
