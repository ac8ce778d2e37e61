"""Messages to the GenAI conventions' JSON and back, for spans without a wire body: run roots, foreign spans. Pure.

Source: the ``gen-ai-*-messages`` JSON schemas of the commit named in :mod:`spanseal.genai.semconv`. Reading is
lenient (unknown parts become :class:`Other`), writing is exact.

>>> messages_to_semconv([Message("user", "hi")])
[{'role': 'user', 'parts': [{'type': 'text', 'content': 'hi'}]}]
>>> messages_from_semconv(messages_to_semconv([Message("user", "hi")]))
(Message(role='user', content='hi', name=''),)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spanseal.genai import semconv as sc
from spanseal.genai.messages import (
    ChatRequest,
    LLMResponse,
    Media,
    Message,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
)
from spanseal.genai.messages import Other as OtherPart
from spanseal.genai.openai_chat_semconv import parsed_arguments
from spanseal.genai.semconv_usage import usage_of
from spanseal.genai.wire_json import JsonObject, as_int, as_list, as_map, as_number, as_text, dumps, is_map, thaw


def messages_to_semconv(messages: Sequence[Message]) -> list[JsonObject]:
    """The value of ``gen_ai.input.messages`` (or output) for these messages, in order."""
    found: list[JsonObject] = []
    for message in messages:
        wire: JsonObject = {"role": message.role, "parts": [part_to_semconv(part) for part in message.parts]}
        if message.name:
            wire["name"] = message.name
        found.append(wire)
    return found


def part_to_semconv(part: Part) -> JsonObject:
    """One part in the schema's shape; a tool call's arguments as the parsed object where they are JSON."""
    if isinstance(part, Text):
        return {"type": "text", "content": part.content}
    if isinstance(part, ToolCall):
        return {"type": "tool_call", "name": part.name, "id": part.id, "arguments": parsed_arguments(part.arguments)}
    if isinstance(part, ToolResult):
        return {"type": "tool_call_response", "id": part.id, "response": part.content}
    if isinstance(part, Reasoning):
        return {"type": "reasoning", "content": part.content}
    if isinstance(part, Media):
        return _media_to_semconv(part)
    return thaw(part.value)


def messages_from_semconv(value: object) -> tuple[Message, ...]:
    """The messages in a parsed ``gen_ai.input.messages`` (or output) value. Never raises.

    What is no object is left out; a message of one text part becomes a text message.
    """
    return tuple(_message(item) for item in as_list(value) if is_map(item))


def tools_from_semconv(value: object) -> tuple[ToolSpec, ...]:
    """The function tools in a parsed ``gen_ai.tool.definitions`` value."""
    tools: list[ToolSpec] = []
    for item in map(as_map, as_list(value)):
        strict = item.get("strict")
        tools.append(ToolSpec(
            as_text(item.get("name")), as_text(item.get("description")),
            as_map(item.get("parameters")) or {"type": "object", "properties": {}},
            strict if isinstance(strict, bool) else None,
        ))
    return tuple(tools)


def request_from_semconv(
    attributes: Mapping[str, Any], messages: Sequence[Message], system: Sequence[Any] = (), tools: Sequence[Any] = ()
) -> ChatRequest:
    """The request that gen_ai attributes tell of; what they cannot hold (response format, extras) is not there."""
    first = [Message("system", _content([_part(as_map(part)) for part in system]))] if system else []
    limit, stop = as_int(attributes.get(sc.REQUEST_MAX_TOKENS)), attributes.get(sc.REQUEST_STOP_SEQUENCES)
    return ChatRequest(
        model=as_text(attributes.get(sc.REQUEST_MODEL)),
        messages=(*first, *messages),
        temperature=as_number(attributes.get(sc.REQUEST_TEMPERATURE)),
        max_tokens=limit,
        top_p=as_number(attributes.get(sc.REQUEST_TOP_P)),
        seed=as_int(attributes.get(sc.REQUEST_SEED)),
        stop=tuple(as_text(item) for item in as_list(thaw(stop))),
        tools=tools_from_semconv(tools),
    )


def response_from_semconv(attributes: Mapping[str, Any], output: object) -> LLMResponse | None:
    """The answer that gen_ai attributes and a parsed output messages value tell of; None without output messages."""
    messages = messages_from_semconv(output)
    if not messages:
        return None
    first = messages[0]
    reasons = as_list(thaw(attributes.get(sc.RESPONSE_FINISH_REASONS)))
    used = usage_of(lambda key: as_int(attributes.get(key)))
    return LLMResponse(
        text=first.text,
        model=as_text(attributes.get(sc.RESPONSE_MODEL)) or as_text(attributes.get(sc.REQUEST_MODEL)),
        prompt_tokens=used.input_tokens or 0,
        completion_tokens=used.output_tokens or 0,
        tool_calls=first.tool_calls,
        finish_reason=as_text(reasons[0]) if reasons else as_text(as_map(as_list(output)[0]).get("finish_reason")),
        response_id=as_text(attributes.get(sc.RESPONSE_ID)),
        reasoning="".join(part.content for part in first.parts if isinstance(part, Reasoning)),
        usage=used,
    )


def _message(wire: JsonObject) -> Message:
    parts = [_part(as_map(item)) for item in as_list(wire.get("parts"))]
    return Message(as_text(wire.get("role")), _content(parts), as_text(wire.get("name")))


def _content(parts: list[Part]) -> str | tuple[Part, ...]:
    if len(parts) == 1 and isinstance(parts[0], Text):
        return parts[0].content
    return tuple(parts)


def _part(wire: JsonObject) -> Part:
    kind, content = wire.get("type"), wire.get("content")
    if kind == "text" and isinstance(content, str):
        return Text(content)
    if kind in ("reasoning", "thinking") and isinstance(content, str):
        return Reasoning(content)
    if kind == "tool_call":
        return ToolCall(as_text(wire.get("id")), as_text(wire.get("name")), _as_json_text(wire.get("arguments")))
    if kind == "tool_call_response":
        answer = wire.get("response", wire.get("result"))
        return ToolResult(as_text(wire.get("id")), _as_json_text(answer), as_text(wire.get("name")))
    if kind in ("blob", "uri", "file"):
        return Media(
            as_text(wire.get("modality")), uri=as_text(wire.get("uri")), file_id=as_text(wire.get("file_id")),
            data=as_text(content) if kind == "blob" else "", mime_type=as_text(wire.get("mime_type")),
        )
    return OtherPart(wire)


def _as_json_text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else dumps(value).decode()


def _media_to_semconv(media: Media) -> JsonObject:
    mime = {"mime_type": media.mime_type} if media.mime_type else {}
    if media.data:
        return {"type": "blob", "modality": media.modality, **mime, "content": media.data}
    if media.file_id:
        return {"type": "file", "modality": media.modality, **mime, "file_id": media.file_id}
    return {"type": "uri", "modality": media.modality, **mime, "uri": media.uri}
