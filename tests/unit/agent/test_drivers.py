"""Both drivers give the same trajectory, whatever model, tools and policies do; and no run ends without a verdict."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.unit.agent.support import Scripted, TinyModel

from spanseal.agent.build import VerifiableAgent
from spanseal.agent.result import RunResult
from spanseal.control.action import SEAMS, Action, Seam
from spanseal.control.plane import ControlPlane
from spanseal.control.policy import ControlPolicy, ControlResult
from spanseal.errors import ModelFaultError, RateLimitedError, ToolFaultError
from spanseal.genai.messages import ToolCall
from spanseal.genai.state import AgentState
from spanseal.testing import ScriptedTool
from spanseal.verification.checks.max_length import MaxLengthCheck
from spanseal.verification.pipeline import VerificationPipeline

calls = st.builds(
    ToolCall, st.sampled_from(["", "a", "b"]), st.sampled_from(["one", "two", "three"]),
    st.sampled_from(["{}", '{"a": 1}', "[]", "{"]),
)
texts = st.sampled_from([
    "", "ok", "much too long", '{"action": "one", "input": {}}', '{"action": "final_answer", "answer": "ok"}',
    '{"action": "two"}', "[1]",
])
turns: st.SearchStrategy[Scripted] = texts | st.lists(calls, min_size=1, max_size=3) | st.just(RateLimitedError("slow"))
outcomes = st.lists(
    st.sampled_from(["ok", 3, None, ToolFaultError("busy"), ModelFaultError("no"), ValueError("odd"), TimeoutError()]),
    min_size=1, max_size=4,
)


class Dice(ControlPolicy):
    """Decides by a fixed list: at the n-th question of a seam."""

    seams = frozenset(SEAMS)

    def __init__(self, stops: dict[tuple[str, int], str]) -> None:
        self.stops = stops
        self.asked: dict[str, int] = {}

    def decide(self, seam: Seam, state: AgentState, action: Action) -> ControlResult:
        self.asked[seam] = self.asked.get(seam, 0) + 1
        wanted = self.stops.get((seam, self.asked[seam]), "allow")
        if wanted == "raise":
            raise LookupError("lost")
        return {"allow": self.allow, "halt": self.halt, "escalate": self.escalate}[wanted]("dice")


stops = st.dictionaries(
    st.tuples(st.sampled_from(SEAMS), st.integers(1, 4)), st.sampled_from(["halt", "escalate", "raise"]), max_size=1
)


@settings(max_examples=60)
@given(st.lists(turns, min_size=1, max_size=6), outcomes, stops, st.sampled_from(["native", "json"]), st.integers(0, 2))
def test_sync_and_async_are_one_loop(
    script: list[Scripted], given_outcomes: list[Any], dice: dict[tuple[str, int], str],
    protocol: Literal["native", "json"], retries: int,
) -> None:
    results: list[RunResult] = []
    for mode in ("sync", "async"):
        model = TinyModel(*script, *["ok", '{"action": "final_answer", "answer": "ok"}'] * 20)
        tools = [ScriptedTool(name, given_outcomes, is_async=name == "two").tool for name in ("one", "two")]
        agent = VerifiableAgent(
            model, tools=tools, protocol=protocol, max_retries=retries, max_steps=6,
            control=ControlPlane([Dice(dice)]), verification=VerificationPipeline([MaxLengthCheck(5)]),
        )
        results.append(agent.run("?") if mode == "sync" else asyncio.run(agent.arun("?")))
    first, second = results
    event(f"{protocol}: {first.outcome}")
    assert first.state.digest() == second.state.digest()
    assert (first.answer, first.outcome, first.stop_reason, first.steps, first.usage, first.escalation) == (
        second.answer, second.outcome, second.stop_reason, second.steps, second.usage, second.escalation
    )
    assert first.success == bool(first.answer)
    assert bool(first.error_type) == (first.outcome in ("failed", "halted"))
    assert (first.escalation is not None) == (first.outcome == "escalated")
