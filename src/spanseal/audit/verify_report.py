"""Collects findings, not too many of one code, and counts what was covered. Imports ``findings``."""

from __future__ import annotations

from collections import Counter
from typing import Final

from spanseal.audit.findings import CODES, Finding, finding

_SHOWN: Final = 100


class Report:
    """What one verification finds. At most 100 findings of one code are kept; a last one counts the rest."""

    def __init__(self) -> None:
        self._findings: list[Finding] = []
        self._counts: Counter[str] = Counter()
        self.covered: Counter[str] = Counter()
        self.unchecked: Counter[str] = Counter()

    def add(self, code: str, where: str = "", detail: str = "") -> None:
        """Note a finding of a registered code."""
        self._counts[code] += 1
        if self._counts[code] <= _SHOWN:
            self._findings.append(finding(code, where, detail))

    @property
    def bad(self) -> bool:
        """Whether anything bad was found so far."""
        return any(CODES[code].weight == "bad" for code in self._counts)

    def findings(self) -> tuple[Finding, ...]:
        """All findings: bad ones first, then unknown ones, then what is only said."""
        over = {code: count - _SHOWN for code, count in self._counts.items() if count > _SHOWN}
        rest = [finding(code, "", f"{count} more of these") for code, count in over.items()]
        order = {"bad": 0, "unknown": 1, "info": 2}
        return tuple(sorted((*self._findings, *rest), key=lambda found: order[found.weight]))
