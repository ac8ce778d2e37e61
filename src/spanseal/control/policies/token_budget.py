"""At most so many tokens, refused answers included, reserved before each call."""

from __future__ import annotations

from spanseal.control.action import Action, ModelCall, Seam
from spanseal.control.budgets import Budget
from spanseal.control.policy import ControlPolicy, ControlResult
from spanseal.errors import UsageError
from spanseal.genai.messages import Message, ToolSpec
from spanseal.genai.plain import canonical
from spanseal.genai.state import AgentState, estimate_tokens


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
        if max_tokens < 1 or answer_reserve < 0 or min_answer < 1:
            raise UsageError("TokenBudgetPolicy: max_tokens and min_answer are at least 1, answer_reserve at least 0")
        self.max_tokens = max_tokens
        self.answer_reserve = answer_reserve
        self.shrink = shrink
        self.min_answer = min_answer

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
