"""Evaluates one seam in its span: always emitted, with every policy's result as an event. Imports telemetry.

A HALT is an ERROR of type ``halted``; an escalation is no error, its span carries the exact action that waits.
Reasons, modifications, actions and digests are content: they are recorded only with ``capture="full"``. With ``off``
every gate tells a salted digest of its action instead.
"""

from __future__ import annotations

from opentelemetry.trace import Span

from spanseal.control.action import Action, action_digest
from spanseal.control.plane import ControlPlane, PlaneDecision
from spanseal.control.policy import ControlDecision
from spanseal.genai import semconv
from spanseal.genai.plain_json import plain
from spanseal.genai.state import AgentState
from spanseal.telemetry.active import active
from spanseal.telemetry.content.attributes import set_content
from spanseal.telemetry.guard import guarded
from spanseal.telemetry.spans.failure import fail
from spanseal.telemetry.spans.inner import add_event, open_span, tell


def pass_gate(plane: ControlPlane, state: AgentState, action: Action) -> PlaneDecision:
    """The plane's decision on ``action``, recorded."""
    with open_span(semconv.SPAN_CONTROL.format(seam=action.seam)) as span:
        decision = plane.decide(action.seam, state, action)
        _record(span, decision)
        return decision


@guarded
def _record(span: Span, decision: PlaneDecision) -> None:
    clear = {semconv.CONTROL_SEAM: decision.seam, semconv.CONTROL_DECISION: decision.decision.value}
    tell(span, clear | ({semconv.CONTROL_POLICY: decision.policy} if decision.policy else {}))
    if decision.decision is ControlDecision.HALT:
        fail(span, semconv.ERROR_HALTED, f"{decision.policy}: {decision.reason}")
    if decision.reason:
        set_content(span, semconv.CONTROL_REASON, decision.reason)
    if decision.modifications:
        set_content(span, semconv.CONTROL_MODIFICATIONS, plain(decision.modifications))
    if decision.decision is not ControlDecision.ALLOW or active().capture == "off":
        set_content(span, semconv.CONTROL_ACTION_DIGEST, action_digest(decision.action))
    if decision.decision is ControlDecision.ESCALATE:
        set_content(span, semconv.CONTROL_ACTION, decision.action.to_json())
    for number, results in enumerate(decision.rounds, 1):
        for result in results:
            clear = {
                semconv.POLICY_NAME: result.policy_name,
                semconv.POLICY_DECISION: result.decision.value,
                semconv.POLICY_ROUND: number,
            }
            add_event(span, semconv.EVENT_POLICY_RESULT, clear, {semconv.POLICY_REASON: result.reason})
