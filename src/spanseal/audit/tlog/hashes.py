"""RFC 6962 section 2.1 hashes, SHA-256 only. Pure; imports hashlib.

Leaf and inner node have different prefixes, so that no node can pass for a leaf.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256

HASH_SIZE = 32
EMPTY_ROOT = sha256(b"").digest()


def leaf_hash(entry: bytes) -> bytes:
    """The hash of one log entry.

    >>> leaf_hash(b"").hex()[:16]
    '6e340b9cffb37a98'
    """
    return sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node over its two children, 32 bytes each."""
    return sha256(b"\x01" + left + right).digest()


def root_hash(hashes: Sequence[bytes]) -> bytes:
    """The root over neighbouring hashes of one level, split at the largest power of two (MTH of RFC 6962).

    Pairing neighbours and carrying an odd last one up gives the same tree, without recursion.

    >>> root_hash([]) == EMPTY_ROOT
    True
    """
    if not hashes:
        return EMPTY_ROOT
    level = list(hashes)
    while len(level) > 1:
        pairs = [node_hash(level[at], level[at + 1]) for at in range(0, len(level) - 1, 2)]
        level = pairs + level[len(level) & ~1 :]
    return level[0]
