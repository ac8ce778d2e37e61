"""The text of a head (C2SP tlog-checkpoint v1.0.0). Pure; imports errors."""

from __future__ import annotations

from dataclasses import dataclass

from spanseal.audit.tlog.encoding import MAX_SIZE, from_base64, from_decimal, to_base64
from spanseal.audit.tlog.hashes import EMPTY_ROOT, HASH_SIZE
from spanseal.errors import FormatError


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What a log's head says: whose log, how many leaves, which root. Signing it is :mod:`.note`'s work.

    >>> print(Checkpoint("example.com/log", 0, EMPTY_ROOT).text.decode(), end="")
    example.com/log
    0
    47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=
    """

    origin: str
    size: int
    root: bytes

    def __post_init__(self) -> None:
        if not self.origin or any(char < " " for char in self.origin):
            raise FormatError("a head's origin is empty or has control characters")
        if not 0 <= self.size <= MAX_SIZE or len(self.root) != HASH_SIZE:
            raise FormatError("a head's size or root is out of range")
        if self.size == 0 and self.root != EMPTY_ROOT:
            raise FormatError("a head of size 0 has another root than the empty tree")

    @property
    def text(self) -> bytes:
        """The note text: three lines."""
        return f"{self.origin}\n{self.size}\n{to_base64(self.root)}\n".encode()

    @classmethod
    def parse(cls, text: bytes) -> Checkpoint:
        """Read the three lines. Raises :class:`FormatError` on anything else.

        Extension lines are refused too: the specification advises against them, and ML-DSA-44 does not cover them.
        """
        try:
            lines = text.decode().split("\n")
        except UnicodeDecodeError:
            raise FormatError("a head is not UTF-8") from None
        if len(lines) != 4 or lines[3]:
            raise FormatError("a head is three lines (origin, size, root), each ended by LF")
        return cls(lines[0], from_decimal(lines[1], "a head's size"), from_base64(lines[2], "a head's root"))
