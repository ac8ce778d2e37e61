"""Policies and their decisions. Pure: a policy reads a state and an action and says what may happen.

A simple policy overrides ``evaluate(state)`` and is asked before every model call; one that looks at the action
overrides ``decide(seam, state, action)`` and names its ``seams``.

>>> class NoFriday(ControlPolicy):
...     def evaluate(self, state):
...         return self.halt("not on Fridays") if state.metadata.get("day") == "Friday" else self.allow()
>>> NoFriday().evaluate(AgentState(metadata={"day": "Friday"})).decision.value
'halt'
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from spanseal.control.action import Action, Seam
from spanseal.errors import UsageError
from spanseal.genai.state import AgentState


class ControlDecision(Enum):
    """What a policy decides, from the most liberal to the most restrictive.

    >>> max(ControlDecision.HALT, ControlDecision.MODIFY, key=lambda decision: decision.rank).value
    'halt'
    """

    ALLOW = "allow"
    MODIFY = "modify"
    ESCALATE = "escalate"
    HALT = "halt"

    @property
    def rank(self) -> int:
        """0 to 3; the higher one wins."""
        return list(ControlDecision).index(self)


@dataclass(frozen=True, slots=True)
class ControlResult:
    """One policy's decision. ``modifications`` go with MODIFY, and only with it (UsageError otherwise).

    >>> ControlResult(ControlDecision.MODIFY, "cap", modifications={"temperature": 0.0}).decision.value
    'modify'
    """

    decision: ControlDecision
    policy_name: str
    reason: str = ""
    modifications: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        if not isinstance(self.decision, ControlDecision):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
            raise UsageError(f"ControlResult: {self.decision!r} is no ControlDecision")
        if (self.decision is ControlDecision.MODIFY) != bool(self.modifications):
            raise UsageError("ControlResult: modifications belong to MODIFY, and MODIFY needs some")


class ControlPolicy:
    """One rule. ``name`` is the class name unless set; ``seams`` are the points where it is asked.

    A policy is asked again after every modification, its own too: a change that never settles halts the run.
    An exception in a policy halts the run.

    >>> class AskFirst(ControlPolicy):
    ...     seams = frozenset({"before_tool"})
    ...     def decide(self, seam, state, action):
    ...         return self.escalate("a person decides") if action.call.name == "order" else self.allow()
    >>> AskFirst.name
    'ask_first'
    """

    name: str = ""
    seams: frozenset[Seam] = frozenset({"before_model"})

    def __init_subclass__(cls, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        if not cls.__dict__.get("name"):
            cls.name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower().removesuffix("_policy")

    def evaluate(self, state: AgentState) -> ControlResult:
        """The decision from the state alone."""
        raise NotImplementedError(f"{type(self).__name__} overrides neither evaluate nor decide")

    def decide(self, seam: Seam, state: AgentState, action: Action) -> ControlResult:
        """The decision on ``action`` at ``seam``; by default that of :meth:`evaluate`."""
        return self.evaluate(state)

    def allow(self, reason: str = "") -> ControlResult:
        """Go on."""
        return ControlResult(ControlDecision.ALLOW, self.name, reason)

    def modify(self, reason: str, **modifications: Any) -> ControlResult:
        """Go on with these fields of the action changed."""
        return ControlResult(ControlDecision.MODIFY, self.name, reason, modifications)

    def escalate(self, reason: str) -> ControlResult:
        """Stop before the action until a person has decided."""
        return ControlResult(ControlDecision.ESCALATE, self.name, reason)

    def halt(self, reason: str) -> ControlResult:
        """Stop now."""
        return ControlResult(ControlDecision.HALT, self.name, reason)
