"""Trust files, heads judged by them, pins, and the registry of reason codes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey

from spanseal.audit.findings import CODES, finding, verdict_of
from spanseal.audit.pins import pin_for, pin_path, write_pin
from spanseal.audit.tlog.checkpoint import Checkpoint
from spanseal.audit.tlog.keys import COSIGNATURE, ED25519, VKey
from spanseal.audit.tlog.note import CosignatureSigner, MlDsaSigner, Note, NoteSignature, NoteSigner
from spanseal.audit.trust import HeadError, Trust
from spanseal.errors import TrustError

HEAD = Checkpoint("example.com/log", 5, bytes(range(32)))
LOG = NoteSigner(HEAD.origin, Ed25519PrivateKey.from_private_bytes(b"e" * 32))
PQ = MlDsaSigner(HEAD.origin, MLDSA44PrivateKey.from_seed_bytes(b"p" * 32))
W = [CosignatureSigner(f"w{n}.example", Ed25519PrivateKey.from_private_bytes(bytes([n]) * 32)) for n in range(4)]
LOG_LINE = f"log {LOG.vkey.text}\n"
WITNESSES = "".join(f"witness w{n} {w.vkey.text}\n" for n, w in enumerate(W))


def head(*signatures: NoteSignature, text: bytes = HEAD.text) -> bytes:
    return Note(text, signatures).serialise()


def cosign(*numbers: int) -> list[NoteSignature]:
    return [W[n].sign(HEAD.text, 1_700_000_000) for n in numbers]


def test_a_signed_head_is_believed_with_or_without_strangers_beside() -> None:
    trust = Trust.parse(LOG_LINE + "quorum none\n")
    assert trust.verify_head(head(LOG.sign(HEAD.text))) == HEAD
    assert trust.verify_head(head(*cosign(1), LOG.sign(HEAD.text), PQ.sign(HEAD.text))) == HEAD
    assert not trust.witnessed


OTHER = Checkpoint("example.com/other", 5, HEAD.root).text
STRANGER = NoteSigner(HEAD.origin, Ed25519PrivateKey.from_private_bytes(b"s" * 32))
INVALID = NoteSignature(LOG.vkey.name, LOG.vkey.key_id, bytes(64))


@pytest.mark.parametrize(
    ("note", "code"),
    [
        (b"", "head-malformed"),
        (head(LOG.sign(HEAD.text)) + b"\n", "head-malformed"),
        (head(LOG.sign(b"no head\n"), text=b"no head\n"), "head-malformed"),
        (head(LOG.sign(HEAD.text + b"x\n"), text=HEAD.text + b"x\n"), "head-malformed"),
        (head(LOG.sign(OTHER), text=OTHER), "origin-mismatch"),
        (head(INVALID), "signature-invalid"),
        (head(LOG.sign(HEAD.text), INVALID), "signature-invalid"),
        (head(LOG.sign(b"another text\n")), "signature-invalid"),
        (head(STRANGER.sign(HEAD.text)), "signer-unknown"),
        (head(PQ.sign(HEAD.text)), "signer-unknown"),
        (head(*cosign(0)), "signature-missing"),
    ],
)
def test_a_head_that_may_not_be_believed_says_why(note: bytes, code: str) -> None:
    with pytest.raises(HeadError) as caught:
        Trust.parse(LOG_LINE + "quorum none\n").verify_head(note)
    assert caught.value.code == code
    assert CODES[code].weight == "bad"
    assert CODES[code].meaning in str(caught.value)


@pytest.mark.parametrize(
    ("rule", "signed", "enough"),
    [
        ("quorum w1", [1], True),
        ("quorum w1", [0, 2, 3], False),
        ("group g any w0 w1\nquorum g", [1], True),
        ("group g any w0 w1\nquorum g", [2], False),
        ("group g all w0 w1\nquorum g", [0, 1], True),
        ("group g all w0 w1\nquorum g", [1], False),
        ("group g 2 w0 w1 w2\nquorum g", [0, 2], True),
        ("group g 2 w0 w1 w2\nquorum g", [0, 3], False),
        ("group g 2 w0 w1 w2\ngroup h all g w3\nquorum h", [0, 1, 3], True),
        ("group g 2 w0 w1 w2\ngroup h all g w3\nquorum h", [0, 1, 2], False),
        ("group g any w0 w1\nquorum none", [], True),
    ],
)
def test_quorums(rule: str, signed: list[int], enough: bool) -> None:
    trust = Trust.parse(f"# comment\n\n  {LOG_LINE}{WITNESSES}{rule}\n")
    note = head(LOG.sign(HEAD.text), *cosign(*signed))
    if enough:
        assert trust.verify_head(note) == HEAD
    else:
        with pytest.raises(HeadError) as caught:
            trust.verify_head(note)
        assert caught.value.code == "quorum-not-met"
    assert trust.witnessed == (trust.quorum is not None)


def test_a_witness_signature_for_another_head_is_invalid_not_missing() -> None:
    trust = Trust.parse(f"{LOG_LINE}{WITNESSES}quorum w0\n")
    with pytest.raises(HeadError) as caught:
        trust.verify_head(head(LOG.sign(HEAD.text), W[0].sign(OTHER, 1)))
    assert caught.value.code == "signature-invalid"


def test_both_signatures_of_the_log_itself_can_be_demanded() -> None:
    rules = f"{LOG_LINE}witness pq {PQ.vkey.text}\ngroup both all pq\nquorum both\n"
    trust = Trust.parse(rules)
    assert trust.verify_head(head(LOG.sign(HEAD.text), PQ.sign(HEAD.text))) == HEAD
    with pytest.raises(HeadError) as caught:
        trust.verify_head(head(LOG.sign(HEAD.text)))
    assert caught.value.code == "quorum-not-met"
    with pytest.raises(HeadError) as caught:
        trust.verify_head(head(PQ.sign(HEAD.text)))
    assert caught.value.code == "signature-missing", "a known key signed, but not the one that is required"
    assert not trust.witnessed, "the log's own second key is no independent witness"
    assert Trust.parse(f"{LOG_LINE}witness pq {PQ.vkey.text}\n{WITNESSES}group a all pq w0\nquorum a\n").witnessed
    assert not Trust.parse(f"{LOG_LINE}witness pq {PQ.vkey.text}\n{WITNESSES}group a any pq w0\nquorum a\n").witnessed


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("", None, "no quorum line"),
        (LOG_LINE, None, "no quorum line"),
        (f"{LOG_LINE}quorum none", 2, "not ended by LF"),
        (f"{LOG_LINE}quorum none\r\n", 2, "control characters"),
        (f"{LOG_LINE}quorum\x0bnone\n", 2, "control characters"),
        (f"{LOG_LINE}quorum none\nquorum none\n", 3, "exactly one quorum"),
        (f"{LOG_LINE}quorum a b\n", 2, "exactly one quorum"),
        (f"quorum g\n{WITNESSES}group g any w0\n", 1, "not defined above"),
        ("log\nquorum none\n", 1, "log <vkey>"),
        ("log a+12345678+AA==\nquorum none\n", 1, "key a"),
        (f"log {LOG.vkey.text} url more\nquorum none\n", 1, "log <vkey>"),
        (f"{LOG_LINE}{LOG_LINE}quorum none\n", 2, "stands twice"),
        (f"log {W[0].vkey.text}\nquorum none\n", 1, "not one of a log"),
        (f"witness w {LOG.vkey.text}\nquorum none\n", 1, "not one of a witness"),
        (f"witness {W[0].vkey.text}\nquorum none\n", 1, "witness <name>"),
        (f"witness none {W[0].vkey.text}\nquorum none\n", 1, "is taken"),
        (f"{WITNESSES}witness again {W[0].vkey.text}\nquorum none\n", 5, "stands twice"),
        (f"{WITNESSES}group w0 any w1\nquorum none\n", 5, "is taken"),
        (f"{WITNESSES}group g any w0 w0\nquorum none\n", 5, "already a member"),
        (f"{WITNESSES}group g any w0\ngroup h any w0\nquorum none\n", 6, "already a member"),
        (f"{WITNESSES}group g any g\nquorum none\n", 5, "not defined above"),
        (f"{WITNESSES}group g any none\nquorum none\n", 5, "not defined above"),
        (f"{WITNESSES}group g 0 w0\nquorum none\n", 5, "the rule is"),
        (f"{WITNESSES}group g 3 w0 w1\nquorum none\n", 5, "the rule is"),
        (f"{WITNESSES}group g 01 w0 w1\nquorum none\n", 5, "the rule is"),
        (f"{WITNESSES}group g some w0 w1\nquorum none\n", 5, "the rule is"),
        (f"{WITNESSES}group g any\nquorum none\n", 5, "group <name>"),
        ("trust everyone\n", 1, "starts with log"),
        ("{}\n", 1, "starts with log"),
    ],
)
def test_a_trust_file_that_is_none_says_where_and_why(text: str, line: int | None, why: str) -> None:
    place = "trust file:" if line is None else f"trust file:{line}:"
    with pytest.raises(TrustError, match=re.escape(place) + ".*" + re.escape(why)):
        Trust.parse(text)


def many(kind: str, count: int) -> str:
    """So many lines of a kind, each with a key of its own."""
    keys = (VKey(f"k{n}", ED25519 if kind == "log" else COSIGNATURE, n.to_bytes(32, "big")) for n in range(count))
    name = "" if kind == "log" else "w{n} "
    return "".join(f"{kind} {name.format(n=n)}{key.text}\n" for n, key in enumerate(keys))


def test_trust_files_have_limits_above_what_the_specification_asks_for() -> None:
    groups = "".join(f"group g{n} any w{n}\n" for n in range(64))
    full = many("log", 64) + many("witness", 64) + groups
    trust = Trust.parse(f"{full}quorum g63\n")
    assert (len(trust.logs), len(trust.witnesses), len(trust.groups)) == (64, 64, 64)
    for bad in (many("log", 65), many("witness", 65), f"{full}group more any g0\n"):
        with pytest.raises(TrustError, match="over 64"):
            Trust.parse(f"{bad}quorum none\n")
    with pytest.raises(TrustError, match="over 1 MiB"):
        Trust.parse("#" * (1 << 20) + "\nquorum none\n")


def test_names_are_octets() -> None:
    key = W[0].vkey.text.encode()
    trust = Trust.parse(b"witness \xff " + key + b"\twss://x/\xfe\n#\xfd\nquorum \xff\n" + LOG_LINE.encode())
    with pytest.raises(HeadError, match=r"\\udcff"):
        trust.verify_head(head(LOG.sign(HEAD.text)))
    assert trust.verify_head(head(LOG.sign(HEAD.text), *cosign(0))) == HEAD
    with pytest.raises(TrustError, match="not defined above"):
        Trust.parse(b"witness \xff " + key + b"\nquorum \xfe\n")


def test_a_log_may_sign_with_ml_dsa_alone_and_either_of_two_logs_is_believed() -> None:
    trust = Trust.parse(f"log {PQ.vkey.text}\nlog {LOG.vkey.text}\nquorum none\n")
    assert trust.origins == (HEAD.origin,)
    for signer in (PQ, LOG):
        assert trust.verify_head(head(signer.sign(HEAD.text))) == HEAD
    with pytest.raises(HeadError) as caught:
        trust.verify_head(head(PQ.sign(HEAD.text), INVALID))
    assert caught.value.code == "signature-invalid"


def test_a_trust_file_is_loaded_from_disk(tmp_path: Path) -> None:
    path = tmp_path / "trust"
    with pytest.raises(TrustError, match=re.escape(str(path))):
        Trust.load(path)
    with pytest.raises(TrustError, match="cannot be read"):
        Trust.load(tmp_path)
    path.write_bytes(b"\0" * 10 + b"\n")
    with pytest.raises(TrustError, match=re.escape(f"{path}:1")):
        Trust.load(path)
    path.write_text(LOG_LINE + "quorum none\n")
    assert Trust.load(path).origins == (HEAD.origin,)


def test_pins(tmp_path: Path) -> None:
    state = tmp_path / "state"
    assert pin_for("o", state) is None
    pin = write_pin("o", Path("keys/trust"), tmp_path / "keys", state)
    assert pin == pin_for("o", state)
    assert pin.trust_path == Path.cwd() / "keys/trust"
    assert pin_for("p", state) is None
    newer = write_pin("o", tmp_path / "t", tmp_path / "k", state)
    assert pin_for("o", state) == newer != pin
    assert [path.name for path in (state / "pins").iterdir()] == [pin_path("o", state).name]


@pytest.mark.parametrize(
    "damage",
    [
        b"", b"{}", b"[]", b"null", b"\xff", b'{"origin":"o","trust":"/t","keys":1}',
        b'{"origin":"o","trust":"t","keys":"/k"}',
        b'{"origin":"p","trust":"/t","keys":"/k"}', b'{"origin":"o","trust":"/t","keys":"/k","more":""}',
    ],
)  # fmt: skip
def test_a_damaged_pin_is_an_error_that_names_the_file(tmp_path: Path, damage: bytes) -> None:
    path = pin_path("o", tmp_path)
    path.parent.mkdir()
    path.write_bytes(damage)
    with pytest.raises(TrustError, match=re.escape(str(path))):
        pin_for("o", tmp_path)


def test_a_state_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TrustError, match="cannot be written"):
        write_pin("o", tmp_path / "t", tmp_path / "k", tmp_path / "file")
    with pytest.raises(TrustError, match="cannot be read"):
        pin_for("o", tmp_path / "file")


def test_every_reason_code_is_named_and_weighed_once() -> None:
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", code) for code in CODES)
    assert len({known.meaning for known in CODES.values()}) == len(CODES)
    with pytest.raises(KeyError):
        finding("no-such-code")


def test_bad_outranks_unknown_outranks_ok() -> None:
    info, unknown, bad = (finding(code, "w", "d") for code in ("no-witness", "no-trust", "fork"))
    assert [verdict_of(found) for found in ([], [info], [info, unknown], [unknown, bad, info])] == [
        "ok", "ok", "unknown", "bad",
    ]  # fmt: skip
    assert bad.meaning == f"{CODES['fork'].meaning} (d)"
