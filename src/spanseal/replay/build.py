"""From the spans of one run to a :class:`Run`. May import ``records``, ``genai`` names and the siblings."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, TypeVar

from spanseal.genai import semconv
from spanseal.replay.attributes import Attributes, plain
from spanseal.replay.forest import Forest, walk
from spanseal.replay.gather import Group, is_root
from spanseal.replay.grade import judge
from spanseal.replay.note import Note
from spanseal.replay.read_messages import messages_of
from spanseal.replay.read_part import error_of
from spanseal.replay.restore import restore
from spanseal.replay.run import Call, Decision, Part, Run, Step, ToolUse, Verification
from spanseal.replay.sources.base import Content, SourceSpan
from spanseal.replay.values import with_values

P = TypeVar("P", bound=Part)
_CONTENT: Final[tuple[Content, ...]] = ("open", "withheld", "erased", "missing")


def build_run(group: Group) -> Run:
    """The run that these spans tell; never raises, whatever they hold."""
    notes = list(group.notes)
    spans = restore(with_values(sorted(group.spans, key=_order), notes))
    tree = Forest(spans, notes).tree()
    parts = sorted(walk(tree), key=lambda part: part.started)
    roots = _roots(spans)
    judged = judge(group, len(roots))
    run = _headed(group, roots, spans, notes)
    return replace(
        run,
        grade=judged.grade,
        children=judged.children,
        steps=_steps(parts),
        calls=_only(parts, Call),
        tools=_only(parts, ToolUse),
        verifications=_only(parts, Verification),
        decisions=_only(parts, Decision),
        span_count=len(group.spans),
        last_seen=max(max(span.record.start, span.record.end) for span in spans),
        content=max((span.content for span in spans), key=_CONTENT.index),
        resource={key: plain(value) for key, value in (roots or spans)[0].record.resource.items()},
        tree=tree,
        notes=tuple(dict.fromkeys(notes + judged.notes)),
    )


def _order(span: SourceSpan) -> tuple[int, int, str]:
    """By start; spans of one instant by the number they got."""
    seq = span.record.attributes.get(semconv.SEQ)
    return span.record.start, seq if isinstance(seq, int) else 0, span.record.span_id


def _roots(spans: Sequence[SourceSpan]) -> list[SourceSpan]:
    """The ``invoke_agent`` spans that no other span of the run is the parent of; one, in a sound run."""
    inside = {span.record.span_id for span in spans}
    agents = [span for span in spans if is_root(span.record)]
    tops = [span for span in agents if span.record.parent_span_id not in inside]
    distinct = {span.record.span_id: span for span in reversed(tops or agents[:1])}
    return list(reversed(distinct.values()))


def _headed(group: Group, roots: Sequence[SourceSpan], spans: Sequence[SourceSpan], notes: list[Note]) -> Run:
    """The run's own facts from its root, or from what its spans know where the root is not here."""
    first = roots[0] if roots else spans[0]
    of = Attributes.of(first, notes if roots else [])
    started = min((span.record.start for span in spans if span.record.start), default=0)
    if not roots:
        named = (Attributes.of(span, []).text(semconv.AGENT_NAME) for span in spans)
        agent = next(filter(None, named), "")
        return Run(
            run_id=group.run_id, trace_id=first.record.trace_id, agent=agent, started=started,
            parent_run_id=group.parent,
        )
    instructions = messages_of(of, semconv.SYSTEM_INSTRUCTIONS)
    return Run(
        run_id=group.run_id,
        trace_id=first.record.trace_id,
        agent=of.text(semconv.AGENT_NAME),
        outcome=of.text(semconv.RUN_OUTCOME),
        stop_reason=of.text(semconv.RUN_STOP_REASON),
        started=first.record.start or started,
        ended=first.record.end or None,
        error=error_of(first, of),
        instructions=instructions[0].text if instructions else "",
        question=messages_of(of, semconv.INPUT_MESSAGES),
        answer=messages_of(of, semconv.OUTPUT_MESSAGES),
        parent_run_id=of.text(semconv.RUN_PARENT_ID) or group.parent,
    )


def _steps(parts: Sequence[Part]) -> tuple[Step, ...]:
    """The steps by number, each with what belongs to it. Calls of steps that are not here stay in the run only."""
    steps: list[Step] = []
    for step in sorted(_only(parts, Step), key=lambda step: (step.number, step.started)):
        own = [part for part in parts if part.step == step.number]
        steps.append(
            replace(
                step,
                calls=_only(own, Call),
                tools=_only(own, ToolUse),
                verifications=_only(own, Verification),
                decisions=_only(own, Decision),
            )
        )
    return tuple(steps)


def _only(parts: Iterable[Part], kind: type[P]) -> tuple[P, ...]:
    return tuple(part for part in parts if isinstance(part, kind))
