"""Every decision at every seam really acts, sync and async: 5 seams × 4 decisions through the real loop."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal

import pytest
from tests.unit.agent.support import TinyModel, attributes, call, is_error, recorded

from spanseal.agent.build import VerifiableAgent
from spanseal.agent.result import RunResult
from spanseal.control.action import SEAMS, Action, FinalAnswer, ModelAnswer, ModelCall, Seam, ToolAnswer, ToolUse
from spanseal.control.plane import ControlPlane
from spanseal.control.policy import ControlPolicy, ControlResult
from spanseal.genai import semconv
from spanseal.genai.messages import Message
from spanseal.genai.plain_json import digest
from spanseal.genai.state import AgentState
from spanseal.tools.tool import tool

Mode = Literal["sync", "async"]
DECISIONS = ("allow", "modify", "escalate", "halt")


class At(ControlPolicy):
    """One decision at one seam; modifications chosen so that their effect can be seen."""

    def __init__(self, seam: Seam, decision: str) -> None:
        self.seams = frozenset({seam})
        self.decision = decision

    def decide(self, seam: Seam, state: AgentState, action: Action) -> ControlResult:
        if self.decision == "modify":
            return self.modify("because", **changes(action))
        return {"allow": self.allow, "escalate": self.escalate, "halt": self.halt}[self.decision]("because")


def changes(action: Action) -> dict[str, Any]:
    match action:
        case ModelCall():
            return {"temperature": 0.25, "max_tokens": 7, "messages": [Message("user", "another question")]}
        case ModelAnswer(response=response):
            if response.tool_calls:
                return {"tool_calls": [call("double", n=50)]}
            return {"text": response.text.upper()}
        case ToolUse():
            return {"arguments": {"n": 100}}
        case ToolAnswer():
            return {"result": {"hidden": True}}
        case FinalAnswer():
            return {"answer": "another answer"}


class World:
    """An agent with one tool that a script calls once."""

    def __init__(self, seam: Seam, decision: str) -> None:
        self.ran: list[int] = []
        self.model = TinyModel(call("double", n=4), "it is 8")

        @tool
        def double(n: int) -> int:
            """Twice."""
            self.ran.append(n)
            return 2 * n

        self.agent = VerifiableAgent(self.model, tools=[double], control=ControlPlane([At(seam, decision)]))

    def run(self, mode: Mode) -> RunResult:
        return self.agent.run("2 * 4?") if mode == "sync" else asyncio.run(self.agent.arun("2 * 4?"))


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("seam", SEAMS)
@pytest.mark.parametrize("decision", DECISIONS)
def test_decision_at_seam(seam: Seam, decision: str, mode: Mode) -> None:
    world = World(seam, decision)
    with recorded() as spans:
        result = world.run(mode)
    gates = spans.all(f"control {seam}")
    assert gates, "a gate is always recorded"
    assert all(attributes(gate)[semconv.CONTROL_DECISION] == decision for gate in gates)
    if decision == "allow":
        assert (result.outcome, result.answer, world.ran) == ("completed", "it is 8", [4])
    elif decision == "modify":
        check_modified(seam, world, result)
    else:
        check_stopped(seam, decision, world, result)
        (gate,) = gates
        assert is_error(gate) == (decision == "halt")
        assert is_error(spans.one("invoke_agent agent")) == (decision == "halt")


def check_modified(seam: Seam, world: World, result: RunResult) -> None:
    assert result.outcome == "completed"
    if seam == "before_model":
        for request in world.model.requests:
            assert (request.temperature, request.max_tokens) == (0.25, 7)
            assert [message.text for message in request.messages] == ["another question"]
        assert result.messages[0].text == "2 * 4?", "the history itself is not changed"
    elif seam == "after_model":
        assert (world.ran, result.answer) == ([50], "IT IS 8")
    elif seam == "before_tool":
        assert (world.ran, result.tool_calls[0].result) == ([100], "200")
    elif seam == "after_tool":
        assert result.tool_calls[0].result == "8", "what happened stays recorded"
        assert '{"hidden":true}' in str(world.model.requests[1].messages[-1])
    else:
        assert result.answer == "another answer"


def check_stopped(seam: Seam, decision: str, world: World, result: RunResult) -> None:
    assert result.outcome == {"halt": "halted", "escalate": "escalated"}[decision]
    assert (result.answer, result.success) == ("", False)
    assert result.stop_reason == f"at at {seam}: because"
    calls, tools, steps = {
        "before_model": (0, 0, 0), "after_model": (1, 0, 1), "before_tool": (1, 0, 1), "after_tool": (1, 1, 1),
        "before_answer": (2, 1, 2),
    }[seam]
    assert (len(world.model.requests), len(world.ran), result.steps) == (calls, tools, steps)
    if decision == "halt":
        assert result.escalation is None
        return
    held = result.escalation
    assert held is not None
    assert (held.seam, held.policy, held.reason) == (seam, "at", "because")
    assert held.action["seam"] == seam
    assert held.digest == digest(held.action), "anyone can bind a decision to the action that was shown"


def test_the_escalated_action_is_the_exact_one() -> None:
    with recorded() as spans:
        result = World("before_tool", "escalate").run("sync")
    assert result.escalation is not None
    assert result.escalation.action == {
        "seam": "before_tool", "tool": "double", "call_id": "c1", "arguments": {"n": 4}
    }
    gate = attributes(spans.one("control before_tool"))
    assert gate[semconv.CONTROL_ACTION_DIGEST] == result.escalation.digest
    assert json.loads(gate[semconv.CONTROL_ACTION]) == result.escalation.action
    assert [pending.name for pending in result.state.pending] == ["double"]


def test_a_modified_argument_passes_the_input_gate_again() -> None:
    class Bad(ControlPolicy):
        seams = frozenset({"before_tool"})

        def decide(self, seam: Seam, state: AgentState, action: Action) -> ControlResult:
            return self.modify("wrong type", arguments={"n": "many"})

    world = World("before_tool", "allow")
    agent = VerifiableAgent(
        world.model, tools=list(world.agent._runner.executor.tools.values()), control=ControlPlane([Bad()])  # pyright: ignore[reportPrivateUsage]
    )
    result = agent.run("?")
    assert (world.ran, result.tool_calls[0].fault) == ([], "model")


def test_every_policy_is_an_event_on_the_gate() -> None:
    class Other(ControlPolicy):
        name = "other"
        seams = frozenset({"before_answer"})

        def decide(self, seam: Seam, state: AgentState, action: Action) -> ControlResult:
            return self.allow("fine with me")

    world = World("before_answer", "allow")
    agent = VerifiableAgent(TinyModel("x"), control=ControlPlane([Other(), At("before_answer", "halt")]))
    with recorded() as spans:
        agent.run("?")
    events = spans.one("control before_answer").events
    assert [dict(event.attributes or {}) for event in events] == [
        {semconv.POLICY_NAME: "other", semconv.POLICY_DECISION: "allow", semconv.POLICY_ROUND: 1,
         semconv.POLICY_REASON: "fine with me"},
        {semconv.POLICY_NAME: "at", semconv.POLICY_DECISION: "halt", semconv.POLICY_ROUND: 1,
         semconv.POLICY_REASON: "because"},
    ]
    assert world.ran == []
