"""A run as a tree for the terminal. May import ``genai``, ``replay.run``, rich's text and the siblings.

The left column is the time since the run's start in seconds; a sign marks what ran beside its elder sibling.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from rich.text import Text

from spanseal.genai.semconv import SPAN_MANIFEST
from spanseal.replay.inner_runs import InnerRun
from spanseal.replay.note import Note
from spanseal.replay.render.block import block, wrapped
from spanseal.replay.render.inner import inner_label
from spanseal.replay.render.labels import label
from spanseal.replay.render.text import FANCY, Marks, safe
from spanseal.replay.render.words import count, duration, instant, message_text, tokens, total
from spanseal.replay.run import Node, Other, Run

_CLOCK: Final = 9
_MOST: Final = 20
_SHORT: Final = 24
_FOLDS: Final = 3
GRADES: Final = {
    "complete": "green",
    "unnumbered": "yellow",
    "truncated": "yellow",
    "gapped": "red",
    "conflicting": "bold red",
}
OUTCOMES: Final = {"completed": "green", "escalated": "magenta"}

_UNREADABLE: Final = {
    "withheld": "the run's content key is not here (--content-keys DIR)",
    "erased": "its key was destroyed on purpose, and the log says so",
    "missing": "neither content nor an erasure is in the store",
}


def tree(run: Run, width: int = 100, marks: Marks = FANCY) -> Iterator[Text]:
    """The lines of the picture, none wider than ``width`` cells."""
    yield from head(run, width, marks)
    for line in _picture(run, width, marks):
        yield shortened(line, width, marks)
    for message in run.answer:
        yield from block("answer", message_text(message), width, marks, "bold", _MOST)
    for line in _replay_reasons(run, marks):
        yield from wrapped(line, width)
    yield from notes(run.notes, width, marks)


def shortened(line: Text, width: int, marks: Marks) -> Text:
    """The line cut to the width, the cut marked."""
    if line.cell_len > width:
        line.truncate(max(width - len(marks.more), 1))
        line.append(marks.more, "dim")
    return line


def notes(found: Sequence[Note], width: int, marks: Marks) -> Iterator[Text]:
    """Notes, whole."""
    for note in found:
        yield from wrapped(Text(f"{marks.warn} ", "yellow").append(safe(str(note), marks), "default"), width)


def _picture(run: Run, width: int, marks: Marks) -> Iterator[Text]:
    for message in run.question:
        yield _said(message.role, message_text(message), marks)
    yield Text("")
    for node in run.tree:
        yield from _node(node, run, "", "", "", width, marks)
    yield Text("")


def head(run: Run, width: int, marks: Marks) -> Iterator[Text]:
    """Who ran, how it ended, how long it took, and how whole the record is."""
    for line in _head(run, marks):
        yield from wrapped(line, width, "    ")


def _head(run: Run, marks: Marks) -> Iterator[Text]:
    line = Text("run ", "dim").append(safe(run.run_id, marks), "bold")
    yield line.append(f" {safe(run.agent, marks)}", "bold cyan")
    outcome = safe(run.outcome, marks) or "no outcome recorded"
    line = Text("  ").append(outcome, OUTCOMES.get(run.outcome, "bold red" if run.outcome else "yellow"))
    if run.stop_reason and len(run.stop_reason) <= _SHORT:
        line.append(f" ({safe(run.stop_reason, marks)})")
    counted = [_took(run), count(len(run.steps), "step"), count(len(run.calls), "call")]
    counted += [count(len(run.tools), "tool use"), tokens(total(run.calls), marks.arrow)]
    line.append("".join(f" {marks.dot} {word}" for word in counted if word), "dim")
    yield line
    if len(run.stop_reason) > _SHORT and run.stop_reason not in run.error:
        yield Text(f"  {safe(run.stop_reason, marks)}")
    line = Text("  record ").append(run.grade, GRADES[run.grade])
    line.append(f" {marks.dot} {count(run.span_count, 'span')} {marks.dot} started {instant(run.started)}", "dim")
    yield line
    yield Text(f"  trace {run.trace_id}", "dim")
    if run.error:
        yield Text(f"  {marks.bad} ", "bold red").append(safe(run.error, marks), "red")
    for words, ids in (("inside run", (run.parent_run_id,)), ("started run", run.children)):
        for run_id in filter(None, ids):
            yield Text(f"  {words} {safe(run_id, marks)}", "dim")
    if run.content != "open":
        yield Text(f"  content {run.content}: {_UNREADABLE[run.content]}", "yellow")


def _replay_reasons(run: Run, marks: Marks) -> Iterator[Text]:
    """Why calls are not exact, each reason once."""
    reasons = Counter((call.replayable, call.replay_reason) for call in run.calls if call.replay_reason)
    for (grade, reason), number in reasons.items():
        can = "can be sent again, but not exactly" if grade == "semantic" else "cannot be sent again"
        yield Text(f"{marks.warn} ", "yellow").append(f"{count(number, 'call')} {can}: {safe(reason, marks)}")


def _took(run: Run) -> str:
    if run.duration_ms is not None or not run.started or run.last_seen < run.started:
        return duration(run.duration_ms)
    return f"at least {duration((run.last_seen - run.started) / 1e6)}"


def _said(who: str, text: str, marks: Marks) -> Text:
    return Text(f"  {safe(who, marks)}: ", "dim").append(safe(text.strip(), marks), "default")


def _node(
    node: Node, run: Run, lead: str, sign: str, beside: str, width: int, marks: Marks
) -> Iterator[Text]:
    part, children = node.part, [child for child in node.children if not _is_manifest(child)]
    made = inner_label(part, marks) if isinstance(part, InnerRun) else label(part, marks, run.content)
    clock = Text(_since(node.part.started, run.started), "dim")
    clock.append(lead + sign, "dim").append(beside, "magenta")
    first, *more = _folded(made.line, max(width - clock.cell_len, 20), marks)
    yield clock.append(first)
    inner = lead + {marks.tee: marks.pipe, marks.last: " " * len(marks.last)}.get(sign, "")
    bar = Text(" " * _CLOCK + inner + (marks.pipe if children else " " * len(marks.pipe)), "dim")
    room = max(width - bar.cell_len, 20)
    for text in (*more, *(part for line in made.whole for part in wrapped(line, room)), *made.below):
        yield bar.copy().append(text)
    latest = 0
    for index, child in enumerate(children):
        overlaps = latest > child.part.started > 0
        latest = max(latest, child.part.ended or 0)
        branch = marks.last if index == len(children) - 1 else marks.tee
        yield from _node(child, run, inner, branch, f"{marks.beside} " if overlaps else "", width, marks)


def _is_manifest(node: Node) -> bool:
    """Of a second process of the run: the grade has weighed it, and it did nothing that the picture is about."""
    return isinstance(node.part, Other) and node.part.name == SPAN_MANIFEST and not node.children


def _folded(line: Text, room: int, marks: Marks) -> list[Text]:
    """A label in few lines, so that a narrow terminal keeps what stands last in it; one far too long is cut."""
    if line.cell_len <= room:
        return [line]
    parts = list(wrapped(line, room))
    return parts if len(parts) <= _FOLDS else [shortened(line, room, marks)]


def _since(started: int, zero: int) -> str:
    """The time since the start, right-aligned; blank where it is not known."""
    return f"{(started - zero) / 1e9:{_CLOCK - 2}.3f}  " if started and zero else " " * _CLOCK
