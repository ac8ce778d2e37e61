"""No answer before a tool has answered."""

from __future__ import annotations

from spanseal.control.action import Action, FinalAnswer, ModelCall, Seam
from spanseal.control.policy import ControlPolicy, ControlResult
from spanseal.genai.state import AgentState


class ToolFirstPolicy(ControlPolicy):
    """Requires a tool call in every request until one has succeeded, and halts an answer that comes without one.

    >>> ToolFirstPolicy().decide("before_answer", AgentState(), FinalAnswer("about 400")).reason
    'the answer rests on no tool'
    """

    seams = frozenset({"before_model", "before_answer"})

    def decide(self, seam: Seam, state: AgentState, action: Action) -> ControlResult:
        if any(outcome.ok for outcome in state.tool_calls):
            return self.allow()
        if isinstance(action, FinalAnswer):
            return self.halt("the answer rests on no tool")
        if isinstance(action, ModelCall) and action.request.tools and action.request.tool_choice != "required":
            return self.modify("no tool has answered yet", tool_choice="required")
        return self.allow()
