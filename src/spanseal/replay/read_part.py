"""One span to the part of a run that it tells: a step, a call, a tool, checks, a decision. Never raises on content.

May import ``records``, ``genai`` and the siblings.
"""

from __future__ import annotations

from typing import Any, Final

from spanseal.genai import semconv
from spanseal.records.otlp import EventRecord
from spanseal.replay.attributes import Attributes
from spanseal.replay.note import Note
from spanseal.replay.read_call import read_call
from spanseal.replay.run import Check, Decision, Other, Part, PolicyResult, Step, ToolUse, Verification
from spanseal.replay.sources.base import SourceSpan
from spanseal.replay.sources.seen import is_open

_GOOD: Final = frozenset({"pass", "passed", "true", "ok"})
_BAD: Final = frozenset({"fail", "failed", "false"})
_CALLS: Final = frozenset({
    semconv.OP_CHAT, semconv.OP_TEXT_COMPLETION, semconv.OP_GENERATE_CONTENT, semconv.OP_EMBEDDINGS,
})


def read_part(span: SourceSpan, step: int | None, notes: list[Note], *, double: bool = False) -> Part:
    """The part that a span tells; ``step`` is the number of the step around it, None outside of steps.

    ``double``: another instrumentation's span of a call that a span of ours tells; it is shown, and no second call.
    """
    attributes = Attributes.of(span, notes)
    told = _common(span, attributes, step)
    operation = attributes.text(semconv.OPERATION_NAME)
    if operation in _CALLS and not double:
        return read_call(span, attributes, told)
    if operation == semconv.OP_EXECUTE_TOOL:
        return _tool(attributes, told)
    if attributes.has(semconv.CONTROL_SEAM) or attributes.has(semconv.CONTROL_DECISION):
        return _decision(span, attributes, told)
    if attributes.has(semconv.VERIFICATION_PIPELINE) or _evaluations(span):
        return _verification(span, attributes, told)
    if span.record.name == semconv.SPAN_STEP and (number := attributes.integer(semconv.STEP_NUMBER)) is not None:
        told["step"] = number
        return Step(**told, number=number, state_digest=attributes.text(semconv.STATE_DIGEST))
    return Other(**told)


def error_of(span: SourceSpan, attributes: Attributes) -> str:
    """What went wrong, in words: the error's type and, where it is readable, the status message."""
    kind, message = attributes.text(semconv.ERROR_TYPE), span.record.status_message
    if span.record.status_code != 2 and not kind:
        return ""
    return ": ".join(word for word in (kind, message) if word) or "error"


def times(span: SourceSpan, notes: list[Note]) -> tuple[int, int | None]:
    """Start and end, with a note where they are missing or contradict each other."""
    record, where = span.record, f"span {span.record.span_id}"
    if not record.start:
        notes.append(Note("time", where, f"{record.name or 'span'}: no start time"))
    if is_open(span.record):
        notes.append(Note("open", where, f"{record.name or 'span'}: never ended (its process died)"))
        return record.start, None
    if not record.end:
        notes.append(Note("time", where, f"{record.name or 'span'}: no end time"))
        return record.start, None
    if record.end < record.start:
        notes.append(Note("time", where, f"{record.name or 'span'}: ends before it starts"))
    return record.start, record.end


def _common(span: SourceSpan, attributes: Attributes, step: int | None) -> dict[str, Any]:
    started, ended = times(span, attributes.notes)
    record = span.record
    if record.dropped:
        meaning = f"{record.name}: the SDK dropped {record.dropped} attributes, events or links (its limits)"
        attributes.notes.append(Note("dropped", f"span {record.span_id}", meaning))
    return {
        "span_id": record.span_id, "parent_id": record.parent_span_id, "name": record.name, "started": started,
        "ended": ended, "error": error_of(span, attributes), "step": step, "content": span.content,
    }


def _tool(attributes: Attributes, told: dict[str, Any]) -> ToolUse:
    return ToolUse(
        **told,
        tool=attributes.text(semconv.TOOL_NAME),
        call_id=attributes.text(semconv.TOOL_CALL_ID),
        arguments=attributes.structure(semconv.TOOL_CALL_ARGUMENTS),
        result=attributes.structure(semconv.TOOL_CALL_RESULT),
        fault=attributes.text(semconv.TOOL_FAULT),
        attempts=attributes.integer(semconv.TOOL_ATTEMPTS) or 1,
    )


def _decision(span: SourceSpan, attributes: Attributes, told: dict[str, Any]) -> Decision:
    policies: list[PolicyResult] = []
    for event in span.record.events:
        if event.name == semconv.EVENT_POLICY_RESULT:
            of = attributes.inner(event.attributes)
            said = of.text(semconv.POLICY_NAME), of.text(semconv.POLICY_DECISION), of.text(semconv.POLICY_REASON)
            policies.append(PolicyResult(*said, of.integer(semconv.POLICY_ROUND) or 1))
    return Decision(
        **told,
        seam=attributes.text(semconv.CONTROL_SEAM),
        decision=attributes.text(semconv.CONTROL_DECISION),
        policy=attributes.text(semconv.CONTROL_POLICY),
        reason=attributes.text(semconv.CONTROL_REASON),
        modifications=attributes.json(semconv.CONTROL_MODIFICATIONS),
        action_sha256=attributes.text(semconv.CONTROL_ACTION_DIGEST),
        policies=tuple(policies),
    )


def _verification(span: SourceSpan, attributes: Attributes, told: dict[str, Any]) -> Verification:
    checks = tuple(_check(event, attributes.inner(event.attributes)) for event in _evaluations(span))
    return Verification(
        **told,
        pipeline=attributes.text(semconv.VERIFICATION_PIPELINE),
        passed=attributes.flag(semconv.VERIFICATION_PASSED),
        checks=checks,
    )


def _evaluations(span: SourceSpan) -> list[EventRecord]:
    return [event for event in span.record.events if event.name == semconv.EVENT_EVALUATION_RESULT]


def _check(event: EventRecord, of: Attributes) -> Check:
    label = of.text(semconv.EVALUATION_SCORE_LABEL)
    return Check(
        name=of.text(semconv.EVALUATION_NAME),
        passed=True if label.lower() in _GOOD else False if label.lower() in _BAD else None,
        label=label,
        score=of.number(semconv.EVALUATION_SCORE_VALUE),
        explanation=of.text(semconv.EVALUATION_EXPLANATION),
        severity=of.text(semconv.CHECK_SEVERITY),
        time=event.time,
    )
