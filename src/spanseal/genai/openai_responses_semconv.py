"""OpenAI Responses: bodies to the GenAI conventions' attributes and content values. Pure.

``instructions`` are system instructions; system and developer messages in ``input`` stay where they are. All output
items are the parts of one message: a response is one choice.

>>> input_messages({"input": "hi"})
[{'role': 'user', 'parts': [{'type': 'text', 'content': 'hi'}]}]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from spanseal.genai import semconv as sc
from spanseal.genai.openai_responses_items import item_message, item_parts
from spanseal.genai.openai_responses_response import finish_reason, usage
from spanseal.genai.semconv_usage import modality_attributes, usage_attributes
from spanseal.genai.wire_json import JsonObject, as_int, as_list, as_map, as_number, as_text, is_list, is_map

_OUTPUT_TYPES: Final = {"text": "text", "json_object": "json", "json_schema": "json"}


def request_attributes(body: Mapping[str, Any]) -> dict[str, Any]:
    """Every gen_ai request attribute that the body gives, without content."""
    tier, prompt = as_text(body.get("service_tier")), as_map(body.get("prompt"))
    conversation = body.get("conversation")
    found: dict[str, Any] = {
        sc.OPENAI_API_TYPE: "responses",
        sc.REQUEST_MODEL: as_text(body.get("model")),
        sc.REQUEST_TEMPERATURE: as_number(body.get("temperature")),
        sc.REQUEST_TOP_P: as_number(body.get("top_p")),
        sc.REQUEST_MAX_TOKENS: as_int(body.get("max_output_tokens")),
        sc.REQUEST_STREAM: True if body.get("stream") is True else None,
        sc.REQUEST_REASONING_LEVEL: as_text(as_map(body.get("reasoning")).get("effort")),
        sc.REQUEST_PREVIOUS_RESPONSE_ID: as_text(body.get("previous_response_id")),
        sc.CONVERSATION_ID: as_text(conversation) or as_text(as_map(conversation).get("id")),
        sc.PROMPT_NAME: as_text(prompt.get("id")),
        sc.PROMPT_VERSION: as_text(prompt.get("version")),
        sc.OUTPUT_TYPE: _OUTPUT_TYPES.get(as_text(as_map(as_map(body.get("text")).get("format")).get("type"))),
        sc.OPENAI_REQUEST_SERVICE_TIER: tier if tier != "auto" else None,
    }
    return {key: value for key, value in found.items() if value is not None and value != ""}


def response_attributes(body: Mapping[str, Any]) -> dict[str, Any]:
    """Every gen_ai response attribute that the body gives, without content."""
    data, told = dict(body), as_map(body.get("usage"))
    reason = finish_reason(data)
    compacted = any(as_map(item).get("type") == "compaction" for item in as_list(body.get("output")))
    found: dict[str, Any] = {
        sc.RESPONSE_ID: as_text(body.get("id")),
        sc.RESPONSE_MODEL: as_text(body.get("model")),
        sc.RESPONSE_FINISH_REASONS: [reason] if reason else None,
        sc.RESPONSE_STATUS: as_text(body.get("status")),
        sc.CONVERSATION_ID: as_text(as_map(body.get("conversation")).get("id")),
        sc.CONVERSATION_COMPACTED: True if compacted else None,
        sc.OPENAI_RESPONSE_SERVICE_TIER: as_text(body.get("service_tier")),
        **usage_attributes(usage(data)),
        **modality_attributes(told.get("input_tokens_details"), told.get("output_tokens_details")),
    }
    return {key: value for key, value in found.items() if value is not None and value != ""}


def system_instructions(body: Mapping[str, Any]) -> list[JsonObject]:
    """The value of ``gen_ai.system_instructions``: the text of ``instructions``, where it is one."""
    text = body.get("instructions")
    return [{"type": "text", "content": text}] if isinstance(text, str) and text else []


def input_messages(body: Mapping[str, Any]) -> list[JsonObject]:
    """The value of ``gen_ai.input.messages``: one message for each item of ``input``, in order; a text is one."""
    sent = body.get("input")
    if isinstance(sent, str):
        return [{"role": "user", "parts": [{"type": "text", "content": sent}]}]
    if is_map(sent):
        return [item_message(sent)]
    return [item_message(item) for item in as_list(sent)]


def output_messages(body: Mapping[str, Any]) -> list[JsonObject]:
    """The value of ``gen_ai.output.messages``: one message with the parts of all items; none where nothing came."""
    if not is_list(body.get("output")) or not body["output"]:
        return []
    parts = [part for item in body["output"] for part in item_parts(item)]
    message: JsonObject = {"role": "assistant", "parts": parts}
    reason = finish_reason(dict(body))
    if reason:
        message["finish_reason"] = reason
    return [message]


def tool_definitions(body: Mapping[str, Any]) -> list[JsonObject]:
    """The value of ``gen_ai.tool.definitions``: one for each tool of the body; further fields ride along.

    A tool of the provider's has no name: it is called after its server or its type.
    """
    found: list[JsonObject] = []
    for tool in map(as_map, as_list(body.get("tools"))):
        kind = as_text(tool.get("type")) or "function"
        name = as_text(tool.get("name")) or as_text(tool.get("server_label")) or kind
        found.append({"type": kind, "name": name, **tool})
    return found
