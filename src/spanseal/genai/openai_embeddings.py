"""The OpenAI embeddings wire format (``POST …/embeddings``), as every compatible server speaks it. Pure.

Source: the OpenAI API reference for embeddings, and the types of the openai package 3.57, which asks for ``base64``
unless told otherwise.
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
from spanseal.genai.messages import Chunk, LLMResponse, Usage
from spanseal.genai.openai_chat_response import server_words
from spanseal.genai.places import Places
from spanseal.genai.semconv_usage import usage_attributes
from spanseal.genai.wire_json import JsonObject, as_count, as_int, as_list, as_map, as_text, is_list, is_map

FORMAT: Final = "openai.embeddings"
OPERATION: Final = sc.OP_EMBEDDINGS
PLACES: Final = Places()
PROVIDER: Final = "openai"
ENDS: Final = sse.EVENT_ENDS
PATH: Final = "/embeddings"

input_messages = output_messages = tool_definitions = system_instructions = nothing


def request_attributes(body: Mapping[str, Any]) -> dict[str, Any]:
    """Every attribute that the body gives, without content."""
    form = as_text(body.get("encoding_format"))
    found: dict[str, Any] = {
        sc.REQUEST_MODEL: as_text(body.get("model")),
        sc.REQUEST_ENCODING_FORMATS: [form] if form else None,
        sc.EMBEDDINGS_DIMENSION_COUNT: as_int(body.get("dimensions")),
    }
    return {key: value for key, value in found.items() if value is not None and value != ""}


def response_attributes(body: Mapping[str, Any]) -> dict[str, Any]:
    """Every attribute that the body gives; the dimension is that of the first vector."""
    first = as_map(next(iter(as_list(body.get("data"))), None))
    found: dict[str, Any] = {
        sc.RESPONSE_MODEL: as_text(body.get("model")),
        sc.EMBEDDINGS_DIMENSION_COUNT: dimensions(first.get("embedding")),
        **usage_attributes(usage(body)),
    }
    return {key: value for key, value in found.items() if value is not None and value != ""}


def parse_response(body: object) -> LLMResponse:
    """The answer without text; the vectors are in ``raw["data"]``.

    Raises :class:`spanseal.errors.MalformedResponseError` (the provider is at fault) when it has none.

    >>> parse_response({"data": [{"embedding": [0.5]}], "usage": {"prompt_tokens": 2}}).prompt_tokens
    2
    """
    fault = fault_of(body)
    if fault:
        raise MalformedResponseError(fault)
    data = as_map(body)
    used = usage(data)
    return LLMResponse("", as_text(data.get("model")), prompt_tokens=used.input_tokens or 0, raw=data, usage=used)


def fault_of(body: object) -> str:
    """Why ``body`` is no embeddings answer, in words with a remedy; empty if it is one."""
    if not is_map(body):
        return "the answer is not a JSON object: is the URL that of an OpenAI-compatible API (often …/v1)?"
    if body.get("error"):
        return f"the server sent an error with status 200: {server_words(body)}"
    if not is_list(body.get("data")):
        return "the answer has no vectors: does the server, and the model, know embeddings?"
    return ""


def usage(body: Mapping[str, Any]) -> Usage:
    """Tokens read, as the provider counted them."""
    return Usage(input_tokens=as_count(as_map(body.get("usage")).get("prompt_tokens")))


def split_stream(data: bytes) -> tuple[list[str], str]:
    """As events, should a server ever answer with some; embeddings are not streamed."""
    return sse.decode_events(data)


def cut_short(texts: Sequence[str], body: Mapping[str, Any]) -> str:
    """Whether vectors came at all."""
    del texts
    return fault_of(body)


class StreamAssembler:
    """Embeddings are not streamed; should a server send several objects, the fields of the last one count."""

    def __init__(self) -> None:
        self._body: JsonObject = {}

    def feed(self, chunk: Mapping[str, Any]) -> Chunk | None:
        """Take one object."""
        self._body.update(chunk)
        return None

    def body(self) -> JsonObject:
        """The body so far."""
        return dict(self._body)
