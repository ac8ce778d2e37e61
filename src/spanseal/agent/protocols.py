"""How a model asks for tools: by native tool calls, or by JSON actions for models that have none. Pure.

>>> NativeProtocol().read(LLMResponse("391", "m"), 1).answer
'391'
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol, runtime_checkable

from spanseal.agent.form_checks import JSONActionCheck, ToolRequiredCheck
from spanseal.agent.json_action import FINAL_ANSWER, action_schema, read_action
from spanseal.genai.messages import ChatRequest, LLMResponse, Message, ToolCall, ToolResult, ToolSpec
from spanseal.verification.check import VerificationCheck

EnforceSchema = Literal["never", "on_retry", "always"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What an answer means: tool calls to carry out, or the final answer."""

    calls: tuple[ToolCall, ...] = ()
    answer: str = ""


@runtime_checkable
class ActionProtocol(Protocol):
    """The language between loop and model.

    Control decides on a request in these common terms, ``tools`` and ``tool_choice`` (None or ``auto``,
    ``required``: a tool must be called, ``none``: only the answer is left, or the name of the tool to call);
    :meth:`sent` puts it into the protocol's own.
    """

    def system(self, instructions: str, tools: Sequence[ToolSpec]) -> str:
        """The system turn, "" for none."""
        ...

    def sent(self, request: ChatRequest, attempt: int) -> ChatRequest:
        """The request as the adapter gets it."""
        ...

    def checks(self, request: ChatRequest) -> tuple[VerificationCheck, ...]:
        """Checks of the answer's form, run before it is read; their failures are fed back to the model."""
        ...

    def read(self, response: LLMResponse, step: int) -> Reading:
        """What a response that passed :meth:`checks` means."""
        ...

    def asked(self, response: LLMResponse) -> Message:
        """The response as the assistant's turn in the history."""
        ...

    def observed(self, call: ToolCall, result: str) -> Message:
        """A tool's result as the next turn."""
        ...


class NativeProtocol:
    """Tool calls as the provider's own feature."""

    def system(self, instructions: str, tools: Sequence[ToolSpec]) -> str:
        return instructions

    def sent(self, request: ChatRequest, attempt: int) -> ChatRequest:
        return request if request.tools or request.tool_choice is None else replace(request, tool_choice=None)

    def checks(self, request: ChatRequest) -> tuple[VerificationCheck, ...]:
        return () if _may_answer(request) else (ToolRequiredCheck([tool.name for tool in possible_tools(request)]),)

    def read(self, response: LLMResponse, step: int) -> Reading:
        return Reading(response.tool_calls, "" if response.tool_calls else response.text)

    def asked(self, response: LLMResponse) -> Message:
        return response.message

    def observed(self, call: ToolCall, result: str) -> Message:
        return Message("tool", (ToolResult(call.id, result, call.name),))


class JSONProtocol:
    """One JSON object a turn: ``{"action": name, "input": {…}}``; ``final_answer`` ends the run.

    ``enforce_schema`` sends the schema of all actions that are possible now with the request: never, from the first
    retry of a step on, or always. A provider that obeys it can then only produce an action that exists.
    """

    def __init__(self, enforce_schema: EnforceSchema = "never") -> None:
        self.enforce_schema = enforce_schema

    def system(self, instructions: str, tools: Sequence[ToolSpec]) -> str:
        lines = [instructions, ""] if instructions else []
        lines += [
            "Reply with exactly one JSON object and nothing else, no Markdown.",
            'To use a tool: {"action": "<name of the tool>", "input": {<its arguments>}}',
            f'When you know the answer: {{"action": "{FINAL_ANSWER}", "input": {{"answer": "<the answer as text>"}}}}',
            "Tools:" if tools else "There are no tools.",
        ]
        for spec in tools:
            text = " ".join(spec.description.split())
            lines.append(f"- {spec.name}: {text} Input schema: {_schema_text(spec.parameters)}")
        return "\n".join(lines)

    def sent(self, request: ChatRequest, attempt: int) -> ChatRequest:
        enforced = self.enforce_schema == "always" or (self.enforce_schema == "on_retry" and attempt > 1)
        schema = request.response_format
        if enforced and schema is None:
            schema = action_schema(possible_tools(request), answer=_may_answer(request))
        return replace(request, tools=(), tool_choice=None, response_format=schema)

    def checks(self, request: ChatRequest) -> tuple[VerificationCheck, ...]:
        names = [tool.name for tool in possible_tools(request)]
        return (JSONActionCheck(names, answer=_may_answer(request)),)

    def read(self, response: LLMResponse, step: int) -> Reading:
        action = read_action(response.text)
        if action.name == FINAL_ANSWER:
            return Reading(answer=action.answer)
        arguments = json.dumps(action.input, ensure_ascii=False)
        return Reading((ToolCall(f"call_{step}_0", action.name, arguments),))

    def asked(self, response: LLMResponse) -> Message:
        return Message("assistant", response.text)

    def observed(self, call: ToolCall, result: str) -> Message:
        return Message("user", f"Result of {call.name}: {result}")


def possible_tools(request: ChatRequest) -> tuple[ToolSpec, ...]:
    """The tools that the model may call now: none, one, or all that are offered, as ``tool_choice`` says."""
    if request.tool_choice == "none":
        return ()
    named = tuple(tool for tool in request.tools if tool.name == request.tool_choice)
    return named or request.tools


def _may_answer(request: ChatRequest) -> bool:
    return request.tool_choice in (None, "auto", "none") or not request.tools


def _schema_text(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
