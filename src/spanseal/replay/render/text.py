"""Text of strangers made fit for a terminal: no control character gets through, nothing is wider than its place.

May import rich's cell widths only.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len, set_cell_size

_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_JOINERS: Final = "\u200c\u200d"


@dataclass(frozen=True, slots=True)
class Marks:
    """The signs that a picture uses; ``plain`` ones where the output's encoding has ASCII only."""

    good: str = "✓"
    bad: str = "✗"
    warn: str = "!"
    more: str = "…"
    arrow: str = "→"
    dot: str = "·"
    beside: str = "∥"
    tee: str = "├─ "
    last: str = "└─ "
    pipe: str = "│  "
    plain: bool = False


FANCY: Final = Marks()
PLAIN: Final = Marks("ok", "x", "!", "...", "->", "-", "||", "|- ", "`- ", "|  ", plain=True)


def marks_for(encoding: str | None) -> Marks:
    """The signs that an output of this encoding can show.

    >>> marks_for("ascii").good
    'ok'
    """
    try:
        "".join((FANCY.good, FANCY.bad, FANCY.more, FANCY.arrow, FANCY.dot, FANCY.beside, FANCY.tee)).encode(
            encoding or "ascii"
        )
    except (UnicodeEncodeError, LookupError):
        return PLAIN
    return FANCY


def safe(text: str, marks: Marks = FANCY, *, lines: bool = False) -> str:
    r"""``text`` with everything that could steer a terminal or hide text written as an escape.

    Controls, bidirectional overrides, invisible and unassigned characters; line ends too, unless ``lines``.

    >>> safe("a\x1b[2Jb")
    'a\\x1b[2Jb'
    >>> safe("a\nb"), safe("a\nb", lines=True)
    ('a\\nb', 'a\nb')
    """
    if text.isascii() and text.isprintable():
        return text
    if lines:
        text = text.replace("\r\n", "\n")
    return "".join(_shown(char, marks, lines) for char in text)


def _shown(char: str, marks: Marks, lines: bool) -> str:
    if char == "\n" and lines:
        return char
    if char == "\t" and lines:
        return "    "
    if char in _JOINERS and not marks.plain:
        return char
    if unicodedata.category(char) in _HIDDEN or (marks.plain and not char.isascii()):
        return char.encode("unicode_escape", "surrogatepass").decode("ascii")
    return char


def fit(text: str, width: int, marks: Marks = FANCY) -> str:
    """``text``, already safe, in at most ``width`` terminal cells; what is cut is marked.

    >>> fit("abcdef", 4)
    'abc…'
    """
    if cell_len(text) <= width:
        return text
    room = width - cell_len(marks.more)
    return set_cell_size(text, room).rstrip() + marks.more if room > 0 else set_cell_size(text, max(width, 0))
