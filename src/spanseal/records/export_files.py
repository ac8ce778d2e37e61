"""What files of exported spans are called: by us, by the collector, by logrotate. Pure; imports nothing of spanseal.

>>> is_export("spans.jsonl"), is_export("spans.jsonl.1"), is_export("notes.txt"), is_packed("spans.jsonl.zst")
(True, True, False, True)
"""

from __future__ import annotations

import hashlib
import re
from typing import Final

VALUES: Final = "values"
"""The folder beside the files of spans, with a folder for each run (or trace), with a file for each large value."""
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,80}")
_EXPORT: Final = re.compile(r"(?P<stem>.+)\.jsonl?(\.(?P<number>\d+))?\Z", re.DOTALL)
_ROTATED: Final = re.compile(r"-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}(-[a-z]+)?\.jsonl?\Z|\.jsonl?\.\d+\Z")
_BESIDE: Final = re.compile(r"(metrics|logs)(-.+)?\.ndjson")
_PACKED: Final = re.compile(r"\.(zst|gz|proto|pb|binpb)(\.\d+)?\Z")


def is_export(name: str) -> bool:
    """Whether a file of this name holds export lines, being written to or rotated away."""
    return _EXPORT.match(name) is not None


def is_packed(name: str) -> bool:
    """Whether a file of this name is a compressed or binary export, which must be unpacked to be read."""
    return _PACKED.search(name) is not None


def is_rotated(name: str) -> bool:
    """Whether a name is one that rotation gives, so that nobody appends to the file any more.

    The collector's ``stem-<UTC>[-reason].ext`` (facts of its file exporter) and logrotate's ``name.1``.

    >>> is_rotated("spans-2026-11-30T15-04-05.000-size.jsonl"), is_rotated("spans.jsonl.1"), is_rotated("spans.jsonl")
    (True, True, False)
    """
    return _ROTATED.search(name) is not None


def is_beside(name: str) -> bool:
    """Whether a file of this name holds metrics or events, ours or the collector's: beside the spans, no evidence.

    >>> is_beside("metrics-20261130T150405Z-71-0.ndjson"), is_beside("spans-20261130T150405Z-71-0.jsonl")
    (True, False)
    """
    return _BESIDE.fullmatch(name) is not None


def reading_order(name: str) -> tuple[str, int, str]:
    """Rotated files before the live one: ``a-<time>.jsonl`` sorts before ``a.jsonl``, ``a.jsonl.2`` before ``.1``."""
    match = _EXPORT.match(name)
    number = int(match["number"] or 0) if match else 0
    return (match["stem"] + "." if match else name, -number, name)


def value_file(scope: str, sha256: str) -> tuple[str, str]:
    """Folder below ``values`` and name of the file with the parts of a value that belongs to a run or trace.

    An id that is no fit name for a folder is told by its digest.

    >>> value_file("r1", "ab")
    ('r1', 'ab.jsonl')
    >>> value_file("../etc", "ab")[0]
    'f7f9121fdb53d8de1eccbfa65c4bd976'
    """
    return _fit(scope), f"{_fit(sha256)}.jsonl"


def _fit(name: str) -> str:
    return name if _NAME.fullmatch(name) else hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:32]
