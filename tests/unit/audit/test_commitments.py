"""Salts and commitments: every value hangs on every key it should, and on its place."""

from __future__ import annotations

import hashlib
import hmac

from hypothesis import given
from hypothesis import strategies as st

from spanseal.audit.commitments import (
    commit_slices,
    commitment,
    dedup_digest,
    derive,
    group_key,
    range_hash,
    scope_of,
    slice_root,
    slice_salt,
)

keys = st.binary(min_size=32, max_size=32)


def test_written_out_once_more() -> None:
    key = bytes(range(32))
    salt = hmac.new(key, b"salt" + (7).to_bytes(8, "big") + (2).to_bytes(4, "big"), "sha256").digest()[:16]
    assert slice_salt(key, 7, 2) == salt
    assert commitment(salt, b"x") == hashlib.sha256(b"\0" + salt + b"x").digest()
    two = hmac.new(bytes(32), b"chain" + hmac.new(key, b"group", "sha256").digest(), "sha256").digest()
    assert group_key((key, bytes(32))) == two
    assert dedup_digest(key, b"raw") == hmac.new(key, b"dedupraw", "sha256").digest()[:16]


@given(keys, st.integers(0, 2**63), st.lists(st.binary(max_size=40), max_size=5))
def test_slices_are_committed_to_one_by_one(key: bytes, leaf: int, slices: list[bytes]) -> None:
    one_by_one = (commitment(slice_salt(key, leaf, number), data) for number, data in enumerate(slices))
    assert commit_slices(key, leaf, slices) == tuple(one_by_one)


def test_root_is_the_rfc_6962_tree() -> None:
    a, b, c = (bytes([n]) * 32 for n in range(3))
    leaves = [hashlib.sha256(b"\0" + item).digest() for item in (a, b, c)]
    left = hashlib.sha256(b"\1" + leaves[0] + leaves[1]).digest()
    assert slice_root((a, b, c)) == hashlib.sha256(b"\1" + left + leaves[2]).digest()
    assert slice_root(()) == hashlib.sha256(b"").digest()


@given(keys, st.integers(0, 2**63), st.lists(st.binary(max_size=40), min_size=1, max_size=5))
def test_the_same_slices_elsewhere_commit_to_something_else(key: bytes, leaf: int, slices: list[bytes]) -> None:
    here = commit_slices(key, leaf, slices)
    assert len(set(here)) == len(here)
    assert not set(here) & set(commit_slices(key, leaf + 1, slices))
    assert not set(here) & set(commit_slices(hashlib.sha256(key).digest(), leaf, slices))


@given(st.lists(keys, min_size=2, max_size=4, unique=True))
def test_losing_any_key_makes_a_chain_uncheckable(all_keys: list[bytes]) -> None:
    whole = range_hash(all_keys, 9, 0, (b"line",))
    for at in range(len(all_keys)):
        rest = all_keys[:at] + all_keys[at + 1 :]
        assert range_hash(rest, 9, 0, (b"line",)) != whole
        assert derive(rest, b"group") != derive(all_keys, b"group")
    assert range_hash(all_keys, 9, 0, (b"li", b"ne")) == whole
    assert range_hash(all_keys, 9, 1, (b"line",)) != whole


@given(st.text(), st.just("0" * 32))
def test_scopes_are_short_and_plain_whatever_the_run_id(run_id: str, trace_id: str) -> None:
    scope = scope_of(run_id, trace_id)
    assert scope.isascii()
    assert len(scope) <= 100
    assert scope.split(":")[0].split("#")[0] in ("run", "trace")
    if run_id:
        assert scope_of(run_id + "x", trace_id) != scope
