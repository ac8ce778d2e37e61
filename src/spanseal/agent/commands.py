"""What the step machine asks for, and what it is told. Values only; pure.

===================  ===============================================
command              answered by
===================  ===============================================
:class:`AskGate`     :class:`Decided`
:class:`CallModel`   :class:`Answered` or :class:`CallFailed`
:class:`RunChecks`   :class:`Checked`
:class:`RunTool`     :class:`ToolDone`
:class:`Finish`      nothing: the run is over
===================  ===============================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from spanseal.control.action import Action, Seam
from spanseal.control.plane import PlaneDecision
from spanseal.genai.messages import ChatRequest, LLMResponse, ToolCall
from spanseal.genai.state import ToolOutcome
from spanseal.verification.check import VerificationCheck, VerificationReport

Outcome = Literal["completed", "halted", "escalated", "failed"]


@dataclass(frozen=True, slots=True)
class AskGate:
    """Let control decide on ``action``; its seam is the action's."""

    action: Action


@dataclass(frozen=True, slots=True)
class CallModel:
    """Send ``request``; ``attempt`` counts from 1 within a step."""

    request: ChatRequest
    attempt: int


@dataclass(frozen=True, slots=True)
class RunChecks:
    """Check ``response``: its form (the protocol's own ``checks``), or the answer (the user's pipeline)."""

    kind: Literal["form", "answer"]
    response: LLMResponse
    checks: tuple[VerificationCheck, ...] = ()


@dataclass(frozen=True, slots=True)
class RunTool:
    """Execute ``call`` behind its gates; a tool that is not among ``offered`` does not exist for this call."""

    call: ToolCall
    offered: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Escalation:
    """An action that a person has to decide on. ``digest`` binds the decision to exactly this action."""

    seam: Seam
    action: dict[str, Any]
    digest: str
    policy: str
    reason: str


@dataclass(frozen=True, slots=True)
class Finish:
    """The end. ``stop_reason`` is for people; ``error_type`` a word for spans, "" when the run completed."""

    outcome: Outcome
    stop_reason: str
    error_type: str = ""
    answer: str = ""
    escalation: Escalation | None = None


Command: TypeAlias = AskGate | CallModel | RunChecks | RunTool | Finish


@dataclass(frozen=True, slots=True)
class Decided:
    """Control's decision."""

    decision: PlaneDecision


@dataclass(frozen=True, slots=True)
class Answered:
    """The model's answer."""

    response: LLMResponse


@dataclass(frozen=True, slots=True)
class CallFailed:
    """The provider failed for good."""

    error_type: str
    message: str


@dataclass(frozen=True, slots=True)
class Checked:
    """The checks' verdict."""

    report: VerificationReport


@dataclass(frozen=True, slots=True)
class ToolDone:
    """A tool's outcome."""

    outcome: ToolOutcome


Event: TypeAlias = Decided | Answered | CallFailed | Checked | ToolDone
