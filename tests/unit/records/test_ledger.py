"""The ledger's bytes, and that whatever happens to the rows of a run is found and named."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from spanseal.errors import FormatError
from spanseal.records.ledger import (
    Manifest,
    Row,
    check_rows,
    decode_manifest,
    encode_manifest,
    manifest_digest,
    manifest_valid,
    sign_manifest,
    writer_id,
)

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
RUN = "4b" * 16
TIME = st.integers(1, 2**63)


@st.composite
def ledgers(draw: st.DrawFn) -> tuple[Manifest, list[Row]]:
    """A manifest and the rows that it covers; some of them open."""
    first = draw(st.integers(0, 1000))
    rows: list[Row] = []
    for seq in range(first, first + draw(st.integers(1, 12))):
        start, open_ = draw(TIME), draw(st.integers(0, 4)) == 0
        ended = (None, None) if open_ else (draw(TIME), draw(st.integers(0, 2)))
        rows.append(Row(seq, f"{draw(st.integers(1, 2**64 - 1)):016x}", start, *ended))
    return made(rows), rows


def made(rows: list[Row], key: Ed25519PrivateKey = KEY) -> Manifest:
    return sign_manifest(
        key,
        run_id=RUN,
        first=rows[0].seq if rows else 0,
        count=len(rows),
        digest=manifest_digest(rows),
        open=tuple(row.seq for row in rows if row.end is None),
        children=("5c" * 16,),
    )


def test_a_row_has_34_bytes_in_the_stated_order() -> None:
    row = Row(258, "00000000000000ff", 3, 4, 2)
    assert row.packed().hex() == "000000000000010200000000000000ff000000000000000301000000000000000402"
    assert Row(1, "0" * 16, 5).packed()[24:] == bytes(10)
    assert manifest_digest([row]) == hashlib.sha256(row.packed()).hexdigest()


@pytest.mark.parametrize("row", [Row(0, "xy", 1), Row(-1, "0" * 16, 1), Row(0, "0" * 16, 2**64), Row(0, "00" * 9, 1)])
def test_a_row_that_does_not_fit_names_its_seq(row: Row) -> None:
    with pytest.raises(FormatError, match=f"ledger row {row.seq}"):
        row.packed()


@given(ledgers())
def test_what_was_signed_is_read_back_and_holds(ledger: tuple[Manifest, list[Row]]) -> None:
    manifest, rows = ledger
    text = encode_manifest(manifest)
    assert decode_manifest(text) == manifest
    assert manifest_valid(manifest)
    assert check_rows(manifest, reversed(rows)) == ()


@given(ledgers(), st.data())
def test_a_lost_row_is_named(ledger: tuple[Manifest, list[Row]], data: st.DataObject) -> None:
    manifest, rows = ledger
    lost = data.draw(st.sampled_from(rows))
    findings = check_rows(manifest, [row for row in rows if row is not lost])
    assert len(findings) == 1
    assert f"seq {lost.seq} " in findings[0]
    assert findings[0].endswith("missing")


@given(ledgers(), st.data())
def test_an_added_row_is_named(ledger: tuple[Manifest, list[Row]], data: st.DataObject) -> None:
    manifest, rows = ledger
    seq = data.draw(st.integers(0, manifest.first + manifest.count + 5))
    findings = check_rows(manifest, [*rows, Row(seq, "ee" * 8, 7, 8, 0)])
    assert any(f"seq {seq} " in finding for finding in findings)


@given(ledgers(), st.data())
def test_a_changed_row_is_found(ledger: tuple[Manifest, list[Row]], data: st.DataObject) -> None:
    manifest, rows = ledger
    index = data.draw(st.integers(0, len(rows) - 1))
    row = rows[index]
    changed = [replace(row, span_id=f"{int(row.span_id, 16) ^ 1:016x}"), replace(row, start=row.start ^ 1)]
    if row.end is not None and row.status is not None:
        changed += [
            replace(row, end=row.end ^ 1),
            replace(row, status=(row.status + 1) % 3),
            Row(row.seq, row.span_id, row.start),
        ]
    rows[index] = data.draw(st.sampled_from(changed))
    findings = check_rows(manifest, rows)
    assert findings
    assert "seq" in findings[0]


@given(ledgers())
def test_an_open_span_may_end_later(ledger: tuple[Manifest, list[Row]]) -> None:
    manifest, rows = ledger
    assert check_rows(manifest, [replace(row, end=9, status=1) if row.end is None else row for row in rows]) == ()


def test_a_huge_count_is_checked_at_once() -> None:
    manifest = sign_manifest(KEY, run_id=RUN, first=0, count=2**62, digest=manifest_digest([]))
    assert check_rows(manifest, [Row(2, "0" * 16, 1, 2, 0)]) == (
        "seqs 0 to 1 are missing",
        f"seqs 3 to {2**62 - 1} are missing",
    )


@given(ledgers(), st.data())
def test_any_changed_character_makes_a_manifest_unreadable_or_invalid(
    ledger: tuple[Manifest, list[Row]], data: st.DataObject
) -> None:
    text = encode_manifest(ledger[0])
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.sampled_from('0a1"{},: ').filter(lambda sign: sign != text[place]))
    try:
        manifest = decode_manifest(text[:place] + other + text[place + 1 :])
    except FormatError:
        return
    assert not manifest_valid(manifest)


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"v":1}', '{"run":7}', "\x00", "[" * 100_000])
def test_what_is_no_manifest_is_a_format_error(text: str) -> None:
    with pytest.raises(FormatError, match="run manifest"):
        decode_manifest(text)


def test_another_writers_key_does_not_do() -> None:
    other = Ed25519PrivateKey.from_private_bytes(bytes(32))
    theirs = made([Row(0, "0" * 16, 1, 2, 0)], other)
    forged = replace(theirs, writer_id=writer_id(KEY.public_key().public_bytes_raw()))
    assert not manifest_valid(forged)
    assert not manifest_valid(replace(theirs, key=b"short", writer_id=writer_id(b"short")))
