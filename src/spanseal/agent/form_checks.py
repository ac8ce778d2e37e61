"""Checks that no agent can switch off: a response is an action or an answer, in the protocol's form. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from spanseal.agent.json_action import FINAL_ANSWER, read_action
from spanseal.errors import ModelFaultError
from spanseal.genai.messages import LLMResponse
from spanseal.verification.check import VerificationCheck, VerificationResult


class AnswerPresentCheck(VerificationCheck):
    """Fails on a response without text and without tool calls.

    >>> AnswerPresentCheck().check(LLMResponse("  ", "m")).passed
    False
    """

    def check(self, response: LLMResponse) -> VerificationResult:
        if response.text.strip() or response.tool_calls:
            return self.passed()
        why = f" (it ended with {response.finish_reason!r})" if response.finish_reason not in ("", "stop") else ""
        return self.failed(f"the answer has no text{why}; expected is the answer as text")


class ToolRequiredCheck(VerificationCheck):
    """Fails on a response without tool calls where one was required, for providers that do not see to it themselves.

    >>> ToolRequiredCheck(["add"]).check(LLMResponse("5", "m")).message
    'no tool was called; expected is a call of one of: add'
    """

    def __init__(self, tools: Sequence[str]) -> None:
        self.tools = tuple(tools)

    def check(self, response: LLMResponse) -> VerificationResult:
        if response.tool_calls:
            return self.passed()
        return self.failed(f"no tool was called; expected is a call of one of: {', '.join(self.tools)}")


class JSONActionCheck(VerificationCheck):
    """Fails on a response that is no well-formed action, or a final answer where none is possible yet.

    The feedback names the actions that are possible. A tool that does not exist is left to the executor.
    """

    name = "json_action"

    def __init__(self, tools: Sequence[str] = (), *, answer: bool = True) -> None:
        self.answer = answer
        self.actions = (*tools, FINAL_ANSWER) if answer else tuple(tools)

    def check(self, response: LLMResponse) -> VerificationResult:
        try:
            action = read_action(response.text)
            if action.name == FINAL_ANSWER and not self.answer:
                raise ModelFaultError("a final answer is not possible yet; a tool has to be used first")
        except ModelFaultError as error:
            return self.failed(f"{error}. Actions: {', '.join(self.actions)}")
        return self.passed(action=action.name if action.name in self.actions else "")
