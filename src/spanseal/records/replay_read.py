"""The replay record as a reader meets it: request bytes rebuilt and graded, the response as recorded. Pure.

Attributes may come from our own spans or from foreign ones, content as JSON text or structured.
May import genai and the siblings ``history_read`` and ``replay_record``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from spanseal.errors import MalformedResponseError, UsageError
from spanseal.genai import ollama_chat, ollama_embed, ollama_generate, openai_chat, openai_embeddings, openai_responses
from spanseal.genai import semconv as sc
from spanseal.genai.messages import ChatRequest, LLMResponse
from spanseal.genai.semconv_messages import messages_from_semconv, request_from_semconv, response_from_semconv
from spanseal.genai.sse import before_end
from spanseal.genai.wire import wire_format
from spanseal.genai.wire_json import JsonObject, as_list, as_map, dumps, is_list, loads, loads_received, thaw
from spanseal.records.history_read import base_of
from spanseal.records.large_values import mark_in, not_here
from spanseal.records.replay_record import bytes_of, join, parse_params

OFF: Final = "capture was off: only sizes and salted digests were recorded"
"""Why such a call cannot be sent again."""
_REQUEST: Final = (sc.INPUT_MESSAGES, sc.SYSTEM_INSTRUCTIONS, sc.TOOL_DEFINITIONS, sc.LLM_REQUEST_PARAMS)
Grade: TypeAlias = Literal["exact", "semantic", "no"]


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """``body``: the request's bytes; ``grade``: exact (the recorded digest holds), semantic or no; ``reason``: why."""

    body: bytes | None
    grade: Grade
    reason: str


@dataclass(frozen=True, slots=True)
class RecordedResponse:
    """``body`` is the verbatim text of an answer without stream, else ``chunks`` the ordered texts of the stream."""

    body: str = ""
    chunks: tuple[str, ...] = ()


def rebuild(attributes: Mapping[str, Any]) -> Rebuilt:
    """The request of a model call's span, as exactly as it is recorded. Never raises.

    A call recorded as a delta must have been restored before (:func:`spanseal.records.history_read.restored`).
    """
    if base := base_of(attributes):
        return Rebuilt(None, "no", f"only the messages new since span {base} were recorded")
    wanted = attributes.get(sc.LLM_REQUEST_SHA256)
    try:
        body, reason = _recorded_body(attributes, str(wanted))
    except (ValueError, TypeError, LookupError) as error:
        return _semantic(attributes, f"the recorded request does not fit together: {error}")
    if body is None:
        return _semantic(attributes, reason)
    if attributes.get(sc.LLM_REQUEST_REDACTED) is True:
        return Rebuilt(body, "semantic", "content was redacted before it was recorded")
    if not wanted:
        return Rebuilt(body, "semantic", "no digest of the sent bytes was recorded")
    if hashlib.sha256(body).hexdigest() != wanted:
        return Rebuilt(body, "semantic", "the rebuilt request is not what was sent: content was masked or changed")
    return Rebuilt(body, "exact", "")


def recorded_request(attributes: Mapping[str, Any]) -> ChatRequest | None:
    """The request as values; None where the span holds no messages. Never raises."""
    body = rebuild(attributes).body
    if body is not None:
        try:
            return wire_format(_format(attributes)).parse_request(as_map(loads(body)))
        except ValueError:
            pass
    return _from_attributes(attributes)


def response(attributes: Mapping[str, Any]) -> RecordedResponse | None:
    """The wire response as recorded; None where there is none (capture off, failed before an answer, foreign)."""
    text = attributes.get(sc.LLM_RESPONSE_BODY)
    if not isinstance(text, str) or mark_in(text) is not None:
        return None
    if sc.LLM_STREAM_CHUNKS not in attributes:
        return RecordedResponse(body=text)
    try:
        chunks = loads(text)
    except ValueError:
        return None
    if not is_list(chunks):
        return None
    return RecordedResponse(chunks=tuple(item for item in chunks if isinstance(item, str)))


