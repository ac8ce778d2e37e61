"""Ollama chat: request bodies from values, and values from request bodies. Pure.

Ollama streams unless told not to, so ``stream`` is always sent. Sampling goes into ``options``; ``extra`` fields are
sent at the top, an ``options`` among them is merged. Tool calls carry their arguments as an object; arguments that
are not a JSON object cannot be sent and become ``{}``, the model sees its text in the tool's error anyway.

>>> request_body(ChatRequest("m", (Message("user", "hi"),), max_tokens=5), stream=False)
{'model': 'm', 'messages': [{'role': 'user', 'content': 'hi'}], 'stream': False, 'options': {'num_predict': 5}}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from spanseal.errors import UsageError
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
    SYNTHETIC_ID,
    JsonObject,
    arguments_text,
    as_int,
    as_list,
    as_map,
    as_number,
    as_text,
    loads,
    mend,
    mend_text,
    thaw,
)

_KNOWN: Final = frozenset({"model", "messages", "tools", "stream", "format", "options"})
_OPTIONS: Final = frozenset({"temperature", "num_predict", "top_p", "seed", "stop"})


def request_body(request: ChatRequest, *, stream: bool) -> JsonObject:
    """The body to send. Raises :class:`spanseal.errors.UsageError` for media that is not an image by content."""
    body: JsonObject = {"model": request.model, "messages": [w for m in request.messages for w in _to_wire(m)]}
    if request.tools:
        body["tools"] = [_tool_to_wire(tool) for tool in request.tools]
    body["stream"] = stream
    return with_sampling(body, request)


def with_sampling(body: JsonObject, request: ChatRequest) -> JsonObject:
    """``body`` with the request's format, its options and its extra fields."""
    if request.response_format is not None:
        known = request.response_format.get("type") == "json_object"
        body["format"] = "json" if known else thaw(request.response_format)
    extra = {key: thaw(value) for key, value in request.extra.items()}
    options = {
        "temperature": request.temperature, "num_predict": request.max_tokens, "top_p": request.top_p,
        "seed": request.seed, "stop": list(request.stop) or None,
    }
    merged = {key: value for key, value in options.items() if value is not None} | as_map(extra.pop("options", None))
    if merged:
        body["options"] = merged
    return body | extra


def parse_request(body: Mapping[str, Any]) -> ChatRequest:
    """The values of a body; other fields, and other options, are in ``extra``. Never raises."""
    return sampling_of(body, ChatRequest(
        model=as_text(body.get("model")),
        messages=tuple(_from_wire(as_map(item)) for item in as_list(body.get("messages"))),
        tools=tuple(_tool_from_wire(as_map(item)) for item in as_list(body.get("tools"))),
        extra={key: value for key, value in body.items() if key not in _KNOWN},
    ))


def sampling_of(body: Mapping[str, Any], request: ChatRequest) -> ChatRequest:
    """``request`` with the format and the options of ``body``; options that have no field are in ``extra``."""
    options = as_map(body.get("options"))
    others = {key: value for key, value in options.items() if key not in _OPTIONS}
    form, stop = body.get("format"), options.get("stop")
    return request.with_(
        temperature=as_number(options.get("temperature")),
        max_tokens=as_int(options.get("num_predict")),
        top_p=as_number(options.get("top_p")),
        seed=as_int(options.get("seed")),
        stop=(stop,) if isinstance(stop, str) else tuple(as_text(item) for item in as_list(stop)),
        response_format={"type": "json_object"} if form == "json" else as_map(form) or None,
        extra={**request.extra, "options": others} if others else request.extra,
    )


def _to_wire(message: Message) -> Iterator[JsonObject]:
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    for part in results:
        wire: JsonObject = {"role": "tool", "content": mend_text(part.content)}
        if part.name:
            wire["tool_name"] = part.name
        if part.id and not part.id.startswith(SYNTHETIC_ID):
            wire["tool_call_id"] = part.id
        yield wire
    if not results or len(results) < len(message.parts):
        yield _message_to_wire(message)


def _message_to_wire(message: Message) -> JsonObject:
    wire: JsonObject = {"role": message.role, "content": mend_text(message.text)}
    thinking = "".join(part.content for part in message.parts if isinstance(part, Reasoning))
    if thinking:
        wire["thinking"] = thinking
    images = [image_to_wire(part) for part in message.parts if isinstance(part, Media)]
    if images:
        wire["images"] = images
    if message.tool_calls:
        wire["tool_calls"] = [_call_to_wire(call) for call in message.tool_calls]
    for part in message.parts:
        if isinstance(part, Other):
            raise UsageError(f"Ollama has no message part of type {part.value.get('type')!r}; leave it out")
    return wire


def image_to_wire(media: Media) -> str:
    """An entry of ``images``. Raises :class:`spanseal.errors.UsageError` for what is not an image by content."""
    if media.modality != "image" or not media.data:
        raise UsageError(f"Ollama takes images by content (base64) only, not {media.modality} by reference")
    return media.data


def _call_to_wire(call: ToolCall) -> JsonObject:
    try:
        arguments = as_map(mend(loads(call.arguments or "{}")))
    except ValueError:
        arguments = {}
    wire: JsonObject = {} if call.id.startswith(SYNTHETIC_ID) or not call.id else {"id": call.id}
    wire["function"] = {"name": call.name, "arguments": arguments}
    return wire


def _from_wire(wire: JsonObject) -> Message:
    role, content = as_text(wire.get("role")), as_text(wire.get("content"))
    if role == "tool":
        name = as_text(wire.get("tool_name"))
        return Message(role, (ToolResult(as_text(wire.get("tool_call_id")), content, name),))
    thinking = as_text(wire.get("thinking"))
    parts: list[Part] = [Reasoning(thinking)] if thinking else []
    if content:
        parts.append(Text(content))
    parts.extend(Media("image", data=as_text(item)) for item in as_list(wire.get("images")))
    for call in map(as_map, as_list(wire.get("tool_calls"))):
        function = as_map(call.get("function"))
        arguments = arguments_text(function.get("arguments"))
        parts.append(ToolCall(as_text(call.get("id")), as_text(function.get("name")), arguments))
    return Message(role, content if all(isinstance(part, Text) for part in parts) else tuple(parts))


def _tool_to_wire(tool: ToolSpec) -> JsonObject:
    function = {"name": tool.name, "description": tool.description, "parameters": thaw(tool.parameters)}
    return {"type": "function", "function": function}


def _tool_from_wire(wire: JsonObject) -> ToolSpec:
    function = as_map(wire.get("function"))
    return ToolSpec(
        as_text(function.get("name")), as_text(function.get("description")), as_map(function.get("parameters"))
    )
