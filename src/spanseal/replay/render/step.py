"""One step from the model's side: what it saw, was offered and answered, and what was decided and done about it.

May import ``replay.run``, rich's text and the siblings. Content is shown in full behind a bar, so that no content can
pass for a line of the picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from rich.text import Text

from spanseal.genai.semconv import OP_EMBEDDINGS
from spanseal.replay.render.block import block, wrapped
from spanseal.replay.render.labels import label, quiet_policies
from spanseal.replay.render.text import FANCY, Marks, safe
from spanseal.replay.render.tree import shortened
from spanseal.replay.render.words import as_json, count, embedded, message_text
from spanseal.replay.run import Call, Decision, Part, Step, ToolUse

_REPLAY: Final = {"exact": "exact", "semantic": "the request is not exact", "no": "the request is not whole"}


def step_view(step: Step, width: int = 100, marks: Marks = FANCY) -> Iterator[Text]:
    """The lines of the picture; content is broken into lines, never cut."""
    yield shortened(label(step, marks).line, width, marks)
    parts: Sequence[Part] = (*step.decisions, *step.calls, *step.verifications, *step.tools)
    for part in sorted(parts, key=lambda part: part.started):
        yield Text("")
        made = label(part, marks)
        yield from wrapped(made.line, width)
        if isinstance(part, Call):
            yield from _call(part, width, marks)
        elif isinstance(part, ToolUse):
            for text in made.whole:
                yield from wrapped(Text("  ").append(text), width, "    ")
            yield from block("given", as_json(part.arguments) if part.arguments is not None else "", width, marks)
            yield from block("gave", as_json(part.result) if part.result is not None else "", width, marks)
        else:
            quiet = quiet_policies(part, marks) if isinstance(part, Decision) else []
            for text in (*made.whole, *made.below, *quiet):
                yield from wrapped(Text("  ").append(text), width, "    ")


def _call(call: Call, width: int, marks: Marks) -> Iterator[Text]:
    for line in _about(call, marks):
        yield from wrapped(line, width, "    ")
    for number, message in enumerate(call.messages, 1):
        yield from block(f"{number} {message.role}", message_text(message), width, marks)
    for number, text in enumerate(embedded(call) if call.operation == OP_EMBEDDINGS else (), 1):
        yield from block(f"input {number}", as_json(text), width, marks)
    if call.tools:
        offered = ", ".join(safe(name, marks) for name in call.tools)
        yield from wrapped(Text("  tools offered: ", "dim").append(offered, "default"), width, "    ")
    if call.response is not None and call.operation == OP_EMBEDDINGS:
        size = "" if call.dimensions is None else f", {count(call.dimensions, 'dimension')} each"
        yield Text(f"  vectors are recorded{size}", "dim")
    elif call.response is not None:
        yield from block("answer", message_text(call.response.message), width, marks, "bold")


def _about(call: Call, marks: Marks) -> Iterator[Text]:
    """What is wrong with the call or its record."""
    if call.error:
        yield Text(f"  {marks.bad} ", "bold red").append(safe(call.error, marks), "red")
    if not call.messages and not embedded(call):
        why = f"content {call.content}" if call.content != "open" else call.replay_reason or "not captured"
        yield Text(f"  messages: not here ({safe(why, marks)})", "yellow")
    elif call.replay_reason:
        yield Text(f"  {_REPLAY[call.replayable]}: {safe(call.replay_reason, marks)}", "dim")
    if call.response is None:
        yield Text("  no answer recorded", "yellow")
