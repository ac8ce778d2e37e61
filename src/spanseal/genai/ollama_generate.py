"""Ollama's text completion wire format (``POST /api/generate``). Pure.

One face for the parts: requests and answers as values (:mod:`ollama_generate_body`), the conventions' attributes
(:mod:`ollama_generate_semconv`). Source: Ollama's API document (docs/api.md), the types of the ollama package 0.6.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from spanseal.genai import semconv as sc
from spanseal.genai import sse
from spanseal.genai.ollama_chat import cut_short as _cut_short
from spanseal.genai.ollama_generate_body import StreamAssembler as StreamAssembler
from spanseal.genai.ollama_generate_body import fault_of as fault_of
from spanseal.genai.ollama_generate_body import parse_request as parse_request
from spanseal.genai.ollama_generate_body import parse_response as parse_response
from spanseal.genai.ollama_generate_body import request_body as request_body
from spanseal.genai.ollama_generate_semconv import input_messages as input_messages
from spanseal.genai.ollama_generate_semconv import output_messages as output_messages
from spanseal.genai.ollama_generate_semconv import request_attributes as request_attributes
from spanseal.genai.ollama_generate_semconv import response_attributes as response_attributes
from spanseal.genai.ollama_generate_semconv import system_instructions as system_instructions
from spanseal.genai.ollama_generate_semconv import tool_definitions as tool_definitions
from spanseal.genai.places import Places

FORMAT: Final = "ollama.generate"
OPERATION: Final = sc.OP_TEXT_COMPLETION
PLACES: Final = Places(message=("prompt", "images"), system="system")
PROVIDER: Final = "ollama"
ENDS: Final = sse.LINE_ENDS
PATH: Final = "/api/generate"


def split_stream(data: bytes) -> tuple[list[str], str]:
    """The texts of the stream's lines, and the unfinished rest."""
    return sse.decode_lines(data)


def cut_short(texts: Sequence[str], body: Mapping[str, Any]) -> str:
    """Why a stream that was read to its end is no whole answer, in words; empty if it is one."""
    return _cut_short(texts, body)
