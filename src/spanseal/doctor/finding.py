"""One thing that the doctor found, and the fix. Pure; imports nothing of spanseal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Final, Literal, TypeAlias

Weight: TypeAlias = Literal["bad", "warn", "info"]
_ORDER: Final = ("bad", "warn", "info")


@dataclass(frozen=True, slots=True)
class Finding:
    """``bad``: evidence will be lost or changed; ``warn``: it can be, under load or in a crash; ``info``: good to know.

    ``code`` is stable, ``where`` a place (file and line, variable, folder), ``meaning`` what
    happens, ``fix`` the remedy.
    """

    weight: Weight
    code: str
    where: str
    meaning: str
    fix: str = ""

    def to_json(self) -> dict[str, str]:
        """For ``--json``."""
        return asdict(self)


def by_weight(findings: Iterable[Finding]) -> list[Finding]:
    """The worst first, otherwise as they were found.

    >>> [found.code for found in by_weight([Finding("info", "a", "", ""), Finding("bad", "b", "", "")])]
    ['b', 'a']
    """
    return sorted(findings, key=lambda found: _ORDER.index(found.weight))
