"""The OpenAI Responses wire format (``POST …/responses``). Pure.

One face for the parts: request bodies (:mod:`openai_responses_body`), answers (:mod:`openai_responses_response`),
the conventions' attributes (:mod:`openai_responses_semconv`), streams of events (:mod:`openai_responses_stream`).
Source: the OpenAI API reference for responses, and the types of the openai package 3.57.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from spanseal.genai import semconv as sc
from spanseal.genai import sse
from spanseal.genai.openai_responses_body import parse_request as parse_request
from spanseal.genai.openai_responses_body import request_body as request_body
from spanseal.genai.openai_responses_response import ENDED, fault_of, parse_response
from spanseal.genai.openai_responses_semconv import input_messages as input_messages
from spanseal.genai.openai_responses_semconv import output_messages as output_messages
from spanseal.genai.openai_responses_semconv import request_attributes as request_attributes
from spanseal.genai.openai_responses_semconv import response_attributes as response_attributes
from spanseal.genai.openai_responses_semconv import system_instructions as system_instructions
from spanseal.genai.openai_responses_semconv import tool_definitions as tool_definitions
from spanseal.genai.openai_responses_stream import StreamAssembler as StreamAssembler
from spanseal.genai.places import Places
from spanseal.genai.wire_json import as_text

__all__ = ["fault_of", "parse_response"]

FORMAT: Final = "openai.responses"
OPERATION: Final = sc.OP_CHAT
PLACES: Final = Places(history="input", message=("input",), system="instructions")
PROVIDER: Final = "openai"
ENDS: Final = sse.EVENT_ENDS
PATH: Final = "/responses"


def split_stream(data: bytes) -> tuple[list[str], str]:
    """The texts of the stream's events, and the unfinished rest."""
    return sse.decode_events(data)


def cut_short(texts: Sequence[str], body: Mapping[str, Any]) -> str:
    """Why a stream that was read to its end is no whole answer, in words; empty if it is one."""
    del texts
    if as_text(body.get("status")) in ENDED or body.get("error"):
        return ""
    return "the stream ended before the response was completed: look at the server's log"
