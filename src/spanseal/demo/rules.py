"""The demo's own policies: what makes a weak model useful, and a strong one safe. May import agent and control.

>>> GroundedPolicy.seams == frozenset({"before_answer"})
True
"""

from __future__ import annotations

import re

from spanseal.agent.json_action import action_schema
from spanseal.control.action import Action, FinalAnswer, ModelCall, Seam, ToolUse
from spanseal.control.policy import ControlPolicy, ControlResult
from spanseal.genai.messages import Message
from spanseal.genai.state import AgentState

ONLY_ANSWER = action_schema([])
NUMBER = re.compile(r"\d+(?:\.\d+)?")


class OnePathPolicy(ControlPolicy):
    """Narrows what the model may say next: once a tool has answered, nothing but the answer."""

    name = "one_path"
    seams: frozenset[Seam] = frozenset({"before_model"})

    def decide(self, seam: Seam, state: AgentState, action: Action) -> ControlResult:
        answered = any(outcome.ok for outcome in state.tool_calls)
        if not isinstance(action, ModelCall) or not answered or action.request.response_format == ONLY_ANSWER:
            return self.allow()
        return self.modify("a tool has answered: only the answer is left to say", response_format=ONLY_ANSWER)


class FreshRetryPolicy(ControlPolicy):
    """Sends the feedback, then the question, and not the refused text: a small model repeats what it read last."""

    name = "fresh_retry"
    seams: frozenset[Seam] = frozenset({"before_model"})

    def decide(self, seam: Seam, state: AgentState, action: Action) -> ControlResult:
        if not isinstance(action, ModelCall) or action.attempt == 1:
            return self.allow()
        *before, refused, feedback = action.request.messages
        if refused.role != "assistant":
            return self.allow()
        *earlier, question = before
        again = Message("user", f"{feedback.text}\n\n{question.text}")
        return self.modify("the refused text is not sent again, the question comes last", messages=(*earlier, again))


class AskBeforeBuyingPolicy(ControlPolicy):
    """An order cannot be undone: a person decides."""

    name = "ask_before_buying"
    seams: frozenset[Seam] = frozenset({"before_tool"})

    def decide(self, seam: Seam, state: AgentState, action: Action) -> ControlResult:
        if isinstance(action, ToolUse) and action.call.name == "order":
            return self.escalate("buying cannot be undone; a person has to approve exactly this action")
        return self.allow()


class GroundedPolicy(ControlPolicy):
    """No figure leaves the agent that no tool gave it."""

    name = "grounded"
    seams: frozenset[Seam] = frozenset({"before_answer"})

    def decide(self, seam: Seam, state: AgentState, action: Action) -> ControlResult:
        if not isinstance(action, FinalAnswer):
            return self.allow()
        known = figures(" ".join(outcome.result for outcome in state.tool_calls if outcome.ok))
        said = figures(action.answer)
        if said and not said & known:
            return self.halt(f"the answer says {', '.join(sorted(said))}; no tool gave that figure")
        return self.allow()


def figures(text: str) -> set[str]:
    """The numbers in a text.

    >>> sorted(figures("A lamp costs 24 dollars, two cost 48."))
    ['24', '48']
    """
    return set(NUMBER.findall(text))
