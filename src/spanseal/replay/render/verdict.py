"""The verdict on a store: in two lines above what was read from it, or in full. Values in, lines out.

May import ``audit.findings``, rich's text and the siblings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
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
    sign, style = _signs(marks)[verdict.verdict]
    line = Text(f"{sign} store {verdict.verdict}", style)
    yield line.append(f" {marks.dot} {verdict.size} leaves {marks.dot} {safe(verdict.origin, marks)}", "dim")
    for finding in verdict.findings[:_MOST]:
        text = ": ".join(filter(None, (finding.code, finding.where, finding.meaning)))
        yield from wrapped(Text(f"  {marks.warn} ", style).append(safe(text, marks), "default"), width, "    ")
    if _unwitnessed(verdict, witnessed=witnessed):
        line = Text(f"  {marks.warn} ", "yellow").append(f"{_NO_WITNESS}: {CODES[_NO_WITNESS].meaning}", "default")
        yield from wrapped(line, width, "    ")
    if len(verdict.findings) > _MOST:
        yield Text(f"  {len(verdict.findings) - _MOST} more findings: spanseal verify names them all", style)


def whole_verdict(verdict: Verdict, trust: Path | None, marks: Marks, *, witnessed: bool) -> Iterator[Text]:
    """Every finding, what was and was not looked at, and by which trust file it was judged (None: none)."""
    yield from _judged(verdict, f"{safe(verdict.origin, marks) or 'no log'} {marks.dot} {verdict.size} leaves", marks)
    if verdict.rebuildable:
        caches = ", ".join(safe(path, marks) for path in verdict.rebuildable)
        yield Text(f"  caches       {caches} (nothing rests on them)")
    by = "none: give the trust file of the log with --trust" if trust is None else safe(str(trust), marks)
    yield Text(f"  trust        {by}")
    if _unwitnessed(verdict, witnessed=witnessed):
        yield Text(f"  {marks.warn} {CODES[_NO_WITNESS].meaning}")


def files_verdict(verdict: Verdict, marks: Marks) -> Iterator[Text]:
    """The verdict on plain export files, in full."""
    yield from _judged(verdict, f"export files, not sealed {marks.dot} {verdict.size} spans", marks)


def _judged(verdict: Verdict, what: str, marks: Marks) -> Iterator[Text]:
    signs = _signs(marks)
    sign, style = signs[verdict.verdict]
    yield Text(f"{sign} {verdict.verdict}", style).append(f" {marks.dot} {what}", "dim")
    for found in verdict.findings:
        sign, style = signs[found.weight] if found.weight != "info" else (marks.warn, "dim")
        place = f": {safe(found.where, marks)}" if found.where else ""
        yield Text(f"  {sign} {found.code}", style).append(f"{place}: {safe(found.meaning, marks)}", "default")
    yield Text(f"  covered      {_counts(verdict.covered)}")
    yield Text(f"  not checked  {_counts(verdict.unchecked)}")


def _signs(marks: Marks) -> Mapping[str, tuple[str, str]]:
    return {"ok": (marks.good, "green"), "bad": (marks.bad, "bold red"), "unknown": (marks.warn, "yellow")}


def _unwitnessed(verdict: Verdict, *, witnessed: bool) -> bool:
    """Whether it must still be said that nobody else saw the head: with a trust file it is a finding already."""
    return not witnessed and all(finding.code != _NO_WITNESS for finding in verdict.findings)


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items() if count) or "nothing"
