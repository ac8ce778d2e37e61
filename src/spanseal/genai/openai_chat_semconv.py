"""OpenAI chat completions: bodies to the GenAI conventions' attributes and content values. Pure.

Content values keep the wire's own objects by reference, one message for one and one tool for one: the replay record
relies on it. System and developer messages stay among the input messages, as the conventions ask.
Source: semantic-conventions-genai at the commit named in :mod:`spanseal.genai.semconv`.

>>> input_messages({"messages": [{"role": "user", "content": "hi"}]})
[{'role': 'user', 'parts': [{'type': 'text', 'content': 'hi'}]}]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from spanseal.genai import semconv as sc
from spanseal.genai.openai_chat_body import DATA_URL
from spanseal.genai.openai_chat_response import finish_reason, tool_calls, usage
from spanseal.genai.semconv_usage import modality_attributes, usage_attributes
from spanseal.genai.wire_json import JsonObject, as_int, as_list, as_map, as_number, as_text, is_map, loads

_OUTPUT_TYPES: Final = {"text": "text", "json_object": "json", "json_schema": "json"}
_PLAIN_ROLES: Final = frozenset({"system", "developer", "user", "assistant"})
_NUMBERS: Final = {
    "temperature": sc.REQUEST_TEMPERATURE, "top_p": sc.REQUEST_TOP_P,
    "frequency_penalty": sc.REQUEST_FREQUENCY_PENALTY, "presence_penalty": sc.REQUEST_PRESENCE_PENALTY,
}


def request_attributes(body: Mapping[str, Any]) -> dict[str, Any]:
    """Every gen_ai request attribute that the body gives, without content."""
    found: dict[str, Any] = {sc.OPENAI_API_TYPE: "chat_completions", sc.REQUEST_MODEL: as_text(body.get("model"))}
    for key, name in _NUMBERS.items():
        found[name] = as_number(body.get(key)) if key in body else None
    limit = as_int(body.get("max_completion_tokens"))
    found[sc.REQUEST_MAX_TOKENS] = as_int(body.get("max_tokens")) if limit is None else limit
    found[sc.REQUEST_SEED] = as_int(body.get("seed"))
    found[sc.REQUEST_TOP_K] = as_int(body.get("top_k"))
    stop = body.get("stop")
    found[sc.REQUEST_STOP_SEQUENCES] = [stop] if isinstance(stop, str) else [as_text(i) for i in as_list(stop)] or None
    choices = as_int(body.get("n"))
    found[sc.REQUEST_CHOICE_COUNT] = None if choices == 1 else choices
    found[sc.REQUEST_STREAM] = True if body.get("stream") is True else None
    found[sc.REQUEST_REASONING_LEVEL] = as_text(body.get("reasoning_effort")) or None
    speech = "speech" if "audio" in as_list(body.get("modalities")) else None
    found[sc.OUTPUT_TYPE] = speech or _OUTPUT_TYPES.get(as_text(as_map(body.get("response_format")).get("type")))
    tier = as_text(body.get("service_tier"))
    found[sc.OPENAI_REQUEST_SERVICE_TIER] = tier if tier not in ("", "auto") else None
    return {key: value for key, value in found.items() if value is not None and value != ""}


def response_attributes(body: Mapping[str, Any]) -> dict[str, Any]:
    """Every gen_ai response attribute that the body gives, without content; finish reasons of all choices."""
    data, told = dict(body), as_map(body.get("usage"))
    found: dict[str, Any] = {
        sc.RESPONSE_ID: as_text(body.get("id")),
        sc.RESPONSE_MODEL: as_text(body.get("model")),
        sc.RESPONSE_FINISH_REASONS: [r for r in (finish_reason(as_map(c)) for c in as_list(body.get("choices"))) if r],
        sc.OPENAI_RESPONSE_SERVICE_TIER: as_text(body.get("service_tier")),
        sc.OPENAI_RESPONSE_SYSTEM_FINGERPRINT: as_text(body.get("system_fingerprint")),
        **usage_attributes(usage(data)),
        **modality_attributes(told.get("prompt_tokens_details"), told.get("completion_tokens_details")),
    }
    return {key: value for key, value in found.items() if value is not None and value not in ("", [])}


def input_messages(body: Mapping[str, Any]) -> list[JsonObject]:
    """The value of ``gen_ai.input.messages``: one message for each message of the body, in order."""
    found: list[JsonObject] = []
    for item in as_list(body.get("messages")):
        content = item.get("content") if is_map(item) and len(item) == 2 else None
        if isinstance(content, str) and as_text(item.get("role")) in _PLAIN_ROLES:  # nearly all of a long history
            found.append({"role": item["role"], "parts": [{"type": "text", "content": content}]})
        else:
            found.append(_message(as_map(item)))
    return found


def output_messages(body: Mapping[str, Any]) -> list[JsonObject]:
    """The value of ``gen_ai.output.messages``: one message for each choice."""
    found: list[JsonObject] = []
    for choice in map(as_map, as_list(body.get("choices"))):
        wire = as_map(choice.get("message"))
        message = _message(wire if wire.get("role") else {"role": "assistant", **wire})
        named = (part for part in message["parts"] if part["type"] == "tool_call")
        for part, call in zip(named, tool_calls(dict(body), choice), strict=False):
            if not part.get("id"):
                part.update(id=call.id, id_synthesised=True)
        reason = finish_reason(choice)
        if reason:
            message["finish_reason"] = reason
        found.append(message)
    return found


def tool_definitions(body: Mapping[str, Any]) -> list[JsonObject]:
    """The value of ``gen_ai.tool.definitions``: one for each tool of the body; further fields ride along."""
    found: list[JsonObject] = []
    for tool in map(as_map, as_list(body.get("tools"))):
        inner = as_map(tool.get(as_text(tool.get("type"))))
        found.append({"type": as_text(tool.get("type")) or "function", "name": as_text(inner.get("name")), **inner})
    return found


def parsed_arguments(text: str) -> Any:
    """The arguments as the object that the conventions want; the text itself where it is not JSON."""
    if not text or text[0] not in "{[":
        return text
    try:
        return loads(text)
    except ValueError:
        return text


def _message(wire: JsonObject) -> JsonObject:
    role, content = wire.get("role"), wire.get("content")
    message: JsonObject = {"role": role if isinstance(role, str) else ""}
    if role in ("tool", "function"):
        call_id = wire.get("tool_call_id", wire.get("name"))
        message["parts"] = [{"type": "tool_call_response", "id": as_text(call_id), "response": content}]
    elif len(wire) == 2 and isinstance(content, str):
        message["parts"] = [{"type": "text", "content": content}]
    else:
        message["parts"] = _parts(wire, content)
    if isinstance(wire.get("name"), str):
        message["name"] = wire["name"]
    return message


def _parts(wire: JsonObject, content: object) -> list[JsonObject]:
    parts: list[JsonObject] = [
        {"type": "reasoning", "content": wire[key]}
        for key in ("reasoning_content", "reasoning") if isinstance(wire.get(key), str) and wire[key]
    ][:1]
    if isinstance(content, str):
        if content or not wire.get("tool_calls"):
            parts.append({"type": "text", "content": content})
    else:
        parts.extend(_content_part(item) for item in as_list(content))
    if isinstance(wire.get("refusal"), str):
        parts.append({"type": "refusal", "refusal": wire["refusal"]})
    parts.extend(_audio_parts(as_map(wire.get("audio"))))
    for call in map(as_map, as_list(wire.get("tool_calls"))):
        parts.append(_call_part(call, as_map(call.get("function")) or as_map(call.get("custom"))))
    if isinstance(wire.get("function_call"), dict):
        parts.append(_call_part({}, as_map(wire["function_call"])))
    return parts


def _audio_parts(audio: JsonObject) -> list[JsonObject]:
    """What was said, as sound and as words; in a later request only the id of it."""
    parts: list[JsonObject] = []
    if isinstance(audio.get("data"), str):
        parts.append({"type": "blob", "modality": "audio", "content": audio["data"]})
    elif isinstance(audio.get("id"), str):
        parts.append({"type": "file", "modality": "audio", "file_id": audio["id"]})
    if isinstance(audio.get("transcript"), str):
        parts.append({"type": "text", "content": audio["transcript"]})
    return parts


def _call_part(call: JsonObject, function: JsonObject) -> JsonObject:
    arguments = function.get("arguments", function.get("input"))
    part: JsonObject = {"type": "tool_call", "name": as_text(function.get("name"))}
    if isinstance(call.get("id"), str):
        part["id"] = call["id"]
    part["arguments"] = parsed_arguments(arguments) if isinstance(arguments, str) else arguments
    return part


def _content_part(item: object) -> JsonObject:
    wire = as_map(item)
    kind = as_text(wire.get("type"))
    inner = as_map(wire.get(kind))
    if kind in ("text", "input_text") and isinstance(wire.get("text"), str):
        return {"type": "text", "content": wire["text"]}
    if kind == "image_url" and isinstance(inner.get("url"), str):
        return url_part("image", inner["url"])
    if kind == "input_audio":
        data, form = as_text(inner.get("data")), as_text(inner.get("format"))
        return {"type": "blob", "modality": "audio", "mime_type": f"audio/{form}", "content": data}
    if kind == "file" and isinstance(inner.get("file_id"), str):
        return {"type": "file", "modality": "document", "file_id": inner["file_id"]}
    if kind == "file" and isinstance(inner.get("file_data"), str):
        return url_part("document", inner["file_data"])
    return wire if kind else {"type": "unknown", "value": item}


def url_part(modality: str, url: str) -> JsonObject:
    """The part for a reference, or for content where ``url`` is a data URL."""
    match = DATA_URL.match(url)
    if match is None:
        return {"type": "uri", "modality": modality, "uri": url}
    return {"type": "blob", "modality": modality, "mime_type": match[1], "content": url[match.end():]}
