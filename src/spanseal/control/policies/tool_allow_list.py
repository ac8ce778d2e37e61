"""Only certain tools."""

from __future__ import annotations

from collections.abc import Iterable

from spanseal.control.action import Action, Seam, ToolUse
from spanseal.control.policy import ControlDecision, ControlPolicy, ControlResult
from spanseal.errors import UsageError
from spanseal.genai.state import AgentState


class ToolAllowListPolicy(ControlPolicy):
    """Stops before any tool that is not in ``names``: by HALT, or by ESCALATE, so that a person decides.

    >>> from spanseal.genai.messages import ToolCall
    >>> policy = ToolAllowListPolicy(["search"])
    >>> policy.decide("before_tool", AgentState(), ToolUse(ToolCall("1", "delete", "{}"))).reason
    "the tool 'delete' is not allowed; allowed is search"
    """

    seams = frozenset({"before_tool"})

    def __init__(self, names: Iterable[str], otherwise: ControlDecision = ControlDecision.HALT) -> None:
        if isinstance(names, str) or not isinstance(names, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UsageError(f"ToolAllowListPolicy: names is a list of tool names, not {names!r}")
        if otherwise not in (ControlDecision.HALT, ControlDecision.ESCALATE):
            raise UsageError("ToolAllowListPolicy: otherwise is HALT or ESCALATE")
        self.names = tuple(names)
        self.otherwise = otherwise

    def decide(self, seam: Seam, state: AgentState, action: Action) -> ControlResult:
        if not isinstance(action, ToolUse) or action.call.name in self.names:
            return self.allow()
        allowed = ", ".join(self.names) or "none"
        reason = f"the tool {action.call.name!r} is not allowed; allowed is {allowed}"
        return ControlResult(self.otherwise, self.name, reason)
