"""How a model asks for tools: by native tool calls, or by JSON actions for models that have none. Pure.

>>> NativeProtocol().read(LLMResponse("391", "m"), 1).answer
'391'
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from spanseal.agent.json_action import FINAL_ANSWER, JSONActionCheck, action_schema, read_action
from spanseal.genai.messages import ChatRequest, LLMResponse, Message, ToolCall, ToolResult, ToolSpec
from spanseal.verification.check import VerificationCheck

EnforceSchema = Literal["never", "on_retry", "always"]


@dataclass(frozen=True, slots=True)
class Reading:
    """What an answer means: wishes to fulfil, or the final answer."""

    calls: tuple[ToolCall, ...] = ()
    answer: str = ""


class ActionProtocol(Protocol):
    """The language between loop and model."""

    @property
    def checks(self) -> tuple[VerificationCheck, ...]:
        """Built-in checks of every response, run before it is read; their failures are fed back to the model."""
        ...

    def system(self, instructions: str, tools: Sequence[ToolSpec]) -> str:
        """The system turn, "" for none."""
        ...

    def shaped(self, request: ChatRequest, tools: Sequence[ToolSpec], attempt: int) -> ChatRequest:
        """The request as this protocol sends it."""
        ...

    def read(self, response: LLMResponse, step: int) -> Reading:
        """What a response that passed :attr:`checks` means."""
        ...

    def asked(self, response: LLMResponse) -> Message:
        """The response as the assistant's turn in the history."""
        ...

    def observed(self, call: ToolCall, result: str) -> Message:
        """A tool's result as the next turn."""
        ...


class NativeProtocol:
    """Tool calls as the provider's own feature."""

    checks: tuple[VerificationCheck, ...] = ()

    def system(self, instructions: str, tools: Sequence[ToolSpec]) -> str:
        return instructions

    def shaped(self, request: ChatRequest, tools: Sequence[ToolSpec], attempt: int) -> ChatRequest:
        return replace(request, tools=tuple(tools))

    def read(self, response: LLMResponse, step: int) -> Reading:
        return Reading(response.tool_calls, "" if response.tool_calls else response.text)

    def asked(self, response: LLMResponse) -> Message:
        return response.message

    def observed(self, call: ToolCall, result: str) -> Message:
        return Message("tool", (ToolResult(call.id, result, call.name),))


class JSONProtocol:
    """One JSON object a turn: ``{"action": name, "input": {…}}``; ``final_answer`` ends the run.

    ``enforce_schema`` sends the schema of all possible actions with the request: never, from the first retry of a
    step on, or always. A provider that obeys it can then only produce an action that exists.
    """

    def __init__(self, tools: Sequence[ToolSpec] = (), enforce_schema: EnforceSchema = "never") -> None:
        self.enforce_schema = enforce_schema
        self.checks: tuple[VerificationCheck, ...] = (JSONActionCheck([tool.name for tool in tools]),)

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

    def shaped(self, request: ChatRequest, tools: Sequence[ToolSpec], attempt: int) -> ChatRequest:
        if self.enforce_schema == "always" or (self.enforce_schema == "on_retry" and attempt > 1):
            return replace(request, response_format=action_schema(tools))
        return request

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


def _schema_text(schema: Mapping[str, Any]) -> str:
    return json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
