"""The OpenAI chat completions wire format, as every compatible server speaks it. Pure.

One face for the parts: request and response bodies to values and back (:mod:`openai_chat_body`), bodies to the
conventions' attributes (:mod:`openai_chat_semconv`), stream chunks to a body (:mod:`openai_chat_stream`).
Source: the OpenAI API reference for chat completions, and what llama.cpp, vLLM, DeepSeek and Azure add to it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from spanseal.genai import places, sse
from spanseal.genai import semconv as sc
from spanseal.genai.openai_chat_body import parse_request as parse_request
from spanseal.genai.openai_chat_body import request_body as request_body
from spanseal.genai.openai_chat_response import fault_of as fault_of
from spanseal.genai.openai_chat_response import parse_response as parse_response
from spanseal.genai.openai_chat_response import response_body as response_body
from spanseal.genai.openai_chat_response import server_words as server_words
from spanseal.genai.openai_chat_semconv import input_messages as input_messages
from spanseal.genai.openai_chat_semconv import output_messages as output_messages
from spanseal.genai.openai_chat_semconv import request_attributes as request_attributes
from spanseal.genai.openai_chat_semconv import response_attributes as response_attributes
from spanseal.genai.openai_chat_semconv import tool_definitions as tool_definitions
from spanseal.genai.openai_chat_stream import StreamAssembler as StreamAssembler
from spanseal.genai.sse import is_end
from spanseal.genai.wire_json import JsonObject, as_list, as_map

FORMAT: Final = "openai.chat"
OPERATION: Final = sc.OP_CHAT
PLACES: Final = places.CHAT
PROVIDER: Final = "openai"
ENDS: Final = sse.EVENT_ENDS
PATH: Final = "/chat/completions"


def split_stream(data: bytes) -> tuple[list[str], str]:
    """The texts of the stream's chunks, and the unfinished rest."""
    return sse.decode_events(data)


def cut_short(texts: Sequence[str], body: Mapping[str, Any]) -> str:
    """Why a stream that was read to its end is no whole answer, in words; empty if it is one.

    Either mark of an end will do, ``[DONE]`` or a finish reason: some servers send only one of them.
    """
    choices = as_list(body.get("choices"))
    if not choices or any(as_map(choice).get("finish_reason") for choice in choices) or any(map(is_end, texts)):
        return ""
    return "the stream ended before the model said that it had finished: look at the server's log"


def system_instructions(body: Mapping[str, Any]) -> list[JsonObject]:
    """None: a system message stays among the input messages, as the conventions ask."""
    del body
    return []
