"""Times, durations, tokens and JSON in the words of a picture. May import ``replay.run`` and ``genai`` values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, cast

import orjson

from spanseal.genai.messages import Media, Message, Other, Part, Reasoning, Text, ToolCall, Usage
from spanseal.replay.run import Call


def instant(ns: int) -> str:
    """A time in UTC to the millisecond; ``?`` for none.

    >>> instant(1_796_041_990_246_628_629)
    '2026-11-30 12:33:10.246Z'
    """
    moment = _moment(ns)
    return f"{moment:%Y-%m-%d %H:%M:%S}.{ns // 1_000_000 % 1000:03d}Z" if moment else "?"


def iso(ns: int) -> str:
    """A time as ISO 8601 with nanoseconds, UTC; empty for none.

    >>> iso(1_796_041_990_246_628_629)
    '2026-11-30T12:33:10.246628629Z'
    """
    moment = _moment(ns)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{ns % 1_000_000_000:09d}Z" if moment else ""


def duration(ms: float | None) -> str:
    """A duration in three figures; ``?`` where it is not known.

    >>> duration(0.0412), duration(12.34), duration(1234.5), duration(3_725_000)
    ('0.04 ms', '12.3 ms', '1.23 s', '1 h 02 min')
    """
    if ms is None:
        return "?"
    if ms < 1000:
        return f"{ms:.2f} ms" if ms < 10 else f"{ms:.1f} ms" if ms < 100 else f"{ms:.0f} ms"
    seconds = ms / 1000
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60:02d} min" if seconds >= 3600 else f"{seconds / 60:.1f} min"


def tokens(usage: Usage, arrow: str) -> str:
    """Tokens in and out; empty where the provider told neither."""
    if usage.input_tokens is None and usage.output_tokens is None:
        return ""
    read, written = (("?" if count is None else str(count)) for count in (usage.input_tokens, usage.output_tokens))
    return f"{read}{arrow}{written} tokens"


def total(calls: tuple[Call, ...]) -> Usage:
    """The sum over calls; None where no call told."""
    read = [call.usage.input_tokens for call in calls if call.usage.input_tokens is not None]
    written = [call.usage.output_tokens for call in calls if call.usage.output_tokens is not None]
    return Usage(sum(read) if read else None, sum(written) if written else None)


def as_json(value: object) -> str:
    """A value as compact JSON text, whatever it is; a text as it is."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value, default=_any).decode()
    except (TypeError, ValueError, RecursionError):
        return "(not to be shown as JSON)"


def part_text(part: Part) -> str:
    """A message's part in words."""
    if isinstance(part, Text):
        return part.content
    if isinstance(part, ToolCall):
        return f"{part.name}({part.arguments})"
    if isinstance(part, Reasoning):
        return f"(thinking) {part.content}"
    if isinstance(part, Media):
        size = f", {len(part.data)} characters of base64" if part.data else ""
        return f"[{part.modality or 'media'} {part.mime_type} {part.uri or part.file_id}{size}]"
    if isinstance(part, Other):
        return as_json(part.value)
    return part.content


def message_text(message: Message) -> str:
    """A whole message in words, one part after the other."""
    return "\n".join(part_text(part) for part in message.parts)


def embedded(call: Call) -> tuple[object, ...]:
    """The inputs of a call for embeddings: texts, or lists of tokens; none where they are not recorded.

    >>> from spanseal.genai.messages import ChatRequest
    >>> embedded(Call(span_id="", request=ChatRequest("m", (), extra={"input": ["a", "b"]})))
    ('a', 'b')
    """
    extra: Mapping[str, object] = {} if call.request is None else call.request.extra
    given = extra.get("input", extra.get("prompt"))
    if not isinstance(given, list):
        return () if given is None else (given,)
    items = cast("list[object]", given)
    return (items,) if items and all(isinstance(item, int) for item in items) else tuple(items)


def count(number: int, what: str) -> str:
    """``1 call``, ``2 calls``."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _moment(ns: int) -> datetime | None:
    try:
        return datetime.fromtimestamp(ns // 1_000_000_000, UTC) if ns else None
    except (ValueError, OverflowError, OSError):
        return None


def _any(value: Any) -> Any:
    return dict(cast("Mapping[str, Any]", value)) if isinstance(value, Mapping) else str(value)
