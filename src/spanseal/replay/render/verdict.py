"""The verdict on the store that was read, in two lines. May import ``audit.findings``, rich's text, the siblings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from rich.text import Text

from spanseal.audit.findings import CODES
from spanseal.replay.render.block import wrapped
from spanseal.replay.render.text import Marks, safe

if TYPE_CHECKING:
    from spanseal.audit.verify import Verdict

_MOST: Final = 5
_NO_WITNESS: Final = "no-witness"


def verdict_lines(verdict: Verdict, width: int, marks: Marks, *, witnessed: bool = False) -> Iterator[Text]:
    """What a reader must know before believing the runs below; without a ``witnessed`` head what that means."""
    signs = {"ok": (marks.good, "green"), "bad": (marks.bad, "bold red")}
    sign, style = signs.get(verdict.verdict, (marks.warn, "yellow"))
    line = Text(f"{sign} store {verdict.verdict}", style)
    yield line.append(f" {marks.dot} {verdict.size} leaves {marks.dot} {safe(verdict.origin, marks)}", "dim")
    for finding in verdict.findings[:_MOST]:
        text = ": ".join(filter(None, (finding.code, finding.where, finding.meaning)))
        yield from wrapped(Text(f"  {marks.warn} ", style).append(safe(text, marks), "default"), width, "    ")
    if not witnessed and all(finding.code != _NO_WITNESS for finding in verdict.findings):
        line = Text(f"  {marks.warn} ", "yellow").append(f"{_NO_WITNESS}: {CODES[_NO_WITNESS].meaning}", "default")
        yield from wrapped(line, width, "    ")
    if len(verdict.findings) > _MOST:
        yield Text(f"  {len(verdict.findings) - _MOST} more findings: spanseal verify names them all", style)
