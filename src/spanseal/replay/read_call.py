"""A model call's span to a :class:`Call`: what was asked, what came back, and how faithfully it can be sent again.

May import ``records``, ``genai`` and the siblings. The exact request comes from the replay record; where that is
not whole, the conventions' attributes give what they hold. Never raises on content.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from spanseal.errors import SpansealError
from spanseal.genai import ollama_chat, semconv
from spanseal.genai.messages import ChatRequest, LLMResponse
from spanseal.genai.semconv_messages import tools_from_semconv
from spanseal.genai.semconv_usage import usage_of
from spanseal.records.replay_read import Rebuilt, rebuild, recorded_request, recorded_response
from spanseal.replay.attributes import Attributes
from spanseal.replay.read_messages import messages_of, with_tool_names
from spanseal.replay.run import Call, Replayable
from spanseal.replay.sources.base import SourceSpan

T = TypeVar("T")
_BROKEN: Final = (SpansealError, ValueError, TypeError, LookupError, AttributeError, RecursionError)


def read_call(span: SourceSpan, of: Attributes, told: dict[str, Any]) -> Call:
    """The call that a model call's span tells."""
    call = Call(
        **told,
        operation=of.text(semconv.OPERATION_NAME),
        wire=of.text(semconv.LLM_FORMAT),
        dimensions=of.integer(semconv.EMBEDDINGS_DIMENSION_COUNT),
        attempt=of.integer(semconv.LLM_ATTEMPT) or 1,
        provider=of.text(semconv.PROVIDER_NAME),
        model=of.text(semconv.RESPONSE_MODEL) or of.text(semconv.REQUEST_MODEL),
        usage=usage_of(of.integer),
        finish_reasons=of.texts(semconv.RESPONSE_FINISH_REASONS),
        stream_end=of.text(semconv.LLM_STREAM_END),
        http_attempts=sum(event.name == semconv.EVENT_HTTP_ATTEMPT for event in span.record.events),
    )
    return _with_request(replace(call, response=_response(of, call)), span, of)


def _with_request(call: Call, span: SourceSpan, of: Attributes) -> Call:
    seen = (*messages_of(of, semconv.SYSTEM_INSTRUCTIONS), *messages_of(of, semconv.INPUT_MESSAGES))
    if span.lost:
        reason = span.lost if span.content == "open" else f"content {span.content}"
        return replace(call, messages=seen, replay_reason=reason)
    attributes = span.record.attributes
    rebuilt = _safely(rebuild, attributes, of) or Rebuilt(None, "no", "the replay record is broken")
    request: ChatRequest | None = None
    if rebuilt.grade != "no":
        request = _safely(recorded_request, attributes, of)
    if request is None:
        tools = tuple(tool.name for tool in tools_from_semconv(of.json(semconv.TOOL_DEFINITIONS)))
        reason = rebuilt.reason or "the recorded request is no JSON object that can be read"
        reason = reason if span.content == "open" else f"content {span.content}"
        return replace(call, messages=seen, tools=tools, replay_reason=reason)
    if of.text(semconv.LLM_FORMAT) != ollama_chat.FORMAT:  # which sends the names itself
        request = replace(request, messages=with_tool_names(request.messages))
    return replace(
        call,
        messages=request.messages,
        request=request,
        tools=tuple(tool.name for tool in request.tools),
        replayable=_grade(rebuilt),
        replay_reason=rebuilt.reason,
    )


def _grade(rebuilt: Rebuilt) -> Replayable:
    return "semantic" if rebuilt.grade == "no" else rebuilt.grade


def _response(of: Attributes, call: Call) -> LLMResponse | None:
    """The answer with the time it took; None where there was none or it was not recorded."""
    messages_of(of, semconv.OUTPUT_MESSAGES)  # for its notes
    response = _safely(recorded_response, of.values, of)
    return None if response is None else replace(response, latency_ms=call.duration_ms or 0.0)


def _safely(read: Callable[[Mapping[str, Any]], T], attributes: Mapping[str, Any], of: Attributes) -> T | None:
    """What is recorded may be anything; a reader shows the rest and says what it could not read."""
    try:
        return read(attributes)
    except _BROKEN as error:
        of.odd("content", f"the replay record cannot be read: {type(error).__name__}: {error}")
        return None
