"""OpenAI chat completions: response bodies to values, and a body for an answer made in process. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from spanseal.errors import MalformedResponseError
from spanseal.genai.messages import LLMResponse, ToolCall, Usage
from spanseal.genai.openai_chat_body import tool_call_from_wire, tool_call_to_wire
from spanseal.genai.wire_json import JsonObject, as_count, as_list, as_map, as_text, is_map, synthetic_id

FINISH: Final = {"tool_calls": "tool_call", "function_call": "tool_call"}
"""The provider's word to the convention's; other words stay."""
_UNMAPPED: Final = {"tool_call": "tool_calls"}


def parse_response(body: object) -> LLMResponse:
    """The first choice of a response body as an :class:`LLMResponse`; ``raw`` keeps all choices.

    A tool call without an id gets :func:`spanseal.genai.wire_json.synthetic_id`. Raises
    :class:`spanseal.errors.MalformedResponseError` (the provider is at fault) when it is not a chat completion.

    >>> parse_response({"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}).text
    'hi'
    """
    fault = fault_of(body)
    if fault:
        raise MalformedResponseError(fault)
    data = as_map(body)
    choice = as_map(as_list(data["choices"])[0])
    message = as_map(choice.get("message"))
    used = usage(data)
    return LLMResponse(
        text=text_of(message.get("content")) or as_text(message.get("refusal")) or _spoken(message),
        model=as_text(data.get("model")),
        prompt_tokens=used.input_tokens or 0,
        completion_tokens=used.output_tokens or 0,
        raw=data,
        tool_calls=tool_calls(data, choice),
        finish_reason=finish_reason(choice),
        response_id=as_text(data.get("id")),
        reasoning=reasoning_of(message),
        usage=used,
    )


def fault_of(body: object) -> str:
    """Why ``body`` is no chat completion, in words with a remedy; empty if it is one."""
    if not is_map(body):
        return "the answer is not a JSON object: is the URL that of an OpenAI-compatible API (often …/v1)?"
    data = body
    if data.get("error"):
        return f"the server sent an error with status 200: {server_words(data)}"
    choices = as_list(data.get("choices"))
    if not choices:
        words = server_words(data)
        says = f", and the server says: {words}" if words else ": check the model's name and the server's log"
        return f"the answer has no choices{says}"
    if not isinstance(as_map(choices[0]).get("message"), dict):
        return "the answer's first choice has no message: is the URL that of an OpenAI-compatible API?"
    return ""


def server_words(body: JsonObject) -> str:
    """What a server says went wrong, at most 300 characters; empty if it says nothing.

    >>> server_words({"error": {"message": "quota"}}), server_words({"detail": "no such model"})
    ('quota', 'no such model')
    """
    error = body.get("error")
    if error:
        return f"{as_text(as_map(error).get('message')) or error!s:.300}"
    return f"{as_text(body.get('message')) or as_text(body.get('detail')):.300}"


def finish_reason(choice: JsonObject) -> str:
    """The choice's finish reason in the convention's words; empty if the server told none."""
    reason = as_text(choice.get("finish_reason"))
    return FINISH.get(reason, reason)


def tool_calls(body: JsonObject, choice: JsonObject) -> tuple[ToolCall, ...]:
    """The calls of one choice, each with an id."""
    calls: list[ToolCall] = []
    for index, item in enumerate(as_list(as_map(choice.get("message")).get("tool_calls"))):
        call = tool_call_from_wire(as_map(item))
        if not call.id:
            new = synthetic_id(body.get("id"), choice.get("index"), index, call.name, call.arguments)
            call = ToolCall(new, call.name, call.arguments)
        calls.append(call)
    return tuple(calls)


def text_of(content: object) -> str:
    """The text of a ``content`` field: a string, or the text items of a list."""
    if isinstance(content, str):
        return content
    return "".join(as_text(as_map(item).get("text")) for item in as_list(content))


def _spoken(message: JsonObject) -> str:
    return as_text(as_map(message.get("audio")).get("transcript"))


def reasoning_of(message: JsonObject) -> str:
    """The model's thinking: ``reasoning_content`` (DeepSeek, llama.cpp) or ``reasoning`` (vLLM, Groq)."""
    return as_text(message.get("reasoning_content")) or as_text(message.get("reasoning"))


def usage(body: JsonObject) -> Usage:
    """Tokens as counted by the provider; None where it did not tell."""
    told = as_map(body.get("usage"))
    prompt, completion = as_map(told.get("prompt_tokens_details")), as_map(told.get("completion_tokens_details"))
    cached = as_count(prompt.get("cached_tokens"))
    return Usage(
        input_tokens=as_count(told.get("prompt_tokens")),
        output_tokens=as_count(told.get("completion_tokens")),
        reasoning_tokens=as_count(completion.get("reasoning_tokens")),
        cache_read_tokens=as_count(told.get("prompt_cache_hit_tokens")) if cached is None else cached,
        cache_write_tokens=as_count(prompt.get("cache_write_tokens")),
    )


def response_body(response: LLMResponse) -> JsonObject:
    """A chat completion body that says what ``response`` says, for models that answer in process.

    >>> parse_response(response_body(LLMResponse("hi", "m", finish_reason="stop"))).finish_reason
    'stop'
    """
    message: JsonObject = {"role": "assistant", "content": response.text or None}
    if response.reasoning:
        message["reasoning_content"] = response.reasoning
    if response.tool_calls:
        message["tool_calls"] = [tool_call_to_wire(call) for call in response.tool_calls]
    reason = response.finish_reason or ("tool_call" if response.tool_calls else "stop")
    choice = {"index": 0, "message": message, "finish_reason": _UNMAPPED.get(reason, reason)}
    body: JsonObject = {"id": response.response_id, "object": "chat.completion", "model": response.model}
    body["choices"] = [choice]
    told = _usage_to_wire(response)
    if told:
        body["usage"] = told
    return body


def _usage_to_wire(response: LLMResponse) -> Mapping[str, Any]:
    used = response.usage
    if used.estimated:
        return {}
    prompt = used.input_tokens if used.input_tokens is not None else response.prompt_tokens or None
    completion = used.output_tokens if used.output_tokens is not None else response.completion_tokens or None
    told: JsonObject = {}
    if prompt is not None or completion is not None:
        told = {"prompt_tokens": prompt or 0, "completion_tokens": completion or 0}
        told["total_tokens"] = told["prompt_tokens"] + told["completion_tokens"]
    if used.reasoning_tokens is not None:
        told["completion_tokens_details"] = {"reasoning_tokens": used.reasoning_tokens}
    if used.cache_read_tokens is not None or used.cache_write_tokens is not None:
        cache = {"cached_tokens": used.cache_read_tokens, "cache_write_tokens": used.cache_write_tokens}
        told["prompt_tokens_details"] = {key: value for key, value in cache.items() if value is not None}
    return told
