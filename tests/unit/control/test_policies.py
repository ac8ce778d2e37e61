"""The policies that come with the package, and budgets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanseal.control.action import FinalAnswer, ModelCall, ToolUse
from spanseal.control.budgets import Budget
from spanseal.control.policies.max_steps import MaxStepsPolicy
from spanseal.control.policies.token_budget import TokenBudgetPolicy
from spanseal.control.policies.tool_allow_list import ToolAllowListPolicy
from spanseal.control.policy import ControlDecision
from spanseal.errors import BudgetExceededError, UsageError
from spanseal.genai.messages import ChatRequest, Message, ToolCall
from spanseal.genai.state import AgentState, Spending

REQUEST = ChatRequest("m", (Message("user", "x" * 400),), max_tokens=50)  # about 104 tokens, 154 with the answer


def state_with(tokens: int) -> AgentState:
    return replace(AgentState(), spending=Spending(input_tokens=tokens))


@pytest.mark.parametrize(("step", "decision"), [(0, "allow"), (10, "allow"), (11, "halt")])
def test_max_steps_allows_exactly_that_many(step: int, decision: str) -> None:
    assert MaxStepsPolicy().evaluate(AgentState(step_number=step)).decision.value == decision


@pytest.mark.parametrize(("spent", "decision"), [(0, "allow"), (846, "allow"), (847, "halt"), (1000, "halt")])
def test_the_token_budget_reserves_before_the_call(spent: int, decision: str) -> None:
    result = TokenBudgetPolicy(1000).decide("before_model", state_with(spent), ModelCall(REQUEST))
    assert result.decision.value == decision


def test_a_call_without_limit_reserves_the_stated_amount() -> None:
    policy = TokenBudgetPolicy(1000, answer_reserve=500)
    open_ended = ModelCall(REQUEST.with_(max_tokens=None))
    assert policy.decide("before_model", state_with(396), open_ended).decision is ControlDecision.ALLOW
    assert policy.decide("before_model", state_with(397), open_ended).decision is ControlDecision.HALT


def test_a_shrinking_budget_cuts_the_answer_and_settles() -> None:
    policy = TokenBudgetPolicy(1000, shrink=True, min_answer=10)
    result = policy.decide("before_model", state_with(870), ModelCall(REQUEST))
    assert (result.decision, result.modifications) == (ControlDecision.MODIFY, {"max_tokens": 26})
    changed = ModelCall(REQUEST).modified(result.modifications)
    assert policy.decide("before_model", state_with(870), changed).decision is ControlDecision.ALLOW
    assert policy.decide("before_model", state_with(890), changed).decision is ControlDecision.HALT


def test_the_default_limits_are_those_that_people_know() -> None:
    assert (MaxStepsPolicy().max_steps, TokenBudgetPolicy().max_tokens) == (10, 50_000)
    assert (MaxStepsPolicy().name, TokenBudgetPolicy().name, ToolAllowListPolicy([]).name) == (
        "max_steps", "token_budget", "tool_allow_list"
    )


@pytest.mark.parametrize("otherwise", [ControlDecision.HALT, ControlDecision.ESCALATE])
def test_the_allow_list(otherwise: ControlDecision) -> None:
    policy = ToolAllowListPolicy(["add"], otherwise)
    use = [policy.decide("before_tool", AgentState(), ToolUse(ToolCall("1", name, "{}"))) for name in ("add", "Add")]
    assert [result.decision for result in use] == [ControlDecision.ALLOW, otherwise]
    assert use[1].reason == "the tool 'Add' is not allowed; allowed is add"
    assert policy.decide("before_answer", AgentState(), FinalAnswer("x")).decision is ControlDecision.ALLOW


@pytest.mark.parametrize("make", [
    lambda: MaxStepsPolicy(0), lambda: TokenBudgetPolicy(0), lambda: TokenBudgetPolicy(answer_reserve=-1),
    lambda: ToolAllowListPolicy("add"), lambda: ToolAllowListPolicy([], ControlDecision.ALLOW),
    lambda: Budget(-1),
])
def test_impossible_limits_are_refused(make: Callable[[], object]) -> None:
    with pytest.raises(UsageError):
        make()


@given(st.integers(0, 100), st.lists(st.tuples(st.integers(0, 50), st.integers(0, 80)), max_size=8))
def test_a_budget_never_reserves_what_it_has_not(limit: int, calls: list[tuple[int, int]]) -> None:
    budget = Budget(limit)
    for reserved, actual in calls:
        if not budget.fits(reserved):
            with pytest.raises(BudgetExceededError):
                budget.reserve(reserved)
            continue
        assert budget.left >= reserved
        budget = budget.reserve(reserved).settle(reserved, actual)
        assert budget.reserved == 0
    assert budget.left == max(0, limit - budget.used)


def test_settling_what_was_never_reserved_is_refused() -> None:
    with pytest.raises(UsageError, match="never reserved"):
        Budget(10).settle(1, 1)
