"""The ledger of a run: which spans a writer numbered, as bytes, digest and signed manifest. Pure.

A *row* says that the span with this number started, and whether, when and how it ended::

    u64 seq | 8 B span id | u64 start ns | u8 ended | u64 end ns | u8 status        (34 bytes, big endian)

with end and status zero while the span is open. The digest is SHA-256 over the rows in order of seq; a manifest covers
the seqs ``first … first + count - 1`` of one writer in one run and is signed with the key that the writer made when it
started. A manifest is a JSON text in exactly one form, so that a byte more or less is an error. DESIGN 10.2.
May import errors and cryptography only.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, cast

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from spanseal.errors import FormatError

ROW: Final = struct.Struct(">Q8sQBQB")
_HEAD: Final = "spanseal manifest v1"
_HEX32: Final = re.compile(r"[0-9a-f]{32}")
_HEX64: Final = re.compile(r"[0-9a-f]{64}")
_MOST: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Row:
    """One numbered span. ``span_id`` is 16 hex digits, times are nanoseconds since 1970, ``status`` OTLP's 0, 1 or 2.

    ``end`` and ``status`` are None while the span is open.
    """

    seq: int
    span_id: str
    start: int
    end: int | None = None
    status: int | None = None

    def packed(self) -> bytes:
        """The 34 bytes of the row; raises FormatError for what does not fit (whoever made the row is at fault)."""
        ended = self.end is not None
        try:
            return ROW.pack(
                self.seq, _span(self.span_id), self.start, ended, self.end or 0, self.status or 0 if ended else 0
            )
        except (struct.error, ValueError) as error:
            raise FormatError(f"ledger row {self.seq}: {error}") from error


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a writer states about its spans of a run: ``open`` seqs have no end, ``children`` are ids of inner runs."""

    run_id: str
    writer_id: str
    key: bytes
    first: int
    count: int
    digest: str
    open: tuple[int, ...]
    children: tuple[str, ...]
    signature: bytes = b""

    @property
    def message(self) -> bytes:
        """The bytes that are signed: one field a line, no field can reach into the next."""
        numbers, inner = ",".join(map(str, self.open)), ",".join(self.children)
        fields = (
            _HEAD,
            self.run_id,
            self.writer_id,
            self.key.hex(),
            self.first,
            self.count,
            self.digest,
            numbers,
            inner,
        )
        return "\n".join(map(str, fields)).encode()


def writer_id(public_key: bytes) -> str:
    """The name of a writer: the first 32 hex digits of its raw public key's SHA-256.

    >>> writer_id(bytes(32))
    '66687aadf862bd776c8fc18b8e9f8e20'
    """
    return hashlib.sha256(public_key).hexdigest()[:32]


def manifest_digest(rows: Iterable[Row]) -> str:
    """Hex SHA-256 over the packed rows in order of seq; raises FormatError as :meth:`Row.packed` does.

    >>> manifest_digest([]) == hashlib.sha256().hexdigest()
    True
    """
    return hashlib.sha256(b"".join(row.packed() for row in sorted(rows, key=lambda row: row.seq))).hexdigest()


def sign_manifest(
    private_key: Ed25519PrivateKey,
    *,
    run_id: str,
    first: int,
    count: int,
    digest: str,
    open: tuple[int, ...] = (),  # noqa: A002 - the field's name in the record
    children: tuple[str, ...] = (),
) -> Manifest:
    """A signed manifest; writer id and key follow from the private key."""
    key = private_key.public_key().public_bytes_raw()
    bare = Manifest(run_id, writer_id(key), key, first, count, digest, open, children)
    return Manifest(run_id, bare.writer_id, key, first, count, digest, open, children, private_key.sign(bare.message))


def manifest_valid(manifest: Manifest) -> bool:
    """True if the writer id is the key's fingerprint and the signature is that key's. Never raises."""
    if writer_id(manifest.key) != manifest.writer_id:
        return False
    try:
        Ed25519PublicKey.from_public_bytes(manifest.key).verify(manifest.signature, manifest.message)
    except (InvalidSignature, ValueError):
        return False
    return True


def encode_manifest(manifest: Manifest) -> str:
    """The manifest as it stands in the span's attribute."""
    document = {
        "v": 1,
        "run": manifest.run_id,
        "writer": manifest.writer_id,
        "key": manifest.key.hex(),
        "first": manifest.first,
        "count": manifest.count,
        "digest": manifest.digest,
        "open": manifest.open,
        "children": manifest.children,
        "signature": manifest.signature.hex(),
    }
    return json.dumps(document, separators=(",", ":"))


