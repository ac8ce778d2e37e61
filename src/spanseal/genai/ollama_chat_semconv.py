"""Ollama chat: bodies to the GenAI conventions' attributes and content values. Pure.

The conventions have no page for Ollama; ``ollama`` is a custom provider name that others use too. Content values keep
the wire's own objects by reference, one message for one and one tool for one: the replay record relies on it.

>>> request_attributes({"model": "m", "options": {"num_predict": 5}, "stream": False})
{'gen_ai.request.model': 'm', 'gen_ai.request.max_tokens': 5}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from spanseal.genai import semconv as sc
from spanseal.genai.ollama_chat_response import finish_reason, tool_calls, usage
from spanseal.genai.openai_chat_semconv import tool_definitions as tool_definitions
from spanseal.genai.semconv_usage import usage_attributes
from spanseal.genai.wire_json import JsonObject, as_int, as_list, as_map, as_number, as_text

_NUMBERS: Final = {
    "temperature": sc.REQUEST_TEMPERATURE, "top_p": sc.REQUEST_TOP_P,
    "frequency_penalty": sc.REQUEST_FREQUENCY_PENALTY, "presence_penalty": sc.REQUEST_PRESENCE_PENALTY,
}
_WHOLE: Final = {"num_predict": sc.REQUEST_MAX_TOKENS, "seed": sc.REQUEST_SEED, "top_k": sc.REQUEST_TOP_K}


def request_attributes(body: Mapping[str, Any]) -> dict[str, Any]:
    """Every gen_ai request attribute that the body gives, without content."""
    options = as_map(body.get("options"))
    found: dict[str, Any] = {sc.REQUEST_MODEL: as_text(body.get("model"))}
    found |= {name: as_number(options.get(key)) for key, name in _NUMBERS.items()}
    found |= {name: as_int(options.get(key)) for key, name in _WHOLE.items()}
    stop = options.get("stop")
    found[sc.REQUEST_STOP_SEQUENCES] = [stop] if isinstance(stop, str) else [as_text(i) for i in as_list(stop)] or None
    found[sc.REQUEST_STREAM] = None if body.get("stream") is False else True
    found[sc.REQUEST_REASONING_LEVEL] = as_text(body.get("think")) or None
    found[sc.OUTPUT_TYPE] = "json" if body.get("format") else None
    return {key: value for key, value in found.items() if value is not None and value != ""}


def response_attributes(body: Mapping[str, Any]) -> dict[str, Any]:
    """Every gen_ai response attribute that the body gives, without content."""
    data = dict(body)
    reason = finish_reason(data)
    found: dict[str, Any] = {
        sc.RESPONSE_MODEL: as_text(body.get("model")) or None,
        sc.RESPONSE_FINISH_REASONS: [reason] if reason else None,
        **usage_attributes(usage(data)),
    }
    return {key: value for key, value in found.items() if value is not None}


def input_messages(body: Mapping[str, Any]) -> list[JsonObject]:
    """The value of ``gen_ai.input.messages``: one message for each message of the body, in order."""
    return [_message(as_map(item)) for item in as_list(body.get("messages"))]


def output_messages(body: Mapping[str, Any]) -> list[JsonObject]:
    """The value of ``gen_ai.output.messages``: one message, or none where the answer has none."""
    if not isinstance(body.get("message"), dict):
        return []
    data = dict(body)
    message = _message({"role": "assistant", **as_map(data["message"])})
    calls = (part for part in message["parts"] if part["type"] == "tool_call")
    for part, call in zip(calls, tool_calls(data), strict=True):
        if not part.get("id"):
            part.update(id=call.id, id_synthesised=True)
    reason = finish_reason(data)
    if reason:
        message["finish_reason"] = reason
    return [message]


def _message(wire: JsonObject) -> JsonObject:
    role, content = wire.get("role"), wire.get("content")
    parts: list[JsonObject] = []
    if role == "tool":
        part: JsonObject = {"type": "tool_call_response", "response": content}
        if isinstance(wire.get("tool_call_id"), str):
            part["id"] = wire["tool_call_id"]
        if isinstance(wire.get("tool_name"), str):
            part["name"] = wire["tool_name"]
        return {"role": "tool", "parts": [part]}
    if isinstance(wire.get("thinking"), str) and wire["thinking"]:
        parts.append({"type": "reasoning", "content": wire["thinking"]})
    if isinstance(content, str) and (content or len(wire) == 2):
        parts.append({"type": "text", "content": content})
    for image in as_list(wire.get("images")):
        parts.append({"type": "blob", "modality": "image", "content": image})
    for call in map(as_map, as_list(wire.get("tool_calls"))):
        function = as_map(call.get("function"))
        made: JsonObject = {"type": "tool_call", "name": as_text(function.get("name"))}
        if isinstance(call.get("id"), str):
            made["id"] = call["id"]
        parts.append(made | {"arguments": function.get("arguments")})
    return {"role": role if isinstance(role, str) else "", "parts": parts}
