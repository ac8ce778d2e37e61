"""What the embeddings formats have in common: nothing that the conventions call a message, and vectors. Pure.

The input (texts, or lists of tokens) has no standard attribute and stays in the replay record, once; the vectors are
in the recorded answer. As values a call is a request without messages whose ``extra`` has the input, and an answer
without text whose ``raw`` has the vectors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from spanseal.genai.messages import ChatRequest
from spanseal.genai.wire_json import JsonObject, as_text, is_list, thaw


def request_body(request: ChatRequest, *, stream: bool) -> JsonObject:
    """The body to send: the model and the fields in ``extra``. Embeddings have no stream."""
    del stream
    return {"model": request.model, **{key: thaw(value) for key, value in request.extra.items()}}


def parse_request(body: Mapping[str, Any]) -> ChatRequest:
    """The model, and every other field in ``extra``. Never raises."""
    extra = {key: value for key, value in body.items() if key != "model"}
    return ChatRequest(model=as_text(body.get("model")), messages=(), extra=extra)


def nothing(body: Mapping[str, Any]) -> list[JsonObject]:
    """Messages, instructions and tools of an embeddings call: none."""
    del body
    return []


def dimensions(vector: object) -> int | None:
    """How many numbers a vector has, as a list or as base64 of 32-bit floats; None where it is neither.

    >>> dimensions([0.1, 0.2]), dimensions("AACAPwAAAEA="), dimensions(None)
    (2, 2, None)
    """
    if is_list(vector):
        return len(vector) or None
    if isinstance(vector, str) and vector and len(vector) % 4 == 0:
        size = len(vector) // 4 * 3 - (len(vector) - len(vector.rstrip("=")))
        return size // 4 if size % 4 == 0 else None
    return None
