"""Long text over several lines, as wide as the terminal. May import rich's text and the siblings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rich.console import Console
from rich.text import Text

from spanseal.replay.render.text import Marks, fit, safe

_WRAPPING: Final = Console(color_system=None)


def wrapped(line: Text, width: int, indent: str = "  ") -> Iterator[Text]:
    """The line in as many lines as it needs; all but the first are indented.

    >>> [part.plain for part in wrapped(Text("one two three"), 9)]
    ['one two', '  three']
    """
    room = max(width - len(indent), 1)
    for number, part in enumerate(line.wrap(_WRAPPING, room)):
        part.rstrip()
        yield Text(indent).append(part) if number else part


def block(title: str, text: str, width: int, marks: Marks, style: str = "default", most: int = 0) -> Iterator[Text]:
    """A stranger's text in full, or its first ``most`` lines, behind a bar that no text can pass for."""
    yield Text(f"  {fit(safe(title, marks), max(width - 2, 1), marks)}", "dim")
    bar = Text(f"    {marks.pipe.strip()} ", "dim")
    shown = 0
    for line in safe(text, marks, lines=True).split("\n"):
        for part in Text(line, style).wrap(_WRAPPING, max(width - bar.cell_len, 1)) or [Text()]:
            shown += 1
            if most and shown > most:
                yield bar.copy().append(f"{marks.more} (--as json has all of it)", "dim")
                return
            part.rstrip()
            yield bar.copy().append(part)
