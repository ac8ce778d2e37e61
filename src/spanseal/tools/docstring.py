"""Reads what a docstring says about a function and its parameters. Pure.

Understood are Google's ``Args:`` section and reST's ``:param name:`` fields.

>>> described('''Add numbers.
...
... Args:
...     a: the first
...     b (int): the second,
...         on two lines
... ''')
('Add numbers.', {'a': 'the first', 'b': 'the second, on two lines'})
"""

from __future__ import annotations

import inspect
import re

_SECTION = re.compile(r"(Args|Arguments|Parameters):\s*$")
_OTHER_SECTION = re.compile(r"(Returns?|Yields?|Raises|Examples?|Notes?):")
_GOOGLE = re.compile(r"(\s+)\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)$")
_REST = re.compile(r"\s*:param\s+(?:[^:]*\s)?(\w+):\s*(.*)$")
_REST_OTHER = re.compile(r"\s*:(returns?|rtype|raises|type)\b[^:]*:")


def described(docstring: str | None) -> tuple[str, dict[str, str]]:
    """The description (everything before parameters, results and errors) and one text per parameter."""
    text: list[str] = []
    parameters: dict[str, str] = {}
    place, level, current = "text", 0, ""
    for line in inspect.cleandoc(docstring or "").splitlines():
        rest, google = _REST.match(line), _GOOGLE.match(line)
        if _SECTION.match(line):
            place, level, current = "args", 0, ""
        elif rest:
            place, current = "rest", rest[1]
            parameters[current] = rest[2].strip()
        elif _OTHER_SECTION.match(line) or _REST_OTHER.match(line):
            place, current = "other", ""
        elif place == "args" and google and (not level or len(google[1]) <= level):
            level, current = len(google[1]), google[2]
            parameters[current] = google[3].strip()
        elif current and line.strip():
            parameters[current] = f"{parameters[current]} {line.strip()}".strip()
        elif place == "text":
            text.append(line)
    return "\n".join(text).strip(), parameters
