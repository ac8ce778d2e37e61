"""A recorded run as values: what happened, in order, with what is missing said. Values only, nothing is read here.

May import ``genai``. Times are nanoseconds since 1970 (UTC), 0 where the span told none; ``ended`` is None while
nothing says when it ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from spanseal.genai.messages import ChatRequest, Json, LLMResponse, Message, Usage
from spanseal.replay.note import Note
from spanseal.replay.sources.base import Content

Grade: TypeAlias = Literal["complete", "truncated", "gapped", "conflicting", "unnumbered"]
Replayable: TypeAlias = Literal["exact", "semantic", "no"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What every span of a run tells. ``step`` is the number of the step it belongs to; ``content`` whether its
    private values could be read (*open*) or are *withheld*, *erased* or *missing* in the store."""

    span_id: str
    parent_id: str = ""
    name: str = ""
    started: int = 0
    ended: int | None = None
    error: str = ""
    step: int | None = None
    content: Content = "open"

    @property
    def duration_ms(self) -> float | None:
        """Milliseconds from start to end, None where one of them is unknown or they contradict each other."""
        if self.ended is None or not self.started or self.ended < self.started:
            return None
        return (self.ended - self.started) / 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Part):
    """One call of a model. ``request`` is None where too little was recorded to build it; ``replayable`` says how
    faithful it is, ``replay_reason`` why it is not exact. ``operation`` is the conventions' word (chat,
    text_completion, embeddings), ``wire`` the name of the wire format, empty for a foreign span. A call for embeddings
    has no messages: what it gave is in ``request.extra``, and ``dimensions`` says how long its vectors are."""

    operation: str = "chat"
    wire: str = ""
    dimensions: int | None = None
    attempt: int = 1
    provider: str = ""
    model: str = ""
    messages: tuple[Message, ...] = ()
    request: ChatRequest | None = None
    response: LLMResponse | None = None
    usage: Usage = field(default_factory=Usage)
    finish_reasons: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    stream_end: str = ""
    http_attempts: int = 0
    replayable: Replayable = "no"
    replay_reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse(Part):
    """One execution of a tool: what it was given and what it gave back, as recorded JSON."""

    tool: str = ""
    call_id: str = ""
    arguments: Json = None
    result: Json = None
    fault: str = ""
    attempts: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check's result. ``passed`` is None where the label is none of the known words."""

    name: str
    passed: bool | None = None
    label: str = ""
    score: float | None = None
    explanation: str = ""
    severity: str = ""
    time: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Verification(Part):
    """One run of a verification pipeline with the results of its checks."""

    pipeline: str = ""
    passed: bool | None = None
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, slots=True)
class PolicyResult:
    """What one policy said at a seam; ``round`` counts the times the seam was decided anew, after a modification."""

    policy: str
    decision: str
    reason: str = ""
    round: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision(Part):
    """What control decided at a seam, which policy won, and what every policy said."""

    seam: str = ""
    decision: str = ""
    policy: str = ""
    reason: str = ""
    modifications: Json = None
    action_sha256: str = ""
    policies: tuple[PolicyResult, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step(Part):
    """One turn of the loop with all that belongs to it, each in order of time."""

    number: int = 0
    state_digest: str = ""
    calls: tuple[Call, ...] = ()
    tools: tuple[ToolUse, ...] = ()
    verifications: tuple[Verification, ...] = ()
    decisions: tuple[Decision, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Other(Part):
    """A span that is none of the above: HTTP, a database, another framework's; ``missing`` marks a parent that is
    named but not there."""

    missing: bool = False


@dataclass(frozen=True, slots=True)
class Node:
    """A place in the tree of spans; children in order of start."""

    part: Part
    children: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One recorded run. ``grade``: *complete*, *truncated* (no manifest), *gapped* (spans missing), *conflicting*
    (two contents for one thing), *unnumbered* (no ledger, another framework's spans). ``last_seen`` is the latest
    moment that any of its spans tells.
    """

    run_id: str
    trace_id: str
    agent: str = ""
    outcome: str = ""
    stop_reason: str = ""
    started: int = 0
    ended: int | None = None
    last_seen: int = 0
    grade: Grade = "unnumbered"
    error: str = ""
    question: tuple[Message, ...] = ()
    answer: tuple[Message, ...] = ()
    instructions: str = ""
    parent_run_id: str = ""
    children: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    calls: tuple[Call, ...] = ()
    tools: tuple[ToolUse, ...] = ()
    verifications: tuple[Verification, ...] = ()
    decisions: tuple[Decision, ...] = ()
    span_count: int = 0
    content: Content = "open"
    resource: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tree: tuple[Node, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def checks(self) -> tuple[Check, ...]:
        """All checks' results, in order."""
        return tuple(check for verification in self.verifications for check in verification.checks)

    @property
    def duration_ms(self) -> float | None:
        """Milliseconds from start to end, None where unknown."""
        return (self.ended - self.started) / 1e6 if self.ended and self.started and self.ended >= self.started else None

    def replayable(self) -> dict[str, int]:
        """How many calls are exact, semantic, or not replayable."""
        counts = {"exact": 0, "semantic": 0, "no": 0}
        for call in self.calls:
            counts[call.replayable] += 1
        return counts

    def step(self, number: int) -> Step | None:
        """The step of this number, None if the record has none."""
        return next((step for step in self.steps if step.number == number), None)
