"""Ollama's own chat wire format (``POST /api/chat``). Pure.

One face for the parts: request bodies (:mod:`ollama_chat_body`), answers and streams (:mod:`ollama_chat_response`),
the conventions' attributes (:mod:`ollama_chat_semconv`). Source: Ollama's API document (docs/api.md).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from spanseal.genai import places, sse
from spanseal.genai import semconv as sc
from spanseal.genai.ollama_chat_body import parse_request as parse_request
from spanseal.genai.ollama_chat_body import request_body as request_body
from spanseal.genai.ollama_chat_response import StreamAssembler as StreamAssembler
from spanseal.genai.ollama_chat_response import fault_of as fault_of
from spanseal.genai.ollama_chat_response import parse_response as parse_response
from spanseal.genai.ollama_chat_semconv import input_messages as input_messages
from spanseal.genai.ollama_chat_semconv import output_messages as output_messages
from spanseal.genai.ollama_chat_semconv import request_attributes as request_attributes
from spanseal.genai.ollama_chat_semconv import response_attributes as response_attributes
from spanseal.genai.ollama_chat_semconv import tool_definitions as tool_definitions
from spanseal.genai.wire_json import JsonObject

FORMAT: Final = "ollama.chat"
OPERATION: Final = sc.OP_CHAT
PLACES: Final = places.CHAT
PROVIDER: Final = "ollama"
ENDS: Final = sse.LINE_ENDS
PATH: Final = "/api/chat"


def split_stream(data: bytes) -> tuple[list[str], str]:
    """The texts of the stream's chunks, and the unfinished rest."""
    return sse.decode_lines(data)


def cut_short(texts: Sequence[str], body: Mapping[str, Any]) -> str:
    """Why a stream that was read to its end is no whole answer, in words; empty if it is one."""
    del texts
    if body.get("done") is True or body.get("error"):
        return ""
    return "the stream ended before Ollama said that it was done: look at its log"


def system_instructions(body: Mapping[str, Any]) -> list[JsonObject]:
    """None: a system message stays among the input messages, as the conventions ask."""
    del body
    return []
