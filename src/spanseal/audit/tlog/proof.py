"""A proof file that stands by itself (C2SP tlog-proof): one leaf, its way to the root, and the signed head. Pure.

::

    c2sp.org/tlog-proof@v1
    extra <base64>            optional; not authenticated: what the leaf commits to
    index <decimal>
    <base64 hash>             from the leaf's sibling to the root's child
    <empty line>
    <the checkpoint, verbatim>
"""

from __future__ import annotations

from dataclasses import dataclass

from spanseal.audit.tlog.encoding import from_base64, from_decimal, to_base64
from spanseal.audit.tlog.hashes import HASH_SIZE
from spanseal.errors import FormatError

HEADER = "c2sp.org/tlog-proof@v1"
MAX_HASHES = 63
MAX_PROOF = 1 << 22


@dataclass(frozen=True, slots=True)
class TlogProof:
    """The parts of a proof file. Parsing verifies nothing: check ``checkpoint``, then the inclusion.

    >>> proof = TlogProof(3, (bytes(32),), b"the signed note", extra=b"leaf")
    >>> TlogProof.parse(proof.serialise()) == proof
    True
    """

    index: int
    hashes: tuple[bytes, ...]
    checkpoint: bytes
    extra: bytes | None = None

    def serialise(self) -> bytes:
        """The file's bytes."""
        extra = [] if self.extra is None else [f"extra {to_base64(self.extra)}"]
        hashes = [to_base64(part) for part in self.hashes]
        return "\n".join([HEADER, *extra, f"index {self.index}", *hashes, "", ""]).encode() + self.checkpoint

    @classmethod
    def parse(cls, data: bytes) -> TlogProof:
        """Read a proof file in its one form. Raises :class:`FormatError` on anything else."""
        head, split, checkpoint = data.partition(b"\n\n")
        if len(data) > MAX_PROOF or not split or not checkpoint or not head.isascii():
            raise FormatError("not a tlog-proof: no ASCII head, empty line and checkpoint (or over 4 MiB)")
        lines = head.decode().split("\n")
        if lines.pop(0) != HEADER:
            raise FormatError(f"not a tlog-proof: the first line is not {HEADER}")
        extra: bytes | None = None
        if lines and lines[0].startswith("extra "):
            extra = from_base64(lines.pop(0).removeprefix("extra "), "the proof's extra line")
        if not lines or not lines[0].startswith("index "):
            raise FormatError("a tlog-proof has no index line")
        index = from_decimal(lines.pop(0).removeprefix("index "), "the proof's index")
        hashes = tuple(from_base64(line, "a hash of the proof") for line in lines)
        if len(hashes) > MAX_HASHES or any(len(part) != HASH_SIZE for part in hashes):
            raise FormatError(f"a tlog-proof has at most {MAX_HASHES} hashes of {HASH_SIZE} bytes")
        return cls(index, hashes, checkpoint, extra)
