"""At most so many steps."""

from __future__ import annotations

from spanseal.control.policy import ControlPolicy, ControlResult
from spanseal.genai.state import AgentState
from spanseal.settings import Value


class MaxStepsPolicy(ControlPolicy):
    """Halts before the model call of step ``max_steps + 1``: exactly ``max_steps`` steps are allowed.

    >>> MaxStepsPolicy(2).evaluate(AgentState(step_number=2)).decision.value
    'allow'
    >>> MaxStepsPolicy(2).evaluate(AgentState(step_number=3)).reason
    'all 2 steps are used'
    """

    def __init__(self, max_steps: int = 10) -> None:
        self.max_steps = Value(max_steps, "MaxStepsPolicy(max_steps=…)").at_least(1)

    def evaluate(self, state: AgentState) -> ControlResult:
        if state.step_number > self.max_steps:
            return self.halt(f"all {self.max_steps} steps are used")
        return self.allow()
