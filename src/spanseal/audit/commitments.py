"""Salts, commitments, digests and cipher keys: everything that a scope's content key makes and its loss destroys.

A *scope* is what is erased together: ``run:<run id>``, else ``trace:<trace id>``, else ``raw:<random>`` for a line that
is no OTLP. Each scope has one random 32-byte key ``K``. All that could confirm a guess of content hangs on it::

    derive(K1..Kn, info) = HMAC-SHA256(K1, info), then for each further key HMAC-SHA256(Ki, "chain" || previous)
    slice salt           = derive(K, "salt" || u64 leaf index || u32 slice number)[:16]
    slice commitment     = SHA-256(00 || salt || slice)
    slice root           = RFC 6962 tree hash whose entries are the commitments, in order of slice number
    dedup digest         = derive(K, "dedup" || raw span bytes)[:16]
    range salt           = derive(all keys of the range, in order of scope, "range" || u64 batch leaf || u32 range)[:16]
    range hash           = SHA-256(00 || range salt || raw bytes of the range)
    group key            = derive(all keys of the group, in order of scope, "group")     (AES-256-GCM)

Integers are big-endian. Losing any one key of a chain makes the value uncheckable. Pure; may import ``audit.tlog``.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Sequence
from typing import Final

from spanseal.audit.tlog.hashes import leaf_hash, root_hash

SALT_BYTES: Final = 16
DIGEST_BYTES: Final = 16
KEY_BYTES: Final = 32

_INNER: Final = bytes(byte ^ 0x36 for byte in range(256))
_OUTER: Final = bytes(byte ^ 0x5C for byte in range(256))
_PLAIN_RUN_ID: Final = re.compile(r"[0-9A-Za-z._-]{1,96}")


def scope_of(run_id: str, trace_id: str) -> str:
    """The scope of a span: its run, else its trace. ASCII, at most 100 characters, whatever the run id holds.

    >>> scope_of("", "0af7651916cd43dd8448eb211c80319c")
    'trace:0af7651916cd43dd8448eb211c80319c'
    >>> scope_of("nightly-7", "0af7651916cd43dd8448eb211c80319c")
    'run:nightly-7'
    """
    if not run_id:
        return f"trace:{trace_id}"
    if _PLAIN_RUN_ID.fullmatch(run_id):
        return f"run:{run_id}"
    return "run#" + hashlib.sha256(run_id.encode("utf-8", "surrogatepass")).hexdigest()


def derive(keys: Sequence[bytes], info: bytes) -> bytes:
    """32 bytes that only a holder of *all* ``keys`` can compute. At least one key."""
    value = hmac.digest(keys[0], info, "sha256")
    for key in keys[1:]:
        value = hmac.digest(key, b"chain" + value, "sha256")
    return value


def slice_salt(key: bytes, leaf: int, number: int) -> bytes:
    """The 16-byte salt of slice ``number`` of the leaf with this index."""
    return hmac.digest(key, b"salt" + leaf.to_bytes(8) + number.to_bytes(4), "sha256")[:SALT_BYTES]


def commitment(salt: bytes, data: bytes) -> bytes:
    """SHA-256(00 || salt || data): hides ``data`` without the salt, binds it with it.

    >>> commitment(bytes(16), b"42").hex()[:16]
    'b1217f997019a83a'
    """
    digest = hashlib.sha256(b"\x00" + salt)
    digest.update(data)
    return digest.digest()


def commit_slices(key: bytes, leaf: int, slices: Sequence[bytes]) -> tuple[bytes, ...]:
    """The commitments of a leaf's private slices, in order.

    The same as :func:`commitment` with :func:`slice_salt`, slice by slice; what the salts share is hashed once.
    """
    block = key.ljust(64, b"\x00")  # HMAC (RFC 2104), its two keyed states made once
    inner = hashlib.sha256(block.translate(_INNER) + b"salt" + leaf.to_bytes(8))
    outer = hashlib.sha256(block.translate(_OUTER))
    made: list[bytes] = []
    for number, data in enumerate(slices):
        first, second = inner.copy(), outer.copy()
        first.update(number.to_bytes(4))
        second.update(first.digest())
        digest = hashlib.sha256(b"\x00" + second.digest()[:SALT_BYTES])
        digest.update(data)
        made.append(digest.digest())
    return tuple(made)


def slice_root(commitments: Sequence[bytes]) -> bytes:
    """One RFC 6962 root over the commitments, so that one slice can be disclosed with a short proof."""
    return root_hash([leaf_hash(item) for item in commitments])


def dedup_digest(key: bytes, raw: bytes) -> bytes:
    """16 bytes that tell a resent span from another one with the same ids; worthless without the key."""
    state = hmac.new(key, b"dedup", "sha256")
    state.update(raw)
    return state.digest()[:DIGEST_BYTES]


def range_hash(keys: Sequence[bytes], batch_leaf: int, number: int, pieces: Sequence[bytes]) -> bytes:
    """The salted hash of one input range (its bytes in ``pieces``); ``keys`` in order of their scopes."""
    salt = derive(keys, b"range" + batch_leaf.to_bytes(8) + number.to_bytes(4))[:SALT_BYTES]
    digest = hashlib.sha256(b"\x00" + salt)
    for piece in pieces:
        digest.update(piece)
    return digest.digest()


def group_key(keys: Sequence[bytes]) -> bytes:
    """The AES-256 key of what belongs to all these scopes together; ``keys`` in order of their scopes."""
    return derive(keys, b"group")