def recorded_response(attributes: Mapping[str, Any]) -> LLMResponse | None:
    """The answer as values, from the wire response or else from the conventions' attributes. Never raises.

    A stream that was cut gives what had arrived; None where nothing usable is recorded.
    """
    recorded = response(attributes)
    if recorded is not None:
        try:
            wire = wire_format(_format(attributes))
            if not recorded.chunks:
                return wire.parse_response(loads_received(recorded.body))
            return wire.parse_response(assembled(_format(attributes), recorded.chunks))
        except (ValueError, MalformedResponseError):
            pass
    return response_from_semconv(attributes, value_of(attributes, sc.OUTPUT_MESSAGES))


def assembled(format_name: str, chunks: tuple[str, ...]) -> JsonObject:
    """The body that ordered chunk texts amount to; texts that are no JSON object are passed over."""
    stream = wire_format(format_name).StreamAssembler()
    for text in before_end(chunks):
        try:
            stream.feed(as_map(loads_received(text)))
        except ValueError:
            continue
    return stream.body()


def value_of(attributes: Mapping[str, Any], name: str) -> Any:
    """A content attribute's value, parsed where it is JSON text; None where it is absent or not JSON."""
    value = attributes.get(name)
    if not isinstance(value, str):
        return thaw(value)
    try:
        return loads(value)
    except ValueError:
        return None


def _format(attributes: Mapping[str, Any]) -> str:
    """The wire format's name; of a foreign span, the one that fits what it tells."""
    name = attributes.get(sc.LLM_FORMAT)
    if isinstance(name, str):
        return name
    operation = attributes.get(sc.OPERATION_NAME)
    if attributes.get(sc.PROVIDER_NAME) == ollama_chat.PROVIDER:
        others = {sc.OP_EMBEDDINGS: ollama_embed.FORMAT, sc.OP_TEXT_COMPLETION: ollama_generate.FORMAT}
        return others.get(str(operation), ollama_chat.FORMAT)
    if operation == sc.OP_EMBEDDINGS:
        return openai_embeddings.FORMAT
    is_responses = attributes.get(sc.OPENAI_API_TYPE) == "responses"
    return openai_responses.FORMAT if is_responses else openai_chat.FORMAT


def _recorded_body(attributes: Mapping[str, Any], sha256: str) -> tuple[bytes | None, str]:
    body, params = attributes.get(sc.LLM_REQUEST_BODY), attributes.get(sc.LLM_REQUEST_PARAMS)
    if lost := not_here(attributes, (*_REQUEST, sc.LLM_REQUEST_BODY)):
        return None, lost
    if isinstance(body, str):
        return body.encode(), ""
    if not isinstance(params, str):
        if attributes.get(sc.CAPTURE_MODE) == "off":
            return None, OFF
        if sc.LLM_FORMAT in attributes:
            return None, "the request was no text, or was made while it was sent: it could not be recorded"
        return None, "the span holds no request record (foreign instrumentation, or capture was off)"
    names = (sc.INPUT_MESSAGES, sc.TOOL_DEFINITIONS, sc.SYSTEM_INSTRUCTIONS)
    messages, tools, system = (value_of(attributes, name) for name in names)
    if messages is not None and not is_list(messages):
        return None, "the messages are not recorded in full"
    joined = join(parse_params(params), as_list(messages), as_list(tools), as_list(system))
    return bytes_of(joined, sha256) or dumps(joined), ""


def _semantic(attributes: Mapping[str, Any], reason: str) -> Rebuilt:
    request = _from_attributes(attributes)
    if request is None:
        return Rebuilt(None, "no", reason)
    try:
        stream = attributes.get(sc.REQUEST_STREAM) is True
        body = dumps(wire_format(_format(attributes)).request_body(request, stream=stream))
    except (ValueError, TypeError, UsageError) as error:
        return Rebuilt(None, "no", f"{reason}; nor can it be made anew: {error}")
    return Rebuilt(body, "semantic", reason)


def _from_attributes(attributes: Mapping[str, Any]) -> ChatRequest | None:
    if base_of(attributes):
        return None
    messages = value_of(attributes, sc.INPUT_MESSAGES)
    if not is_list(messages) or not messages:
        return None
    system = value_of(attributes, sc.SYSTEM_INSTRUCTIONS)
    tools = value_of(attributes, sc.TOOL_DEFINITIONS)
    return request_from_semconv(attributes, messages_from_semconv(messages), as_list(system), as_list(tools))
