"""What a response becomes in the history: ids and arguments of its tool calls, and the turns after a refusal. Pure.

>>> numbered(LLMResponse("", "m", tool_calls=(ToolCall("", "add", "{}"),)), 3).tool_calls[0].id
'call_3_0'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from spanseal.errors import ModelFaultError
from spanseal.genai.messages import LLMResponse, Message, ToolCall, ToolResult
from spanseal.tools.gates import read_arguments


def numbered(response: LLMResponse, step: int, before: Sequence[Message] = ()) -> LLMResponse:
    """With an id for every call that has none, or one that another call has too, here or in the messages ``before``.

    Some servers count from one in every answer; an id must mean one call, for its result and for its idempotency key.
    """
    if not response.tool_calls:
        return response
    seen = {call.id for message in before for call in message.tool_calls}
    taken = seen | {call.id for call in response.tool_calls}
    calls: list[ToolCall] = []
    for index, call in enumerate(response.tool_calls):
        if not call.id or call.id in seen:
            fresh = f"call_{step}_{index}"
            while fresh in taken:
                fresh += "_"
            taken.add(fresh)
            call = replace(call, id=fresh)
        seen.add(call.id)
        calls.append(call)
    return response if tuple(calls) == response.tool_calls else replace(response, tool_calls=tuple(calls))


def parsed_arguments(call: ToolCall) -> Mapping[str, Any] | None:
    """The arguments as an object for policies to read, None while they are no JSON object."""
    try:
        return read_arguments(call.arguments)
    except ModelFaultError:
        return None


def refused_turns(answer: Message, feedback: str) -> tuple[Message, ...]:
    """The turns after a refused answer: the answer itself, its tool calls as not executed, the feedback if any.

    An empty answer leaves no turn, as providers refuse empty ones; every call gets its result, as they demand it.
    """
    turns: list[Message] = [answer] if answer.parts else []
    turns += [
        Message("tool", (ToolResult(call.id, "Not executed: the answer was not accepted.", call.name),))
        for call in answer.tool_calls
    ]
    return (*turns, Message("user", feedback)) if feedback else tuple(turns)