def decode_manifest(text: str) -> Manifest:
    """Read a manifest's attribute; raises FormatError unless it is exactly what :func:`encode_manifest` writes."""
    try:
        fields = cast("dict[str, Any]", json.loads(text))
        manifest = Manifest(
            fields["run"],
            fields["writer"],
            bytes.fromhex(fields["key"]),
            fields["first"],
            fields["count"],
            fields["digest"],
            tuple(fields["open"]),
            tuple(fields["children"]),
            bytes.fromhex(fields["signature"]),
        )
        good = _well_formed(manifest) and encode_manifest(manifest) == text
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise FormatError(f"run manifest: not readable ({type(error).__name__}: {error})") from error
    if not good:
        raise FormatError("run manifest: not in the one form that a writer gives it")
    return manifest


def check_rows(manifest: Manifest, rows: Iterable[Row]) -> tuple[str, ...]:
    """What differs between a manifest and the rows found for its run and writer; empty if nothing does.

    A row that the manifest lists as open may have ended since. Missing, doubled and surplus seqs are named one by one;
    for changed rows the digest tells only that one is among those covered.

    >>> key = Ed25519PrivateKey.from_private_bytes(bytes(32))
    >>> made = sign_manifest(key, run_id="a" * 32, first=0, count=2, digest=manifest_digest([]))
    >>> check_rows(made, [Row(0, "0" * 16, 1, 2, 0)])
    ('seq 1 is missing',)
    """
    covered = range(manifest.first, manifest.first + manifest.count)
    found: dict[int, Row] = {}
    findings: list[str] = []
    for row in sorted(rows, key=lambda row: row.seq):
        if row.seq in found:
            findings.append(f"seq {row.seq} is there twice (spans {found[row.seq].span_id} and {row.span_id})")
        elif row.seq not in covered:
            findings.append(f"seq {row.seq} (span {row.span_id}) is not covered by the manifest")
        found[row.seq] = row
    findings += _missing(covered, found, set(manifest.open))
    if not findings:
        findings += _changed(manifest, [found[seq] for seq in covered])
    return tuple(findings)


def _missing(covered: range, found: dict[int, Row], still: set[int]) -> list[str]:
    """Gaps as ranges, found by walking the rows that are there: a huge count costs nothing."""
    findings: list[str] = []
    unended = sorted(seq for seq in still if seq not in found)
    expected = covered.start
    for seq in [*sorted([*(seq for seq in found if seq in covered), *unended]), covered.stop]:
        if seq == expected + 1:
            findings.append(f"seq {expected} is missing")
        elif seq > expected:
            findings.append(f"seqs {expected} to {seq - 1} are missing")
        expected = seq + 1
    return findings + [f"seq {seq} had not ended when the manifest was written, and is missing" for seq in unended]


def _changed(manifest: Manifest, rows: list[Row]) -> list[str]:
    still = set(manifest.open)
    findings = [
        f"seq {row.seq} (span {row.span_id}) has no end" for row in rows if row.end is None and row.seq not in still
    ]
    as_stated = [Row(row.seq, row.span_id, row.start) if row.seq in still else row for row in rows]
    if not findings and manifest_digest(as_stated) != manifest.digest:
        last = manifest.first + manifest.count - 1
        findings.append(f"a row among seqs {manifest.first} to {last} differs in span id, start, end or status")
    return findings


def _well_formed(manifest: Manifest) -> bool:
    numbers = (manifest.first, manifest.count, *manifest.open)
    return (
        all(type(number) is int and 0 <= number <= _MOST for number in numbers)
        and all(_HEX32.fullmatch(text) for text in (manifest.run_id, manifest.writer_id, *manifest.children))
        and bool(_HEX64.fullmatch(manifest.digest))
        and len(manifest.key) == 32
        and len(manifest.signature) == 64
        and list(manifest.open) == sorted(set(manifest.open))
        and all(manifest.first <= seq < manifest.first + manifest.count for seq in manifest.open)
    )


def _span(span_id: str) -> bytes:
    raw = bytes.fromhex(span_id)
    if len(raw) != 8:
        raise ValueError(f"span id {span_id!r} is not 16 hex digits")
    return raw
