"""Ollama generate: requests and answers as values, and the lines of a stream put together. Pure.

A completion has one prompt: the conversation that it stands for is the system text, if there is one, and the user's
prompt with its images. ``suffix``, ``template``, ``context``, ``raw`` and the rest are in ``extra``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from spanseal.errors import MalformedResponseError, UsageError
from spanseal.genai.messages import ChatRequest, Chunk, LLMResponse, Media, Message, Part, Text
from spanseal.genai.ollama_chat_body import image_to_wire, sampling_of, with_sampling
from spanseal.genai.ollama_chat_response import server_fault, usage
from spanseal.genai.pieces import add, extend, whole
from spanseal.genai.wire_json import JsonObject, as_list, as_map, as_text, is_list, is_map, mend_text

_KNOWN: Final = frozenset({"model", "prompt", "system", "images", "stream", "format", "options"})


def request_body(request: ChatRequest, *, stream: bool) -> JsonObject:
    """The body to send. Raises :class:`spanseal.errors.UsageError` for a conversation, tools, or other media than
    images by content: this format has no place for them; use the chat format.

    >>> request_body(ChatRequest("m", (Message("user", "hi"),)), stream=False)
    {'model': 'm', 'prompt': 'hi', 'stream': False}
    """
    messages = list(request.messages)
    system = messages.pop(0) if messages and messages[0].role == "system" else None
    if len(messages) > 1 or request.tools or any(message.role != "user" for message in messages):
        raise UsageError("a completion takes one prompt, no conversation and no tools; use the chat format")
    body: JsonObject = {"model": request.model}
    if messages:
        body["prompt"] = mend_text(messages[0].text)
    if system is not None:
        body["system"] = mend_text(system.text)
    images = [image_to_wire(part) for message in messages for part in message.parts if isinstance(part, Media)]
    if images:
        body["images"] = images
    body["stream"] = stream
    return with_sampling(body, request)


def parse_request(body: Mapping[str, Any]) -> ChatRequest:
    """The values of a body; other fields, and other options, are in ``extra``. Never raises."""
    system, prompt = as_text(body.get("system")), as_text(body.get("prompt"))
    parts: list[Part] = [Text(prompt)] if prompt else []
    parts.extend(Media("image", data=as_text(item)) for item in as_list(body.get("images")))
    content = prompt if len(parts) == 1 and prompt else tuple(parts)
    user = (Message("user", content),) if parts else ()
    extra = {key: value for key, value in body.items() if key not in _KNOWN}
    messages = (*((Message("system", system),) if system else ()), *user)
    return sampling_of(body, ChatRequest(as_text(body.get("model")), messages, extra=extra))


def parse_response(body: object) -> LLMResponse:
    """The answer as an :class:`LLMResponse`; token context, durations and images stay in ``raw``.

    Raises :class:`spanseal.errors.MalformedResponseError` (the server is at fault) when it is no completion.

    >>> parse_response({"model": "m", "response": "hi", "done_reason": "stop"}).text
    'hi'
    """
    fault = fault_of(body)
    if fault:
        raise MalformedResponseError(fault)
    data = as_map(body)
    used = usage(data)
    return LLMResponse(
        text=as_text(data.get("response")),
        model=as_text(data.get("model")),
        prompt_tokens=used.input_tokens or 0,
        completion_tokens=used.output_tokens or 0,
        raw=data,
        finish_reason=as_text(data.get("done_reason")),
        reasoning=as_text(data.get("thinking")),
        usage=used,
    )


def fault_of(body: object) -> str:
    """Why ``body`` is no completion, in words with a remedy; empty if it is one."""
    fault = server_fault(body)
    if fault:
        return fault
    if not any(isinstance(as_map(body).get(key), str) for key in ("response", "image")):
        return "the answer has no response: is the host an Ollama server (by default http://localhost:11434)?"
    return ""


class StreamAssembler:
    """Takes the lines in order; :meth:`body` is the whole answer at any time.

    >>> stream = StreamAssembler()
    >>> stream.feed({"response": "he", "done": False}).text
    'he'
    >>> _ = stream.feed({"response": "y", "done": True})
    >>> stream.body()
    {'response': 'hey', 'done': True}
    """

    def __init__(self) -> None:
        self._body: JsonObject = {}

    def feed(self, chunk: Mapping[str, Any]) -> Chunk | None:
        """Take one line; what is new in it, if it is text or thinking."""
        for key, value in chunk.items():
            if key in ("response", "thinking") and isinstance(value, str):
                add(self._body, key, value)
            elif key == "logprobs" and is_list(value):
                extend(self._body, key, value)
            else:
                self._body[key] = value
        new = Chunk(as_text(chunk.get("response")), as_text(chunk.get("thinking")))
        return new if new.text or new.reasoning else None

    def body(self) -> JsonObject:
        """The body so far, in the form of an answer without stream."""
        body = whole(self._body)
        return body if is_map(body) else {}
