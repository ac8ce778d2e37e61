"""No step without evidence: the run halts when its spans can no longer be kept. May import telemetry's health."""

from __future__ import annotations

from collections.abc import Callable

from spanseal.control.action import Seam
from spanseal.control.policy import ControlPolicy, ControlResult
from spanseal.genai.state import AgentState
from spanseal.settings import Value
from spanseal.telemetry.configure import health
from spanseal.telemetry.export.sink import Health


class SpoolHealthPolicy(ControlPolicy):
    """Halts before the next model or tool call while the export is not healthy (fail closed).

    That is: the disk refuses, or more than ``most_lost`` spans of this process could be kept nowhere, or (where a
    ``most_backlog_bytes`` is given) more bytes wait for the server. Telemetry itself never stops a program; this
    policy is how one asks for it. What is not exported at all cannot be unhealthy.

    >>> policy = SpoolHealthPolicy(health=lambda: Health(lost=1))
    >>> policy.evaluate(AgentState()).reason
    'spans of this process are lost: 1'
    """

    seams: frozenset[Seam] = frozenset({"before_model", "before_tool"})

    def __init__(
        self, *, most_lost: int = 0, most_backlog_bytes: int | None = None, health: Callable[[], Health] = health
    ) -> None:
        self.most_lost = Value(most_lost, "SpoolHealthPolicy(most_lost=…)").at_least(0)
        self.most_backlog_bytes = most_backlog_bytes
        if most_backlog_bytes is not None:
            self.most_backlog_bytes = Value(most_backlog_bytes, "SpoolHealthPolicy(most_backlog_bytes=…)").at_least(1)
        self._health = health

    def evaluate(self, state: AgentState) -> ControlResult:
        del state
        found = self._health()
        if found.lost > self.most_lost:
            return self.halt(f"spans of this process are lost: {found.lost}")
        if not found.ok:
            return self.halt("spans cannot be kept: the spool is full or the disk refuses")
        if self.most_backlog_bytes is not None and found.backlog_bytes > self.most_backlog_bytes:
            return self.halt(f"{found.backlog_bytes} bytes of spans wait for the server")
        return self.allow()
