"""OpenAI Responses: response bodies to values. Pure."""

from __future__ import annotations

from typing import Any, Final

from spanseal.errors import MalformedResponseError
from spanseal.genai.messages import LLMResponse, ToolCall, Usage
from spanseal.genai.openai_chat_response import server_words
from spanseal.genai.wire_json import JsonObject, arguments_text, as_count, as_list, as_map, as_text, is_list, is_map

ENDED: Final = frozenset({"completed", "incomplete", "failed", "cancelled"})
"""Statuses after which nothing more comes."""
_INCOMPLETE: Final = {"max_output_tokens": "length", "max_messages": "length", "content_filter": "content_filter"}
_CALLS: Final = frozenset({"function_call", "custom_tool_call"})


def parse_response(body: object) -> LLMResponse:
    """The response as an :class:`LLMResponse`: its texts, its calls of our tools, its reasoning summaries.

    Everything else that it put out (searches, MCP calls, images) is in ``raw``. Raises
    :class:`spanseal.errors.MalformedResponseError` (the provider is at fault) when it is no response.

    >>> item = {"type": "message", "content": [{"type": "output_text", "text": "hi"}]}
    >>> parse_response({"id": "resp_1", "status": "completed", "output": [item]}).text
    'hi'
    """
    fault = fault_of(body)
    if fault:
        raise MalformedResponseError(fault)
    data = as_map(body)
    used = usage(data)
    items = [as_map(item) for item in as_list(data.get("output"))]
    return LLMResponse(
        text=_texts(items, "text") or _texts(items, "refusal"),
        model=as_text(data.get("model")),
        prompt_tokens=used.input_tokens or 0,
        completion_tokens=used.output_tokens or 0,
        raw=data,
        tool_calls=tuple(_call(item) for item in items if as_text(item.get("type")) in _CALLS),
        finish_reason=finish_reason(data),
        response_id=as_text(data.get("id")),
        reasoning="\n".join(_thoughts(items)),
        usage=used,
    )


def fault_of(body: object) -> str:
    """Why ``body`` is no response, in words with a remedy; empty if it is one."""
    if not is_map(body):
        return "the answer is not a JSON object: is the URL that of an OpenAI-compatible API (often …/v1)?"
    if body.get("error"):
        return f"the server reported an error: {server_words(body)}"
    if body.get("status") == "failed":
        return "the response failed, and the server does not say why: look at its log"
    if not is_list(body.get("output")) and body.get("status") not in ("queued", "in_progress", "cancelled"):
        words = server_words(body)
        says = f", and the server says: {words}" if words else ": does the server know the Responses API?"
        return f"the answer has no output{says}"
    return ""


def finish_reason(body: JsonObject) -> str:
    """Why the response ended, in the convention's words; empty while it has not, or where nobody told."""
    status = body.get("status")
    if status == "incomplete":
        reason = as_text(as_map(body.get("incomplete_details")).get("reason"))
        return _INCOMPLETE.get(reason, reason)
    if status == "failed":
        return "error"
    if status != "completed":
        return ""
    asks = any(as_text(as_map(item).get("type")) in _CALLS for item in as_list(body.get("output")))
    return "tool_call" if asks else "stop"


def usage(body: JsonObject) -> Usage:
    """Tokens as counted by the provider; None where it did not tell."""
    told = as_map(body.get("usage"))
    read, written = as_map(told.get("input_tokens_details")), as_map(told.get("output_tokens_details"))
    return Usage(
        input_tokens=as_count(told.get("input_tokens")),
        output_tokens=as_count(told.get("output_tokens")),
        reasoning_tokens=as_count(written.get("reasoning_tokens")),
        cache_read_tokens=as_count(read.get("cached_tokens")),
        cache_write_tokens=as_count(read.get("cache_write_tokens")),
    )


def _texts(items: list[JsonObject], key: str) -> str:
    parts = (part for item in items if item.get("type") == "message" for part in as_list(item.get("content")))
    return "".join(as_text(as_map(part).get(key)) for part in parts)


def _thoughts(items: list[JsonObject]) -> list[str]:
    parts: list[Any] = []
    for item in items:
        if item.get("type") == "reasoning":
            parts += as_list(item.get("summary")) or as_list(item.get("content"))
    return [text for text in (as_text(as_map(part).get("text")) for part in parts) if text]


def _call(item: JsonObject) -> ToolCall:
    arguments = arguments_text(item.get("arguments", item.get("input")))
    return ToolCall(as_text(item.get("call_id")) or as_text(item.get("id")), as_text(item.get("name")), arguments)
