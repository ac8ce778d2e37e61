"""Everything that verifying a store can find: one stable code each, what it means, and what it makes of the verdict.

Codes are part of the interface (``verify --json``): they are added, never renamed. Imports nothing of spanseal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Weight = Literal["bad", "unknown", "info"]
"""``bad``: the store is not what was signed. ``unknown``: it cannot be judged. ``info``: said, weighs nothing."""
Verdict = Literal["ok", "bad", "unknown"]


@dataclass(frozen=True, slots=True)
class Code:
    """A reason code's meaning and weight."""

    weight: Weight
    meaning: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found. ``where``: the file below the store, with leaf or byte numbers, as people read it."""

    code: str
    where: str
    meaning: str
    weight: Weight

    def __str__(self) -> str:
        return f"{self.code}: {self.where}: {self.meaning}" if self.where else f"{self.code}: {self.meaning}"


_BAD = {
    # the head and who signed it
    "head-missing": "the store has sealed data but no checkpoint",
    "head-malformed": "the checkpoint is not a signed note in its canonical form",
    "origin-mismatch": "the store is of another log than the trust file, or its own first leaf, names",
    "signature-missing": "the checkpoint lacks the signature of the log that the trust file requires",
    "signature-invalid": "a signature by a key of the trust file does not fit the checkpoint",
    "signer-unknown": "the checkpoint is signed in the log's name by a key that the trust file does not have",
    "quorum-not-met": "too few of the witnesses that the trust file demands have signed the checkpoint",
    # heads over time
    "rollback": "the checkpoint is older than a head that was seen before, or gone: sealed data were taken away",
    "fork": "two different heads of one size: the log showed different histories",
    "inconsistent": "the log does not continue the head that was seen before: sealed data were replaced",
    "stale-head": "the checkpoint is older than the trust allows",
    "size-shrunk": "there are fewer leaves in the store than the checkpoint has signed",
    "head-history-changed": "the history of heads does not lead to the checkpoint, or was changed",
    # the tree
    "root-mismatch": "the leaves do not give the root that is signed",
    "leaf-changed": "a leaf is not the one that was sealed",
    "leaf-removed": "a sealed leaf is missing",
    "leaf-reordered": "a sealed leaf stands at another place",
    "leaf-malformed": "a leaf is not a record of this format",
    "tile-changed": "a tile has other bytes than the leaves give",
    "tile-missing": "a tile that the signed size needs is missing",
    "bundle-changed": "an entry bundle has other bytes than the sealed leaves",
    "bundle-missing": "an entry bundle that the signed size needs is missing",
    # the durable record
    "frame-changed": "a sealed frame has other bytes than were sealed",
    "frame-missing": "a sealed frame is missing",
    "frame-malformed": "a sealed frame cannot be read",
    "payload-changed": "a sealed payload has other bytes than its batch leaf commits to",
    "commitment-mismatch": "content opens to other bytes than the leaf commits to",
    "content-unreadable": "content does not open with its own key: its bytes or its key were changed",
    "content-missing": "a content key is gone and no sealed redaction says why",
    "unknown-file": "a file in the store belongs to no part of it",
    "key-inside-store": "a private key lies inside the store, where every reader of the store finds it",
    "lock-not-empty": "the lock file is not empty",
    # the runs
    "manifest-invalid": "a run's manifest is malformed, or its signature or writer does not fit",
    # plain export files
    "run-incomplete": "numbered spans of a run are not in these files",
    "run-conflicting": "the spans of a run contradict each other, or the ledger that they carry",
    "value-changed": "the parts of a large value are not those that its span names",
    "lines-damaged": "bytes inside an export file are no OTLP: its writer was cut off, or they were changed",
}
_UNKNOWN = {
    "not-judged": "nothing was judged: what was named, or what is needed to judge it, cannot be read",
    "no-trust": "consistent, but no trust file says whose signature to believe",
    "unsigned-tail": "complete frames beyond the signed head: sealed, but not yet signed",
    "torn-tail": "an incomplete frame at the very end: a write was interrupted before it was acknowledged",
    "write-interrupted": "a write was interrupted between two files; the store's own sealer completes it when it opens",
    "empty-store": "nothing is sealed here yet",
    "content-key-damaged": "the file of a content key is damaged: what is under that key was not opened",
    "not-sealed": "nothing seals these files: whoever could write them could have rewritten them and their ledgers",
    "line-torn": "a line of an export file is cut: its writer was stopped, or is still writing",
    "file-unread": "an export file cannot be read",
    "run-missing": "an inner run that a run's manifest names is not in these files",
}
_INFO = {
    "content-unchecked": "content was not opened for lack of its key: commitments hold, the text was not compared",
    "content-erased": "content was erased; a sealed redaction says when and why",
    "no-witness": "no independent witness signs: whoever holds the log's key could have rewritten everything",
    "head-not-remembered": "no earlier head of this log is remembered: a rollback to before now cannot be noticed",
    "index-stale": "the index is a cache and does not fit the leaves; it can be rebuilt",
    "conflict": "two spans with the same ids and different bytes; both are kept",
    "unparsable-line": "a line that is not strict OTLP was sealed as it came",
    "duplicate-skipped": "spans that came again were counted and not sealed twice",
    "input-gap": "a source lost bytes before they were sealed",
    "run-gapped": "spans that a run's manifest counts are missing",
    "run-truncated": "a run without manifest: it was cut short, or goes on",
    "file-ignored": "it is no export file and was not read",
    "span-repeated": "spans that came more than once, with the same bytes, were taken once",
}

CODES: dict[str, Code] = {
    **{code: Code("bad", meaning) for code, meaning in _BAD.items()},
    **{code: Code("unknown", meaning) for code, meaning in _UNKNOWN.items()},
    **{code: Code("info", meaning) for code, meaning in _INFO.items()},
}
"""The registry of every reason code."""


def finding(code: str, where: str = "", detail: str = "") -> Finding:
    """A finding of a registered code at a place; ``detail`` is put behind the registered meaning.

    >>> str(finding("tile-missing", "tile/0/000"))
    'tile-missing: tile/0/000: a tile that the signed size needs is missing'

    Raises KeyError for an unregistered code; the caller is at fault.
    """
    known = CODES[code]
    return Finding(code, where, f"{known.meaning} ({detail})" if detail else known.meaning, known.weight)


def verdict_of(findings: Iterable[Finding]) -> Verdict:
    """What findings amount to: *bad* outranks *unknown*, which outranks *ok*.

    >>> verdict_of([finding("no-trust"), finding("fork")]), verdict_of([finding("no-witness")])
    ('bad', 'ok')
    """
    weights = {found.weight for found in findings}
    return "bad" if "bad" in weights else "unknown" if "unknown" in weights else "ok"
