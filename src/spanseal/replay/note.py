"""What a reader could not take as it came: one value, printed and exported alike. Imports nothing of ours."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Note:
    """Something a reader should know before believing the picture: ``kind`` is a word to filter by.

    >>> str(Note("torn", "spans.jsonl, bytes 10-20", "the last line is cut"))
    'spans.jsonl, bytes 10-20: the last line is cut'
    """

    kind: str
    where: str
    meaning: str

    def __str__(self) -> str:
        return f"{self.where}: {self.meaning}"
