"""Combines the policies of a seam into one decision. Pure.

In a round every policy of the seam sees the same action. The most restrictive decision wins (the first policy among
equals). When that is MODIFY, the modifications are applied in the order of the policies, a later one over an earlier
one, and the changed action is judged again, so that nothing passes that a policy has not seen. It has settled when
no policy wants a change any more; policies that still do after :data:`MAX_ROUNDS` rounds halt the run.

>>> from spanseal.control.action import FinalAnswer
>>> ControlPlane([]).decide("before_answer", AgentState(), FinalAnswer("391")).decision.value
'allow'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from spanseal.control.action import SEAMS, Action, Seam
from spanseal.control.policy import ControlDecision, ControlPolicy, ControlResult
from spanseal.errors import UsageError, told
from spanseal.genai.state import AgentState

MAX_ROUNDS = 3
PLANE = "control_plane"


@dataclass(frozen=True, slots=True)
class PlaneDecision:
    """The decision of a seam. ``action`` is what may happen now: the modified one after MODIFY, else as given.

    ``rounds`` holds every policy's result, round by round; ``modifications`` what was changed, merged.
    """

    decision: ControlDecision
    seam: Seam
    action: Action
    policy: str = ""
    reason: str = ""
    rounds: tuple[tuple[ControlResult, ...], ...] = ()
    modifications: dict[str, Any] = field(default_factory=dict[str, Any])

    @property
    def goes_on(self) -> bool:
        """True for ALLOW and MODIFY."""
        return self.decision in (ControlDecision.ALLOW, ControlDecision.MODIFY)

    @property
    def results(self) -> tuple[ControlResult, ...]:
        """Every policy's result in order."""
        return tuple(result for round_ in self.rounds for result in round_)


class ControlPlane:
    """The policies of an agent, in order of precedence among equals.

    >>> from spanseal.control.action import FinalAnswer
    >>> from spanseal.control.policies.max_steps import MaxStepsPolicy
    >>> ControlPlane([MaxStepsPolicy(8)]).decide("before_answer", AgentState(), FinalAnswer("391")).goes_on
    True
    """

    def __init__(self, policies: Sequence[ControlPolicy] = ()) -> None:
        if not isinstance(policies, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
            raise UsageError(f"ControlPlane: policies is a list of policies, not {type(policies).__name__}")
        for policy in policies:
            if not isinstance(policy, ControlPolicy):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
                raise UsageError(f"ControlPlane: {policy!r} is no ControlPolicy; pass an instance")
            unknown = set(policy.seams) - set(SEAMS)
            if unknown:
                raise UsageError(f"{policy.name}.seams: {sorted(unknown)} are no seams; possible: {', '.join(SEAMS)}")
        self.policies = tuple(policies)

    def decide(self, seam: Seam, state: AgentState, action: Action) -> PlaneDecision:
        """The decision on ``action``. Never raises for a policy's sake: a broken policy is a HALT that names it."""
        policies = [policy for policy in self.policies if seam in policy.seams]
        now, rounds = action, list[tuple[ControlResult, ...]]()
        changed: dict[str, Any] = {}
        first: ControlResult | None = None
        for _ in range(MAX_ROUNDS):
            results = tuple(_ask(policy, seam, state, now) for policy in policies)
            rounds.append(results)
            winner = max(results, key=lambda result: result.decision.rank, default=None)
            if winner is None or winner.decision is ControlDecision.ALLOW:
                return _passed(seam, now, first, winner, rounds, changed)
            if winner.decision is not ControlDecision.MODIFY:
                return PlaneDecision(winner.decision, seam, now, winner.policy_name, winner.reason, tuple(rounds),
                                     changed)
            after, settled, broken = _apply(now, results)
            if broken is not None:
                return PlaneDecision(broken.decision, seam, now, broken.policy_name, broken.reason, tuple(rounds),
                                     changed)
            if settled:
                return _passed(seam, now, first, winner, rounds, changed)
            first = first or winner
            for result in results:
                changed |= result.modifications
            now = after
        return _unsettled(seam, now, rounds, changed)


def _ask(policy: ControlPolicy, seam: Seam, state: AgentState, action: Action) -> ControlResult:
    try:
        result = cast("object", policy.decide(seam, state, action))
    except Exception as error:  # noqa: BLE001 - a policy that raises halts the run
        return ControlResult(ControlDecision.HALT, policy.name, f"the policy raised {told(error)}")
    if isinstance(result, ControlResult):
        return result
    return ControlResult(
        ControlDecision.HALT, policy.name, f"the policy gave {type(result).__name__}, not a ControlResult"
    )


def _apply(now: Action, results: tuple[ControlResult, ...]) -> tuple[Action, bool, ControlResult | None]:
    """The action with all modifications; whether each of them alone changes nothing; the HALT of an impossible one.

    Each alone: two policies that overwrite each other's changes for ever have not settled.
    """
    after, settled = now, True
    for result in results:
        if result.decision is not ControlDecision.MODIFY:
            continue
        try:
            settled = settled and now.modified(result.modifications) == now
            after = after.modified(result.modifications)
        except UsageError as error:
            return now, False, ControlResult(ControlDecision.HALT, result.policy_name, str(error))
        except Exception as error:  # noqa: BLE001 - values that cannot even be compared or written, such as cycles
            words = f"the modification cannot be applied: {told(error)}"
            return now, False, ControlResult(ControlDecision.HALT, result.policy_name, words)
    return after, settled, None


def _passed(
    seam: Seam, action: Action, first: ControlResult | None, winner: ControlResult | None,
    rounds: list[tuple[ControlResult, ...]], changed: dict[str, Any],
) -> PlaneDecision:
    if first is not None:
        return PlaneDecision(ControlDecision.MODIFY, seam, action, first.policy_name, first.reason, tuple(rounds),
                             changed)
    name, reason = ("", "") if winner is None else (winner.policy_name, winner.reason)
    return PlaneDecision(ControlDecision.ALLOW, seam, action, name, reason, tuple(rounds), {})


def _unsettled(
    seam: Seam, action: Action, rounds: list[tuple[ControlResult, ...]], changed: dict[str, Any]
) -> PlaneDecision:
    names = sorted({r.policy_name for r in rounds[-1] if r.decision is ControlDecision.MODIFY})
    reason = f"the action still changed after {MAX_ROUNDS} rounds, by {', '.join(names)}; a modification must settle"
    return PlaneDecision(ControlDecision.HALT, seam, action, PLANE, reason, tuple(rounds), changed)
