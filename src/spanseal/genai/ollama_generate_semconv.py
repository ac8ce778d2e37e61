"""Ollama generate: bodies to the GenAI conventions' attributes and content values. Pure.

The prompt and its images are one user message, ``system`` is the system instructions.

>>> input_messages({"prompt": "hi"})
[{'role': 'user', 'parts': [{'type': 'text', 'content': 'hi'}]}]
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spanseal.genai import semconv as sc
from spanseal.genai.embeddings import nothing as tool_definitions
from spanseal.genai.ollama_chat_response import usage
from spanseal.genai.ollama_chat_semconv import request_attributes as request_attributes
from spanseal.genai.semconv_usage import usage_attributes
from spanseal.genai.wire_json import JsonObject, as_list, as_text

__all__ = ["request_attributes", "tool_definitions"]


def response_attributes(body: Mapping[str, Any]) -> dict[str, Any]:
    """Every gen_ai response attribute that the body gives, without content."""
    reason = as_text(body.get("done_reason"))
    found: dict[str, Any] = {
        sc.RESPONSE_MODEL: as_text(body.get("model")) or None,
        sc.RESPONSE_FINISH_REASONS: [reason] if reason else None,
        **usage_attributes(usage(dict(body))),
    }
    return {key: value for key, value in found.items() if value is not None}


def system_instructions(body: Mapping[str, Any]) -> list[JsonObject]:
    """The value of ``gen_ai.system_instructions``."""
    system = body.get("system")
    return [{"type": "text", "content": system}] if isinstance(system, str) and system else []


def input_messages(body: Mapping[str, Any]) -> list[JsonObject]:
    """The value of ``gen_ai.input.messages``: one message; none for a call that only loads the model."""
    prompt = body.get("prompt")
    parts: list[JsonObject] = [{"type": "text", "content": prompt}] if isinstance(prompt, str) and prompt else []
    parts += [{"type": "blob", "modality": "image", "content": image} for image in as_list(body.get("images"))]
    return [{"role": "user", "parts": parts}] if parts else []


def output_messages(body: Mapping[str, Any]) -> list[JsonObject]:
    """The value of ``gen_ai.output.messages``: one message, or none where nothing came."""
    parts: list[JsonObject] = []
    for key, kind in (("thinking", "reasoning"), ("response", "text")):
        if isinstance(body.get(key), str) and body[key]:
            parts.append({"type": kind, "content": body[key]})
    if isinstance(body.get("image"), str) and body["image"]:
        parts.append({"type": "blob", "modality": "image", "content": body["image"]})
    if not parts and not isinstance(body.get("response"), str):
        return []
    message: JsonObject = {"role": "assistant", "parts": parts}
    reason = as_text(body.get("done_reason"))
    if reason:
        message["finish_reason"] = reason
    return [message]
