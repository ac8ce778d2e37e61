"""Policies combined: the most restrictive wins, changes compose in order and are judged again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.agent.support import attributes, is_error, recorded

from spanseal.control.action import (
    SEAMS,
    Action,
    FinalAnswer,
    ModelAnswer,
    ModelCall,
    Seam,
    ToolAnswer,
    ToolUse,
    action_digest,
)
from spanseal.control.gate import pass_gate
from spanseal.control.plane import MAX_ROUNDS, ControlPlane
from spanseal.control.policy import ControlDecision, ControlPolicy, ControlResult
from spanseal.errors import UsageError
from spanseal.genai import semconv
from spanseal.genai.messages import ChatRequest, LLMResponse, Message, ToolCall, ToolSpec
from spanseal.genai.state import AgentState

Rule = Callable[[ControlPolicy, Action], ControlResult]
STATE = AgentState()
REQUEST = ChatRequest("m", (Message("user", "hi"),), temperature=0.9)


class Policy(ControlPolicy):
    def __init__(self, name: str, rule: Rule, *seams: Seam) -> None:
        self.name, self.rule, self.seams = name, rule, frozenset(seams or SEAMS)

    def decide(self, seam: Seam, state: AgentState, action: Action) -> ControlResult:
        return self.rule(self, action)


def saying(name: str, decision: str) -> Policy:
    reason = f"{name} says so"

    def rule(policy: ControlPolicy, action: Action) -> ControlResult:
        if decision == "modify":
            return policy.modify(reason, answer="changed")
        return {"allow": policy.allow, "escalate": policy.escalate, "halt": policy.halt}[decision](reason)

    return Policy(name, rule)


RANK = ["allow", "modify", "escalate", "halt"]


@given(st.lists(st.sampled_from(RANK), max_size=5))
def test_the_most_restrictive_wins_and_the_first_among_equals_is_named(decisions: list[str]) -> None:
    plane = ControlPlane([saying(f"p{index}", decision) for index, decision in enumerate(decisions)])
    decided = plane.decide("before_answer", STATE, FinalAnswer("x"))
    expected = max(decisions, key=RANK.index, default="allow")
    assert decided.decision.value == expected
    if decisions:
        assert decided.policy == f"p{decisions.index(expected)}"
        assert [result.policy_name for result in decided.rounds[0]] == [f"p{n}" for n in range(len(decisions))]
    assert decided.action == FinalAnswer("changed" if expected == "modify" else "x")


def test_modifications_compose_in_order_and_the_later_one_wins() -> None:
    first = Policy("first", lambda p, _: p.modify("cool", temperature=0.0, max_tokens=9))
    second = Policy("second", lambda p, a: p.allow() if too_long(a) else p.modify("short", max_tokens=5))

    def too_long(action: Action) -> bool:
        return isinstance(action, ModelCall) and action.request.max_tokens == 5

    decided = ControlPlane([second, first]).decide("before_model", STATE, ModelCall(REQUEST))
    assert decided.decision is ControlDecision.HALT, "they never agree"
    settled = ControlPlane([Policy("cool", lambda p, _: p.modify("cool", temperature=0.0)), second])
    decided = settled.decide("before_model", STATE, ModelCall(REQUEST))
    assert isinstance(decided.action, ModelCall)
    assert (decided.action.request.temperature, decided.action.request.max_tokens) == (0.0, 5)
    assert decided.modifications == {"temperature": 0.0, "max_tokens": 5}
    assert (decided.policy, decided.reason) == ("cool", "cool")
    assert len(decided.rounds) == 2


def test_a_changed_action_is_judged_again_by_every_policy() -> None:
    def watch(policy: ControlPolicy, action: Action) -> ControlResult:
        return policy.halt("not that") if action == FinalAnswer("changed") else policy.allow()

    plane = ControlPlane([Policy("watch", watch), saying("changer", "modify")])
    decided = plane.decide("before_answer", STATE, FinalAnswer("x"))
    assert (decided.decision, decided.policy) == (ControlDecision.HALT, "watch")


def test_a_modification_that_never_settles_halts() -> None:
    def grow(policy: ControlPolicy, action: Action) -> ControlResult:
        assert isinstance(action, FinalAnswer)
        return policy.modify("more", answer=action.answer + "!")

    decided = ControlPlane([Policy("grower", grow)]).decide("before_answer", STATE, FinalAnswer("x"))
    assert decided.decision is ControlDecision.HALT
    assert f"after {MAX_ROUNDS} rounds, by grower" in decided.reason


def broken(policy: ControlPolicy, action: Action) -> ControlResult:
    raise KeyError("table")


@pytest.mark.parametrize(("policy", "words"), [
    (Policy("p", broken), "the policy raised KeyError: 'table'"),
    (Policy("p", lambda *_: None), "the policy gave NoneType, not a ControlResult"),  # type: ignore[arg-type,return-value] # pyright: ignore
    (Policy("p", lambda p, _: p.modify("r")), "MODIFY needs some"),
    (Policy("p", lambda p, _: p.modify("r", text="x")), "'text' cannot be modified here; possible are answer"),
    (Policy("p", lambda p, _: p.modify("r", answer=3)), "'answer' must be a text, not int"),
    (Policy("p", lambda *_: ControlResult("halt", "p")), "is no ControlDecision"),  # type: ignore[arg-type] # pyright: ignore
])
def test_a_broken_policy_halts_and_is_named(policy: ControlPolicy, words: str) -> None:
    decided = ControlPlane([saying("a", "allow"), policy]).decide("before_answer", STATE, FinalAnswer("x"))
    assert (decided.decision, decided.policy) == (ControlDecision.HALT, "p")
    assert words in decided.reason


def test_a_policy_that_overrides_nothing_halts() -> None:
    decided = ControlPlane([ControlPolicy()]).decide("before_model", STATE, ModelCall(REQUEST))
    assert "overrides neither evaluate nor decide" in decided.reason


def test_a_policy_is_asked_at_its_seams_only() -> None:
    class Simple(ControlPolicy):
        def evaluate(self, state: AgentState) -> ControlResult:
            return self.halt("always")

    plane = ControlPlane([Simple()])
    assert plane.decide("before_model", STATE, ModelCall(REQUEST)).decision is ControlDecision.HALT
    assert plane.decide("before_answer", STATE, FinalAnswer("x")).decision is ControlDecision.ALLOW


def test_impossible_planes_are_refused() -> None:
    with pytest.raises(UsageError, match="pass an instance"):
        ControlPlane([Policy])  # type: ignore[list-item] # pyright: ignore
    wrong = saying("a", "allow")
    wrong.seams = frozenset({"before_lunch"})  # type: ignore[arg-type] # pyright: ignore
    with pytest.raises(UsageError, match="are no seams"):
        ControlPlane([wrong])


GOOD: list[tuple[Action, dict[str, Any]]] = [
    (ModelCall(REQUEST), {"model": "n", "top_p": 1, "seed": 3, "stop": ["."], "tools": [ToolSpec("t")],
                          "tool_choice": "auto", "response_format": {"type": "object"}, "extra": {"a": 1},
                          "messages": (Message("user", "x"),), "temperature": None, "max_tokens": None}),
    (ModelAnswer(LLMResponse("a", "m")), {"text": "b", "tool_calls": [ToolCall("1", "t", "{}")]}),
    (ToolUse(ToolCall("1", "t", "{}"), {}), {"arguments": {"a": [1]}}),
    (ToolAnswer(ToolCall("1", "t", "{}"), "r"), {"result": "s"}),
    (FinalAnswer("a"), {"answer": "b"}),
]


@pytest.mark.parametrize(("action", "changes"), GOOD)
def test_every_action_can_be_changed_shown_and_bound(action: Action, changes: dict[str, Any]) -> None:
    changed = action.modified(changes)
    assert changed != action
    assert action_digest(changed) != action_digest(action)
    assert action_digest(changed) == action_digest(action.modified(changes))
    assert changed.modified(changes) == changed
    assert changed.to_json()["seam"] == action.seam


@pytest.mark.parametrize(("action", "changes"), [
    (ModelCall(REQUEST), {"temperature": "hot"}), (ModelCall(REQUEST), {"messages": ["hi"]}),
    (ModelCall(REQUEST), {"tools": "t"}), (ModelCall(REQUEST), {"colour": 1}),
    (ModelAnswer(LLMResponse("a", "m")), {"text": 1}), (ModelAnswer(LLMResponse("a", "m")), {"tool_calls": [1]}),
    (ToolUse(ToolCall("1", "t", "{}")), {"arguments": "x"}), (FinalAnswer("a"), {"answer": None}),
])
def test_impossible_changes_are_refused(action: Action, changes: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match=action.seam):
        action.modified(changes)


def test_a_changed_call_carries_its_new_arguments_as_text() -> None:
    changed = ToolUse(ToolCall("1", "t", "{bad"), None).modified({"arguments": {"b": 1, "a": 2}})
    assert (changed.call.arguments, changed.arguments) == ('{"a":2,"b":1}', {"b": 1, "a": 2})


def test_the_gate_is_recorded_even_without_policies() -> None:
    with recorded() as spans:
        pass_gate(ControlPlane(), STATE, FinalAnswer("x"))
    span = spans.one("control before_answer")
    assert attributes(span) == {semconv.CONTROL_SEAM: "before_answer", semconv.CONTROL_DECISION: "allow"}
    assert not is_error(span)


@pytest.mark.parametrize("capture", ["off", "full"])
def test_reasons_and_digests_are_recorded_with_capture_full_only(capture: Any) -> None:
    with recorded(capture) as spans:
        pass_gate(ControlPlane([saying("p", "modify")]), STATE, FinalAnswer("x"))
        pass_gate(ControlPlane([saying("p", "halt")]), STATE, FinalAnswer("x"))
    modified, halted = (attributes(span) for span in spans.all("control before_answer"))
    full = capture == "full"
    assert (modified.get(semconv.CONTROL_MODIFICATIONS) == '{"answer":"changed"}') is full
    assert (semconv.CONTROL_ACTION_DIGEST in halted) is full
    assert (halted.get(semconv.CONTROL_REASON) == "p says so") is full
    assert halted[semconv.ERROR_TYPE] == "halted"
    assert halted[semconv.CONTROL_POLICY] == "p"
    assert (spans.all("control before_answer")[1].status.description == "p: p says so") is full
