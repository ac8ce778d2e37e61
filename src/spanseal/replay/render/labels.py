"""What one part of a run looks like: a line, and lines below it. May import ``replay.run``, rich's text, siblings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from rich.text import Text

from spanseal.genai.semconv import OP_EMBEDDINGS
from spanseal.replay.render.text import Marks, safe
from spanseal.replay.render.words import as_json, count, duration, embedded, tokens
from spanseal.replay.run import Call, Check, Decision, Other, Part, PolicyResult, Step, ToolUse, Verification
from spanseal.replay.sources.base import Content

_DECISION_STYLE: Final = {"allow": "dim", "modify": "yellow", "escalate": "bold magenta", "halt": "bold red"}
_SHOWN: Final = 3
_REPLAY_WORDS: Final = {"exact": "exact", "semantic": "semantic", "no": "not replayable"}
_REPLAY_STYLE: Final = {"exact": "green", "semantic": "yellow", "no": "dim"}


@dataclass(slots=True)
class Label:
    """A line with what hangs below it: reasons and errors in full, then content that may be cut."""

    line: Text
    whole: list[Text] = field(default_factory=list[Text])
    below: list[Text] = field(default_factory=list[Text])


def label(part: Part, marks: Marks, usual: Content = "open") -> Label:
    """The label of any part; its content is made safe here. Content in another state than ``usual`` is said."""
    made = _MAKERS.get(type(part), _other)(part, marks)
    if part.error and not _says_why(part):
        made.line.append(f" {marks.dot} error", "bold red")
        made.whole.append(Text(f"{marks.bad} ", "bold red").append(safe(part.error, marks), "red"))
    if part.content != usual and not isinstance(part, Step) and not (isinstance(part, Other) and part.missing):
        made.line.append(f" {marks.dot} content {part.content}", "yellow")
    return made


def _says_why(part: Part) -> bool:
    """Whether the label itself tells what the span's error says: a policy's reason, the failed checks."""
    return (isinstance(part, Decision) and bool(part.policy)) or (isinstance(part, Verification) and bool(part.checks))


def _step(part: Part, marks: Marks) -> Label:
    assert isinstance(part, Step)
    return Label(_took(Text(f"step {part.number}", "bold"), part, marks))


def _call(part: Part, marks: Marks) -> Label:
    assert isinstance(part, Call)
    line = Text(f"{safe(part.operation, marks)} {safe(part.model, marks) or '?'}", "cyan")
    if part.attempt != 1:
        line.append(f" {marks.dot} attempt {part.attempt}", "yellow")
    _took(line, part, marks)
    for word in (tokens(part.usage, marks.arrow), ", ".join(safe(reason, marks) for reason in part.finish_reasons)):
        if word:
            line.append(f" {marks.dot} {word}", "dim")
    given = embedded(part) if part.operation == OP_EMBEDDINGS else ()
    if given:
        line.append(f" {marks.dot} {count(len(given), 'input')}", "dim")
    if part.dimensions is not None:
        line.append(f" {marks.dot} {count(part.dimensions, 'dimension')}", "dim")
    if part.http_attempts > 1:
        line.append(f" {marks.dot} {count(part.http_attempts, 'HTTP attempt')}", "yellow")
    if part.stream_end not in ("", "end", "complete", "completed"):
        line.append(f" {marks.dot} stream {safe(part.stream_end, marks)}", "yellow")
    line.append(f" {marks.dot} ", "dim").append(_REPLAY_WORDS[part.replayable], _REPLAY_STYLE[part.replayable])
    below = [Text("embeds ", "dim").append(safe(as_json(text), marks), "default") for text in given[:_SHOWN]]
    if len(given) > _SHOWN:
        below.append(Text(f"and {len(given) - _SHOWN} more", "dim"))
    if part.response is not None:
        for kind, text in (("thinks ", part.response.reasoning), ("says ", part.response.text)):
            if text.strip():
                below.append(Text(kind, "dim").append(safe(text.strip(), marks), "default"))
        for call in part.response.tool_calls:
            wanted = f"{safe(call.name, marks)}({safe(call.arguments, marks)})"
            below.append(Text("wants ", "dim").append(wanted, "default"))
    return Label(line, below=below)


def _tool(part: Part, marks: Marks) -> Label:
    assert isinstance(part, ToolUse)
    line = _took(Text("tool ", "dim").append(safe(part.tool, marks) or "?", "blue"), part, marks)
    if part.attempts > 1:
        line.append(f" {marks.dot} {part.attempts} attempts", "yellow")
    if part.fault:
        line.append(f" {marks.dot} fault: {safe(part.fault, marks)}", "red")
    below: list[Text] = []
    for kind, value in (("given ", part.arguments), ("gave ", part.result)):
        if value is not None:
            below.append(Text(kind, "dim").append(safe(as_json(value), marks), "default"))
    return Label(line, below=below)


def _verification(part: Part, marks: Marks) -> Label:
    assert isinstance(part, Verification)
    line = Text("verification ", "dim").append(safe(part.pipeline, marks) or safe(part.name, marks))
    if part.passed is not None:
        line.append(f" {marks.good} passed" if part.passed else f" {marks.bad} failed", _verdict_style(part.passed))
    return Label(_took(line, part, marks), [_check(check, marks) for check in part.checks])


def _check(check: Check, marks: Marks) -> Text:
    warns = check.passed is False and check.severity in ("warning", "info")
    sign = marks.dot if check.passed is None else marks.warn if warns else marks.good if check.passed else marks.bad
    line = Text(f"{sign} ", "yellow" if warns else _verdict_style(check.passed)).append(safe(check.name, marks))
    if check.passed is None and check.label:
        line.append(f" {safe(check.label, marks)}")
    if check.score is not None:
        line.append(f" {check.score:g}", "dim")
    if check.explanation:
        line.append(f": {safe(check.explanation, marks)}", "dim" if check.passed else "default")
    return line


def _verdict_style(passed: bool | None) -> str:
    return "dim" if passed is None else "green" if passed else "bold red"


def _decision(part: Part, marks: Marks) -> Label:
    assert isinstance(part, Decision)
    style = _DECISION_STYLE.get(part.decision, "yellow")
    line = Text(f"control {safe(part.seam, marks)}: ", "dim").append(safe(part.decision, marks) or "?", style)
    if part.decision == "allow":
        return Label(line)
    if part.policy:
        line.append(f" by {safe(part.policy, marks)}")
    whole = [Text(safe(part.reason, marks))] if part.reason else []
    below: list[Text] = []
    if part.modifications:
        below.append(Text("changed ", "dim").append(safe(as_json(part.modifications), marks), "default"))
    return Label(line, whole + [_policy(told, marks) for told in part.policies if _adds(told, part)], below)


def quiet_policies(part: Decision, marks: Marks) -> list[Text]:
    """What the other policies said, those that allowed and the winner: the label leaves them out."""
    return [_policy(told, marks) for told in part.policies if not _adds(told, part)]


def _adds(told: PolicyResult, part: Decision) -> bool:
    return told.decision != "allow" and told.policy != part.policy


def _policy(told: PolicyResult, marks: Marks) -> Text:
    again = f" (round {told.round})" if told.round > 1 else ""
    said = f"{safe(told.policy, marks)}{again}: {safe(told.decision, marks)}"
    return Text(f"{said} {safe(told.reason, marks)}".rstrip(), "dim")


def _other(part: Part, marks: Marks) -> Label:
    if isinstance(part, Other) and part.missing:
        return Label(Text(f"({part.name or 'a span'}, {part.span_id}, is not here)", "yellow"))
    return Label(_took(Text(safe(part.name, marks) or f"span {part.span_id}"), part, marks))


def _took(line: Text, part: Part, marks: Marks) -> Text:
    took = duration(part.duration_ms) if part.ended is not None else "not ended"
    return line.append(f" {marks.dot} {took}", "dim" if part.ended is not None else "yellow")


_MAKERS: Final[dict[type[Part], Callable[[Part, Marks], Label]]] = {
    Step: _step,
    Call: _call,
    ToolUse: _tool,
    Verification: _verification,
    Decision: _decision,
}
