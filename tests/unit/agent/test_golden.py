"""Whole trajectories as texts: what a run looks like in spans, the same for sync and async drivers.

After a wanted change: ``SPANSEAL_GOLDEN=write pytest tests/unit/agent/test_golden.py``, then read the difference.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from tests.unit.agent.support import attributes

from spanseal.agent.build import VerifiableAgent
from spanseal.control.action import Action, ModelCall, Seam
from spanseal.control.plane import ControlPlane
from spanseal.control.policies.max_steps import MaxStepsPolicy
from spanseal.control.policies.tool_allow_list import ToolAllowListPolicy
from spanseal.control.policies.tool_first import ToolFirstPolicy
from spanseal.control.policy import ControlDecision, ControlPolicy, ControlResult
from spanseal.demo.calculator import calculator
from spanseal.errors import ProviderUnavailableError, ToolFaultError
from spanseal.genai import semconv
from spanseal.genai.messages import ToolCall
from spanseal.genai.state import AgentState
from spanseal.testing import ScriptedModel, ScriptedTool, capture_spans
from spanseal.verification.checks.max_length import MaxLengthCheck
from spanseal.verification.pipeline import VerificationPipeline

GOLDEN = Path(__file__).parents[2] / "golden" / "agent"
WRITE = os.environ.get("SPANSEAL_GOLDEN") == "write"  # read at import: the fixtures clear the environment
SHOWN = (
    "gen_ai.tool", "gen_ai.evaluation", "error.type", "spanseal.control", "spanseal.verification", "spanseal.tool",
    "spanseal.step", "spanseal.run.outcome", "spanseal.run.stop_reason", "spanseal.llm.attempt", "spanseal.policy",
    "spanseal.check", "gen_ai.usage", "spanseal.usage", "gen_ai.output.messages",
)
LEFT_OUT = {semconv.TOOL_IDEMPOTENCY_KEY, semconv.TOOL_DEFINITIONS}  # the key holds the run's random id


class Cool(ControlPolicy):
    """Temperature 0, always."""

    def decide(self, seam: Seam, state: AgentState, action: Action) -> ControlResult:
        if isinstance(action, ModelCall) and action.request.temperature != 0.0:
            return self.modify("no dice", temperature=0.0)
        return self.allow()


def native() -> VerifiableAgent:
    rates = ScriptedTool("rates", [ToolFaultError("busy"), {"eur": 1.1}])
    broken = ScriptedTool("broken", [ValueError("bent")])
    model = ScriptedModel([
        [ToolCall("c1", "calculator", '{"expression": "17 * 23"}'), ToolCall("c2", "rates", "{}")],
        [ToolCall("c3", "broken", "{}"), ToolCall("c4", "calculator", '{"expr": "1"}'), ToolCall("c5", "magic", "{}")],
        "It is 391, and I could go on about this for hours.",
        "391",
    ])
    return VerifiableAgent(
        model, tools=[calculator, rates.tool, broken.tool], control=ControlPlane([MaxStepsPolicy(5), Cool()]),
        verification=VerificationPipeline([MaxLengthCheck(20)], name="brief"),
    )


def json_actions() -> VerifiableAgent:
    model = ScriptedModel([
        "17 times 23 is 400.",
        '{"action": "calculator", "input": {"expression": "17 * 23"}}',
        '{"action": "final_answer", "input": {"answer": "391"}}',
    ])
    return VerifiableAgent(
        model, tools=[calculator], protocol="json", enforce_schema="on_retry",
        control=ControlPlane([ToolFirstPolicy()]),
    )


def escalated() -> VerifiableAgent:
    model = ScriptedModel([ToolCall("c1", "calculator", '{"expression": "1"}')])
    allow = ToolAllowListPolicy([], ControlDecision.ESCALATE)
    return VerifiableAgent(model, tools=[calculator], control=ControlPlane([allow]))


def halted() -> VerifiableAgent:
    model = ScriptedModel([ToolCall("c1", "calculator", '{"expression": "1"}')] * 2)
    return VerifiableAgent(model, tools=[calculator], control=ControlPlane([MaxStepsPolicy(1)]))


def unavailable() -> VerifiableAgent:
    return VerifiableAgent(ScriptedModel([ProviderUnavailableError("nobody answers at http://localhost:1")]))


def transcript(spans: tuple[ReadableSpan, ...]) -> str:
    """The span tree with what the loop itself recorded; ids, times and the wire record are left out."""
    ordered = sorted(spans, key=lambda span: attributes(span)[semconv.SEQ])
    depth: dict[int | None, int] = {None: -1}
    lines: list[str] = []
    for span in ordered:
        level = depth[span.parent.span_id if span.parent else None] + 1
        if span.context is not None:
            depth[span.context.span_id] = level
        status = f" [{span.status.status_code.name}] {span.status.description}" if span.status.is_ok is False else ""
        lines.append(f"{'  ' * level}{span.name}{status}")
        lines += [f"{'  ' * level}  . {line}" for line in told(attributes(span))]
        for event in span.events:
            lines.append(f"{'  ' * level}  * {event.name}: {'; '.join(told(dict(event.attributes or {})))}")
    return "\n".join(lines) + "\n"


def told(found: dict[str, Any]) -> list[str]:
    return [f"{key} = {value}" for key, value in sorted(found.items()) if key.startswith(SHOWN) and key not in LEFT_OUT]


@pytest.mark.parametrize("make", [native, json_actions, escalated, halted, unavailable])
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_trajectory(make: Callable[[], VerifiableAgent], mode: str) -> None:
    with capture_spans() as captured:
        agent = make()
        _ = agent.run("What is 17 * 23?") if mode == "sync" else asyncio.run(agent.arun("What is 17 * 23?"))
    text = transcript(captured.spans)
    file = GOLDEN / f"{make.__name__}.txt"
    if WRITE:
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")
