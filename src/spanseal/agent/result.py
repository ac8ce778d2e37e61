"""What a run gives back. Values only."""

from __future__ import annotations

from dataclasses import dataclass

from spanseal.agent.commands import Escalation, Outcome
from spanseal.genai.messages import Message, Usage
from spanseal.genai.state import AgentState, ToolOutcome


@dataclass(frozen=True, slots=True)
class RunResult:
    """The end of a run and how it came to it.

    ``outcome`` is completed, halted, escalated or failed; ``answer`` is "" unless completed. ``stop_reason`` says
    why in words; ``error`` repeats it for failed runs, ``error_type`` is the span's word. ``steps`` counts steps in
    which the model was asked. ``usage`` sums every model call, refused answers included; where a provider
    told no counts an estimate of ours takes their place, and ``usage.estimated`` says so. ``escalation`` holds the
    exact action that waits for a person, and its digest.

    >>> from spanseal.agent.build import VerifiableAgent
    >>> from spanseal.testing.scripted_model import ScriptedModel
    >>> result = VerifiableAgent(ScriptedModel(["391"])).run("What is 17 * 23?")
    >>> result.success, result.answer, result.steps
    (True, '391', 1)
    """

    answer: str
    outcome: Outcome
    stop_reason: str
    run_id: str
    trace_id: str
    steps: int
    usage: Usage
    state: AgentState
    error_type: str = ""
    escalation: Escalation | None = None

    @property
    def success(self) -> bool:
        """True only for a completed run, which always has an answer with text."""
        return self.outcome == "completed"

    @property
    def error(self) -> str:
        """Why the run failed, "" unless it did."""
        return self.stop_reason if self.outcome == "failed" else ""

    @property
    def tool_calls(self) -> tuple[ToolOutcome, ...]:
        """Every tool call with its outcome, in order."""
        return self.state.tool_calls

    @property
    def messages(self) -> tuple[Message, ...]:
        """The whole history."""
        return self.state.messages
