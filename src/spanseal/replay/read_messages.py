"""Messages in an attribute, in whatever state they are. May import ``genai`` and the siblings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from spanseal.genai import semconv
from spanseal.genai.messages import Message, Part, ToolResult
from spanseal.genai.semconv_messages import messages_from_semconv
from spanseal.records.large_values import Mark
from spanseal.replay.attributes import Attributes


def messages_of(of: Attributes, key: str) -> tuple[Message, ...]:
    """The messages in the attribute; none, with a note, where it holds something else."""
    value = of.json(key)
    if value is None:
        return ()
    if not isinstance(value, list):
        mark = _mark(value)
        if mark is None or not mark.missing:  # what could not be put back was noted when it was looked for
            of.odd("content", f"{key}: {'not a list of messages' if mark is None else mark.words}")
        return ()
    items = list(value)
    if key == semconv.SYSTEM_INSTRUCTIONS:
        items = [{"role": "system", "parts": items}] if items else []
    try:
        found = messages_from_semconv(items)
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        of.odd("content", f"{key}: not messages ({type(error).__name__}: {error})")
        return ()
    if len(found) != len(items):
        of.odd("content", f"{key}: {len(items) - len(found)} items are no messages")
    return found


def with_tool_names(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """The messages with each tool result named after the call that it answers, where the format sent no name.

    >>> from spanseal.genai.messages import ToolCall
    >>> asked = Message("assistant", (ToolCall("c1", "add", "{}"),))
    >>> with_tool_names((asked, Message("tool", (ToolResult("c1", "3"),))))[1].parts[0].name
    'add'
    """
    names = {call.id: call.name for message in messages for call in message.tool_calls}
    return tuple(
        replace(message, content=tuple(_named(part, names) for part in message.content))
        if not isinstance(message.content, str) and any(isinstance(part, ToolResult) for part in message.content)
        else message
        for message in messages
    )


def _named(part: Part, names: Mapping[str, str]) -> Part:
    return replace(part, name=names.get(part.id, "")) if isinstance(part, ToolResult) and not part.name else part


def _mark(value: object) -> Mark | None:
    return Mark.of(cast("Mapping[str, Any]", value).get(semconv.OMITTED)) if isinstance(value, Mapping) else None
