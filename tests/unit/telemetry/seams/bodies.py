"""What the servers of this folder answer, whole and as a stream, by the ending of the path."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

MESSAGE: dict[str, Any] = {"role": "assistant", "content": '{"n": 1}'}
CHAT: dict[str, Any] = {
    "id": "c1", "object": "chat.completion", "created": 1, "model": "m-1",
    "choices": [{"index": 0, "message": MESSAGE, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5},
}
_PART: dict[str, Any] = {"type": "output_text", "text": '{"n": 1}', "annotations": []}
_ITEM: dict[str, Any] = {"id": "i1", "type": "message", "role": "assistant", "status": "completed", "content": [_PART]}
RESPONSE: dict[str, Any] = {
    "id": "r1", "object": "response", "created_at": 1, "model": "m-1", "status": "completed", "output": [_ITEM],
    "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
    "usage": {
        "input_tokens": 3, "output_tokens": 2, "total_tokens": 5,
        "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0},
    },
}
EMBEDDINGS: dict[str, Any] = {
    "object": "list", "model": "m-1", "usage": {"prompt_tokens": 3, "total_tokens": 3},
    "data": [{"object": "embedding", "index": 0, "embedding": base64.b64encode(struct.pack("<2f", 0.5, 1)).decode()}],
}
OTHER = json.dumps(
    {"id": "x", "object": "list", "data": [], "models": [], "model_info": {}, "status": "success"}
).encode()


def _events(*events: dict[str, Any], named: bool = False, done: bool = True) -> bytes:
    head = [f"event: {each['type']}\n" if named else "" for each in events]
    texts = [f"{name}data: {json.dumps(each)}\n\n" for name, each in zip(head, events, strict=True)]
    return "".join([*texts, "data: [DONE]\n\n" if done else ""]).encode()


def _chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m-1", "choices": [choice]}


def _response_events() -> bytes:
    begun: dict[str, Any] = {**RESPONSE, "status": "in_progress", "output": [], "usage": None}
    at: dict[str, Any] = {"item_id": "i1", "output_index": 0, "content_index": 0}
    empty = {**_PART, "text": ""}
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": begun},
        {"type": "response.output_item.added", "output_index": 0, "item": {**_ITEM, "content": []}},
        {"type": "response.content_part.added", **at, "part": empty},
        {"type": "response.output_text.delta", **at, "delta": '{"n":', "logprobs": []},
        {"type": "response.output_text.delta", **at, "delta": " 1}", "logprobs": []},
        {"type": "response.output_text.done", **at, "text": '{"n": 1}', "logprobs": []},
        {"type": "response.content_part.done", **at, "part": _PART},
        {"type": "response.output_item.done", "output_index": 0, "item": _ITEM},
        {"type": "response.completed", "response": RESPONSE},
    ]
    numbered = [{**event, "sequence_number": number} for number, event in enumerate(events)]
    return _events(*numbered, named=True, done=False)


def _lines(field: str, *values: Any) -> bytes:
    counts = {"prompt_eval_count": 3, "eval_count": 2}
    ends = [False] * (len(values) - 1) + [True]
    texts = [
        json.dumps({"model": "m", "done": end, field: value, **(counts if end else {})})
        for value, end in zip(values, ends, strict=True)
    ]
    return ("\n".join(texts) + "\n").encode()


_SAID = ({"role": "assistant", "content": '{"n":'}, {"role": "assistant", "content": " 1}"})
ANSWERS: dict[str, tuple[bytes, bytes]] = {
    "/chat/completions": (
        json.dumps(CHAT).encode(),
        _events(_chunk({"role": "assistant", "content": '{"n":'}), _chunk({"content": " 1}"}), _chunk({}, "stop")),
    ),
    "/responses": (json.dumps(RESPONSE).encode(), _response_events()),
    "/v1/embeddings": (json.dumps(EMBEDDINGS).encode(), b""),
    "/m/embeddings": (json.dumps(EMBEDDINGS).encode(), b""),
    "/api/chat": (_lines("message", MESSAGE), _lines("message", *_SAID)),
    "/api/generate": (_lines("response", "hello"), _lines("response", "he", "llo")),
    "/api/embed": (json.dumps({"model": "m", "embeddings": [[0.5, 1.0]], "prompt_eval_count": 3}).encode(), b""),
    "/api/embeddings": (json.dumps({"embedding": [0.5, 1.0]}).encode(), b""),
}
