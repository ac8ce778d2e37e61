"""Signed notes and keys: foreign vectors verify, every change is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from spanseal.audit.tlog.checkpoint import Checkpoint
from spanseal.audit.tlog.hashes import EMPTY_ROOT
from spanseal.audit.tlog.keys import COSIGNATURE, VKey
from spanseal.audit.tlog.note import CosignatureSigner, MlDsaSigner, Note, NoteSignature, NoteSigner
from spanseal.errors import FormatError

VECTORS: dict[str, Any] = json.loads((Path(__file__).parents[3] / "vectors" / "notes.json").read_text())
DASH = "\u2014"
SPEC = VECTORS["signed-note example"]
SPEC_NOTE: bytes = SPEC["note"].encode()
SPEC_KEY = VKey.parse(SPEC["keys"][0])
HEAD = Checkpoint("example.com/log", 5, bytes(range(32)))
ED = NoteSigner(HEAD.origin, Ed25519PrivateKey.from_private_bytes(b"e" * 32))
COSIGNER = CosignatureSigner("witness.example/w", Ed25519PrivateKey.from_private_bytes(b"w" * 32))
PQ = MlDsaSigner(HEAD.origin, MLDSA44PrivateKey.from_seed_bytes(b"p" * 32))


@pytest.mark.parametrize("name", VECTORS)
def test_foreign_notes_verify_and_are_written_back_byte_for_byte(name: str) -> None:
    data = VECTORS[name]["note"].encode()
    note = Note.parse(data)
    assert note.serialise() == data
    for text in VECTORS[name]["keys"]:
        key = VKey.parse(text)
        assert key.text == text
        assert note.signed(key) is not None
        forged = Note(note.text.replace(note.text[:1], b"Z", 1), note.signatures)
        with pytest.raises(FormatError, match="not valid"):
            forged.signed(key)


def test_foreign_heads_are_read() -> None:
    heads = [Checkpoint.parse(Note.parse(v["note"].encode()).text) for k, v in VECTORS.items() if "head" in k]
    assert [(head.origin, head.size) for head in heads] == [
        ("arche2025h1.staging.ct.transparency.dev", 1432088532),
        ("example.com/mldsa-log", 1),
    ]


def test_every_flipped_bit_of_a_note_is_noticed() -> None:
    """Malformed, signature invalid, or no signature of the key any more; never believed."""
    for at in range(len(SPEC_NOTE)):
        for bit in range(8):
            data = bytearray(SPEC_NOTE)
            data[at] ^= 1 << bit
            assert not believed(bytes(data))


def believed(data: bytes) -> bool:
    try:
        return Note.parse(data).signed(SPEC_KEY) is not None
    except FormatError:
        return False


def test_every_piece_and_every_change_of_a_key_is_refused() -> None:
    text = SPEC["keys"][0]
    pieces = {text[a:b] for a in range(len(text)) for b in range(a, len(text) + 1)} - {text}
    changed = {text[:at] + chr(ord(char) + 1) + text[at + 1 :] for at, char in enumerate(text)}
    for bad in pieces | changed | {text + "=", text + " ", " " + text, text.upper()}:
        with pytest.raises(FormatError):
            VKey.parse(bad)


@pytest.mark.parametrize(
    "bad",
    [
        "PeterNeumann+cc469956+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TWBADKEY==",
        "PeterNeumann+173116ae+ZRpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
        "a+00000000+", "", "+", "++", "a b+12345678+AA==", "a\n+12345678+AA==", "a\udc00+12345678+AA==",
    ],
)  # fmt: skip
def test_keys_that_are_none(bad: str) -> None:
    with pytest.raises(FormatError):
        VKey.parse(bad)


LINE = f"{DASH} k AAAAAAE="


@pytest.mark.parametrize(
    "bad",
    [
        "", "\n", "\n\n", "text\n", "text\n\n", f"text\n{LINE}\n", f"text\n\n{LINE}", f"\ttext\n\n{LINE}\n",
        f"te\rxt\n\n{LINE}\n", f"text\n\n{LINE}\r\n", f"text\n\n{LINE}\n\n", f"text\n\n {LINE}\n", f"text\n\n{LINE} \n",
        "text\n\n- k AAAAAAE=\n", f"text\n\n{DASH} AAAAAAE=\n", f"text\n\n{DASH} k  AAAAAAE=\n",
        f"text\n\n{DASH} k AAAAAAF=\n",
        f"text\n\n{DASH} k AAAAAAE\n", f"text\n\n{DASH} k AAAA\n", f"text\n\n{DASH} k+k AAAAAAE=\n",
        f"text\n\n{DASH}k AAAAAAE=\n",
        f"text\n\n{DASH} k\u2003k AAAAAAE=\n", "text\n\n" + f"{LINE}\n" * 65, f"{'x' * (1 << 20)}\n\n{LINE}\n",
    ],
)  # fmt: skip
def test_notes_that_are_none(bad: str) -> None:
    with pytest.raises(FormatError):
        Note.parse(bad.encode())


def test_a_note_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(FormatError, match="UTF-8"):
        Note.parse(b"te\xffxt\n\n" + LINE.encode() + b"\n")


@given(st.binary(max_size=80))
def test_arbitrary_bytes_are_a_note_only_if_they_are_written_back_the_same(data: bytes) -> None:
    try:
        note = Note.parse(data + b"\n\n" + LINE.encode() + b"\n")
    except FormatError:
        return
    assert note.serialise() == data + b"\n\n" + LINE.encode() + b"\n"


def test_a_text_may_hold_empty_lines_and_many_witnesses_may_sign_it() -> None:
    text = b"a\n\nb\n\n"
    note = Note(text, (*(NoteSignature(f"w{n}", bytes(4), bytes(2428)) for n in range(63)), ED.sign(text)))
    again = Note.parse(note.serialise())
    assert again == note
    assert again.signed(ED.vkey) is not None


def test_all_three_types_of_signature_on_one_head() -> None:
    signatures = (ED.sign(HEAD.text), PQ.sign(HEAD.text), COSIGNER.sign(HEAD.text, 1_700_000_000))
    note = Note.parse(Note(HEAD.text, signatures).serialise())
    for signer in (ED, PQ, COSIGNER):
        signature = note.signed(signer.vkey)
        assert signature is not None
        assert signer.vkey.time(signature.body) == (1_700_000_000 if signer is COSIGNER else 0)


@pytest.mark.parametrize("at", [0, 7, 8, 30, -1])
@pytest.mark.parametrize("signer", [ED, PQ, COSIGNER], ids=["01", "06", "04"])
def test_a_changed_time_or_signature_is_invalid(signer: NoteSigner | MlDsaSigner | CosignatureSigner, at: int) -> None:
    body = bytearray(COSIGNER.sign(HEAD.text, 9).body if signer is COSIGNER else signer.sign(HEAD.text).body)  # pyright: ignore[reportCallIssue]
    assert signer.vkey.valid(HEAD.text, bytes(body))
    body[at] ^= 1
    assert not signer.vkey.valid(HEAD.text, bytes(body))
    assert not signer.vkey.valid(HEAD.text, bytes(body[:-1]))


def test_an_ml_dsa_signature_is_of_a_head_only_and_of_its_every_field() -> None:
    body = PQ.sign(HEAD.text).body
    others = [Checkpoint("example.com/lot", 5, HEAD.root), Checkpoint(HEAD.origin, 6, HEAD.root),
              Checkpoint(HEAD.origin, 5, bytes(32))]  # fmt: skip
    assert not any(PQ.vkey.valid(other.text, body) for other in others)
    assert not PQ.vkey.valid(b"no head\n", body)
    stranger = VKey("example.com/other", PQ.vkey.type, PQ.vkey.public)
    assert not stranger.valid(HEAD.text, body)


def test_a_time_beyond_63_bits_is_invalid() -> None:
    for signer in (COSIGNER, PQ):
        assert not signer.vkey.valid(HEAD.text, signer.sign(HEAD.text, 1 << 63).body)
        assert signer.vkey.valid(HEAD.text, signer.sign(HEAD.text, (1 << 63) - 1).body)


def test_a_name_too_long_for_ml_dsa_is_an_error_not_a_wrong_signature() -> None:
    text = Checkpoint("o" * 256, 5, HEAD.root).text
    with pytest.raises(FormatError, match="255 bytes"):
        PQ.sign(text)
    assert not PQ.vkey.valid(text, PQ.sign(HEAD.text).body)


def test_a_second_invalid_line_of_a_known_key_rejects_the_note() -> None:
    good = ED.sign(HEAD.text)
    bad = NoteSignature(good.name, good.key_id, bytes(64))
    for signatures in ((good, bad), (bad, good)):
        with pytest.raises(FormatError, match="not valid"):
            Note(HEAD.text, signatures).signed(ED.vkey)


def test_a_key_of_another_name_or_type_is_unknown_not_invalid() -> None:
    note = Note(HEAD.text, (ED.sign(HEAD.text),))
    assert note.signed(VKey("other", ED.vkey.type, ED.vkey.public)) is None
    assert note.signed(VKey(ED.vkey.name, COSIGNATURE, ED.vkey.public)) is None


@pytest.mark.parametrize(
    "bad",
    [
        b"", b"o\n1\n", b"o\n0\n" + b"A" * 43 + b"=\n", b"o\n01\n%s=\n", b"o\n+1\n%s=\n", b"o\n-1\n%s=\n",
        b"o\n1 \n%s=\n",
        b"o\n1\n%s\n", b"o\n1\n%s=", b"o\n1\n%s=\nextension\n", b"o\n1\n%s=\n\n", b"o\r\n1\r\n%s=\r\n", b"\n1\n%s=\n",
        b"o\n9223372036854775808\n%s=\n", b"o\n1\nAAAA\n", "o\n\u0661\n".encode() + b"%s=\n", b"o\xff\n1\n%s=\n",
        b"o\n1\n" + b"A" * 42 + b"B=\n",
    ],
)  # fmt: skip
def test_heads_that_are_none(bad: bytes) -> None:
    with pytest.raises(FormatError):
        Checkpoint.parse(bad.replace(b"%s", b"A" * 43))


@given(
    st.text(min_size=1).filter(lambda s: s.isprintable()),
    st.integers(1, (1 << 63) - 1),
    st.binary(min_size=32, max_size=32),
)
def test_a_head_is_read_as_it_was_written(origin: str, size: int, root: bytes) -> None:
    head = Checkpoint(origin, size, root)
    assert Checkpoint.parse(head.text) == head
    assert Checkpoint.parse(Checkpoint(origin, 0, EMPTY_ROOT).text).size == 0
