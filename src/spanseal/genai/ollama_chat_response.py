"""Ollama chat: answers to values, and the lines of a stream put together. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spanseal.errors import MalformedResponseError
from spanseal.genai.messages import Chunk, LLMResponse, ToolCall, Usage
from spanseal.genai.pieces import add, extend, whole
from spanseal.genai.wire_json import (
    JsonObject,
    arguments_text,
    as_count,
    as_list,
    as_map,
    as_text,
    is_list,
    is_map,
    synthetic_id,
)


def parse_response(body: object) -> LLMResponse:
    """The answer as an :class:`LLMResponse`; durations and the rest stay in ``raw``.

    Ollama says ``stop`` after tool calls too; with calls in the message that is the convention's ``tool_call``.
    Raises :class:`spanseal.errors.MalformedResponseError` (the server is at fault) when it is no chat answer.

    >>> parse_response({"model": "m", "message": {"content": "hi"}, "done_reason": "stop"}).text
    'hi'
    """
    fault = fault_of(body)
    if fault:
        raise MalformedResponseError(fault)
    data = as_map(body)
    message = as_map(data["message"])
    used = usage(data)
    return LLMResponse(
        text=as_text(message.get("content")),
        model=as_text(data.get("model")),
        prompt_tokens=used.input_tokens or 0,
        completion_tokens=used.output_tokens or 0,
        raw=data,
        tool_calls=tool_calls(data),
        finish_reason=finish_reason(data),
        reasoning=as_text(message.get("thinking")),
        usage=used,
    )


def fault_of(body: object) -> str:
    """Why ``body`` is no chat answer, in words with a remedy; empty if it is one."""
    fault = server_fault(body)
    if not fault and not isinstance(as_map(body).get("message"), dict):
        return "the answer has no message: is the host an Ollama server (by default http://localhost:11434)?"
    return fault


def server_fault(body: object) -> str:
    """Why ``body`` is no answer of any kind: an error of Ollama's, or no JSON object; empty if it may be one."""
    if not is_map(body):
        return "the answer is not a JSON object: is the host an Ollama server (by default http://localhost:11434)?"
    if body.get("error"):
        words = as_text(as_map(body["error"]).get("message"))  # a proxy's form
        return f"Ollama reported an error: {words or body['error']!s:.300}"
    return ""


def finish_reason(body: JsonObject) -> str:
    """The convention's word for ``done_reason``; empty while the answer is not done."""
    reason = as_text(body.get("done_reason"))
    if reason == "stop" and as_list(as_map(body.get("message")).get("tool_calls")):
        return "tool_call"
    return reason


def tool_calls(body: JsonObject) -> tuple[ToolCall, ...]:
    """The calls of the answer; one without an id gets a synthetic one, marked by its prefix."""
    calls: list[ToolCall] = []
    for index, call in enumerate(map(as_map, as_list(as_map(body.get("message")).get("tool_calls")))):
        function = as_map(call.get("function"))
        name, arguments = as_text(function.get("name")), arguments_text(function.get("arguments"))
        new = as_text(call.get("id")) or synthetic_id(body.get("created_at"), index, name, arguments)
        calls.append(ToolCall(new, name, arguments))
    return tuple(calls)


def usage(body: JsonObject) -> Usage:
    """Tokens as Ollama counted them; a prompt found in its cache may be told as absent."""
    return Usage(as_count(body.get("prompt_eval_count")), as_count(body.get("eval_count")))


class StreamAssembler:
    """Takes the lines in order; :meth:`body` is the whole answer at any time.

    >>> stream = StreamAssembler()
    >>> stream.feed({"message": {"role": "assistant", "content": "he"}, "done": False}).text
    'he'
    >>> _ = stream.feed({"message": {"content": "y"}, "done": True, "done_reason": "stop"})
    >>> stream.body()["message"]["content"]
    'hey'
    """

    def __init__(self) -> None:
        self._body: JsonObject = {}
        self._message: JsonObject = {}

    def feed(self, chunk: Mapping[str, Any]) -> Chunk | None:
        """Take one line; what is new in it, if it is text or thinking."""
        for key, value in chunk.items():
            if key == "logprobs" and is_list(value):
                extend(self._body, key, value)
            elif key != "message":
                self._body[key] = value
        message = as_map(chunk.get("message"))
        for key, value in message.items():
            if key in ("content", "thinking") and isinstance(value, str):
                add(self._message, key, value)
            elif is_list(value):
                extend(self._message, key, value)
            else:
                self._message[key] = value
        new = Chunk(as_text(message.get("content")), as_text(message.get("thinking")))
        return new if new.text or new.reasoning else None

    def body(self) -> JsonObject:
        """The body so far, in the form of an answer without stream."""
        body = whole(self._body)
        return {**body, "message": whole(self._message)} if self._message else body
