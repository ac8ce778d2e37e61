"""At most so many tokens, refused answers included, reserved before each call."""

from __future__ import annotations

from spanseal.control.action import Action, ModelCall, Seam
from spanseal.control.budgets import Budget
from spanseal.control.policy import ControlPolicy, ControlResult
from spanseal.genai.messages import Message, ToolSpec
from spanseal.genai.plain_json import canonical
from spanseal.genai.state import AgentState, estimate_tokens
from spanseal.settings import Value


class TokenBudgetPolicy(ControlPolicy):
    """Halts before a model call that might not fit into what is left of ``max_tokens``.

    What a call might take is reserved first: messages and tools of the request as an estimate, and its
    ``max_tokens`` (or ``answer_reserve`` where it sets none). With ``shrink`` the request's ``max_tokens`` is cut to
    what is left, as long as at least ``min_answer`` tokens are. Spent is what the provider counted for every answer,
    also for those that a check refused.

    >>> TokenBudgetPolicy(100).evaluate(AgentState()).decision.value
    'allow'
    """

    def __init__(
        self, max_tokens: int = 50_000, *, answer_reserve: int = 512, shrink: bool = False, min_answer: int = 32
    ) -> None:
        self.max_tokens = Value(max_tokens, "TokenBudgetPolicy(max_tokens=…)").at_least(1)
        self.answer_reserve = Value(answer_reserve, "TokenBudgetPolicy(answer_reserve=…)").at_least(0)
        self.min_answer = Value(min_answer, "TokenBudgetPolicy(min_answer=…)").at_least(1)
        self.shrink = shrink

    def evaluate(self, state: AgentState) -> ControlResult:
        if state.total_tokens >= self.max_tokens:
            return self.halt(f"{state.total_tokens} of {self.max_tokens} tokens are used")
        return self.allow()

    def decide(self, seam: Seam, state: AgentState, action: Action) -> ControlResult:
        spent = self.evaluate(state)
        if spent.decision.value != "allow" or not isinstance(action, ModelCall):
            return spent
        request = action.request
        budget = Budget(self.max_tokens, used=state.total_tokens, reserved=state.spending.reserved_tokens)
        asked = estimate_tokens(request.messages) + sum(map(_tokens_of, request.tools))
        answer = self.answer_reserve if request.max_tokens is None else request.max_tokens
        if budget.fits(asked + answer):
            return self.allow()
        room = budget.left - asked
        if self.shrink and room >= self.min_answer:
            return self.modify(f"{room} tokens are left for the answer", max_tokens=room)
        need, used = asked + answer, state.total_tokens
        return self.halt(f"the call may need {need} tokens; {used} of {self.max_tokens} are used")


def _tokens_of(spec: ToolSpec) -> int:
    return estimate_tokens((Message("system", spec.name + spec.description + canonical(spec.parameters)),))
