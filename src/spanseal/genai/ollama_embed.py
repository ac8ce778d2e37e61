"""Ollama's embedding wire formats: ``POST /api/embed`` and the older ``POST /api/embeddings``. Pure.

The new one takes ``input`` and gives ``embeddings``, the old one ``prompt`` and ``embedding``.
Source: Ollama's API document (docs/api.md) and the types of the ollama package 0.6.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from spanseal.errors import MalformedResponseError
from spanseal.genai import semconv as sc
from spanseal.genai import sse
from spanseal.genai.embeddings import dimensions, nothing
from spanseal.genai.embeddings import parse_request as parse_request
from spanseal.genai.embeddings import request_body as request_body
from spanseal.genai.messages import LLMResponse
from spanseal.genai.ollama_chat_response import server_fault, usage
from spanseal.genai.openai_embeddings import StreamAssembler as StreamAssembler
from spanseal.genai.places import Places
from spanseal.genai.semconv_usage import usage_attributes
from spanseal.genai.wire_json import as_int, as_list, as_map, as_text, is_list

FORMAT: Final = "ollama.embed"
OPERATION: Final = sc.OP_EMBEDDINGS
PLACES: Final = Places()
PROVIDER: Final = "ollama"
ENDS: Final = sse.LINE_ENDS
PATH: Final = "/api/embed"

input_messages = output_messages = tool_definitions = system_instructions = nothing


def request_attributes(body: Mapping[str, Any]) -> dict[str, Any]:
    """Every attribute that the body gives, without content."""
    found = {
        sc.REQUEST_MODEL: as_text(body.get("model")),
        sc.EMBEDDINGS_DIMENSION_COUNT: as_int(body.get("dimensions")),
    }
    return {key: value for key, value in found.items() if value is not None and value != ""}


def response_attributes(body: Mapping[str, Any]) -> dict[str, Any]:
    """Every attribute that the body gives; the dimension is that of the first vector."""
    first = next(iter(as_list(body.get("embeddings"))), body.get("embedding"))
    found: dict[str, Any] = {
        sc.RESPONSE_MODEL: as_text(body.get("model")),
        sc.EMBEDDINGS_DIMENSION_COUNT: dimensions(first),
        **usage_attributes(usage(dict(body))),
    }
    return {key: value for key, value in found.items() if value is not None and value != ""}


def parse_response(body: object) -> LLMResponse:
    """The answer without text; the vectors are in ``raw``.

    Raises :class:`spanseal.errors.MalformedResponseError` (the server is at fault) when it has none.

    >>> parse_response({"embeddings": [[0.5]], "prompt_eval_count": 2}).prompt_tokens
    2
    """
    fault = fault_of(body)
    if fault:
        raise MalformedResponseError(fault)
    data = as_map(body)
    used = usage(data)
    return LLMResponse("", as_text(data.get("model")), prompt_tokens=used.input_tokens or 0, raw=data, usage=used)


def fault_of(body: object) -> str:
    """Why ``body`` is no answer with vectors, in words with a remedy; empty if it is one."""
    fault = server_fault(body)
    if fault:
        return fault
    if not any(is_list(as_map(body).get(key)) for key in ("embeddings", "embedding")):
        return "the answer has no vectors: is the model one for embeddings?"
    return ""


def split_stream(data: bytes) -> tuple[list[str], str]:
    """As lines; embeddings are not streamed."""
    return sse.decode_lines(data)


def cut_short(texts: Sequence[str], body: Mapping[str, Any]) -> str:
    """Whether vectors came at all."""
    del texts
    return fault_of(body)
