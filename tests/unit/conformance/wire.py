"""Model calls in every wire format: whole, streamed, refused, and with everything that can be asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.unit.telemetry.seams import bodies
from tests.unit.telemetry.wire_world import Answer, bare_client

from spanseal.telemetry.instrument import instrument

USER: list[Any] = [{"role": "user", "content": "hi"}]
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {"name": "add", "description": "Adds.", "parameters": {"type": "object", "properties": {}}},
}


def client(kind: str, *answers: Answer) -> Any:
    """An instrumented client whose server answers so."""
    return instrument(bare_client(kind, answers, []))


def answer(path: str, *, stream: bool = False, **changed: Any) -> Answer:
    plain, events = bodies.ANSWERS[path]
    form = "application/x-ndjson" if path.startswith("/api") else "text/event-stream"
    if stream:
        return Answer(pieces=events.splitlines(keepends=True), headers={"content-type": form})
    return Answer(body={**json.loads(plain), **changed})


def chat(**more: Any) -> object:
    usage = {
        "prompt_tokens": 9, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
    told: dict[str, Any] = {"service_tier": "default", "system_fingerprint": "fp", "usage": usage}
    call = {"id": "c", "type": "function", "function": {"name": "add", "arguments": "{\"a\": 1}"}}
    message = {"role": "assistant", "content": None, "reasoning_content": "so", "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    made = client("openai", answer("/chat/completions", choices=[choice, {**choice, "index": 1}], **told))
    return made.chat.completions.create(model="m", messages=more.pop("messages", USER), **more)


def rich_chat() -> object:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    far = {"type": "image_url", "image_url": {"url": "https://pictures.test/a.png"}}
    messages = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": [{"type": "text", "text": "what?"}, picture, far], "name": "ann"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": "add", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "3"},
    ]
    return chat(
        messages=messages, tools=[TOOL], temperature=0.5, top_p=1.0, max_tokens=9, stop=["END"], seed=3, n=2,
        frequency_penalty=0.1, presence_penalty=0.2, reasoning_effort="low", service_tier="flex",
        response_format={"type": "json_object"}, extra_body={"top_k": 7},
    )


def streamed(kind: str, ask: Callable[[Any], Any], path: str) -> Callable[[], object]:
    def make() -> object:
        return list(ask(client(kind, answer(path, stream=True))))

    return make


def refused(kind: str, ask: Callable[[Any], Any], given: Answer) -> Callable[[], object]:
    def make() -> object:
        try:
            return ask(client(kind, given))
        except Exception as error:
            return error

    return make


def responses(**more: Any) -> object:
    told = answer("/responses", service_tier="default", **more.pop("answer", {}))
    return client("openai", told).responses.create(model="m", input="hi", **more)


def rich_responses() -> object:
    return responses(
        instructions="be brief", previous_response_id="r0", max_output_tokens=9, temperature=0.5, top_p=1,
        reasoning={"effort": "low"}, service_tier="flex", text={"format": {"type": "json_object"}},
        tools=[{"type": "function", "name": "add", "parameters": {"type": "object", "properties": {}}, "strict": True},
               {"type": "web_search"}],
        prompt={"id": "pr", "version": "2"}, conversation="conv_1",
        answer={"output": [
            {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "so"}]},
            {"type": "function_call", "id": "f", "call_id": "c", "name": "add", "arguments": "{}"},
            {"type": "compaction", "id": "cp", "encrypted_content": "x"},
        ], "conversation": {"id": "conv_1"}},
    )
