"""Event streams and JSON lines as servers send them, cut into their texts. Pure.

Source: WHATWG HTML, server-sent events; only ``data`` fields are kept, as every client of these APIs does.

>>> decode_events(b"data: {}\\n\\ndata: [DONE]\\n\\n")
(['{}', '[DONE]'], '')
>>> decode_lines(b'{"a":1}\\n{"b"')
(['{"a":1}'], '{"b"')
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

EVENT_ENDS: Final = (b"\n\n", b"\n\r\n")
"""Behind these an event has ended; behind others it may have, too."""
LINE_ENDS: Final = (b"\n",)
_BREAK = re.compile(r"\r\n|\n|\r")


def decode_events(data: bytes) -> tuple[list[str], str]:
    """The data of every finished event, in order, and the unfinished rest (of a stream that was cut).

    Bytes that are not UTF-8 become U+FFFD.
    """
    lines = _BREAK.split(data.decode("utf-8", "replace").removeprefix("\ufeff"))
    rest = lines.pop()
    events: list[str] = []
    fields: list[str] = []
    for line in lines:
        if line.startswith("data:"):
            fields.append(line[6:] if line[5:6] == " " else line[5:])
        elif line == "data":
            fields.append("")
        elif not line and fields:
            events.append("\n".join(fields))
            fields = []
    if fields:
        rest = "\n".join(["data: " + field for field in fields] + ([rest] if rest else []))
    return events, rest


def is_end(text: str) -> bool:
    """Whether this event is the end mark of OpenAI's streams, as their clients see it: what follows is no answer.

    >>> is_end("[DONE]"), is_end("[DONE] "), is_end("{}")
    (True, True, False)
    """
    return text.startswith("[DONE]")


def before_end(texts: Sequence[str]) -> Sequence[str]:
    """The texts before the end mark; all of them where there is none.

    >>> before_end(["{}", "[DONE]", "late"])
    ['{}']
    """
    return next((texts[:number] for number, text in enumerate(texts) if is_end(text)), texts)


def decode_lines(data: bytes) -> tuple[list[str], str]:
    """Every line that is not empty, and the rest after the last line break if it is not yet a whole JSON text."""
    lines = data.decode("utf-8", "replace").split("\n")
    rest = lines.pop()
    return [line.rstrip("\r") for line in lines if line.strip()], rest
