"""Verifier keys of signed notes, and the bytes each kind of signature covers. Pure; imports cryptography.

============ ===================================== ======================================
type         signs                                 signature behind the 4-byte key id
============ ===================================== ======================================
01 Ed25519   the note's text                       64 bytes
04 cosigner  ``cosignature/v1``, time, the text    u64be time, 64 bytes
06 ML-DSA-44 ``subtree/v1`` structure              u64be time, 2420 bytes
============ ===================================== ======================================

Sources: C2SP signed-note v1.0.0, tlog-cosignature v1.1.0-rc.1 (ML-DSA-44 with the empty context of FIPS 204).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PublicKey

from spanseal.audit.tlog.checkpoint import Checkpoint
from spanseal.audit.tlog.encoding import MAX_SIZE, from_base64, to_base64
from spanseal.errors import FormatError

ED25519, COSIGNATURE, ML_DSA_44 = 0x01, 0x04, 0x06
_PUBLIC_SIZE = {ED25519: 32, COSIGNATURE: 32, ML_DSA_44: 1312}
_BODY_SIZE = {ED25519: 64, COSIGNATURE: 8 + 64, ML_DSA_44: 8 + 2420}
_KEY_ID = re.compile(r"[0-9a-f]{8}", re.ASCII)


@dataclass(frozen=True, slots=True)
class VKey:
    """A verifier key: whose it is, of which type (01, 04 or 06), and the public key's raw bytes.

    >>> key = VKey.parse("example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k")
    >>> key.name, key.type, key.key_id.hex()
    ('example.com/foo', 1, '530d903a')
    """

    name: str
    type: int
    public: bytes

    def __post_init__(self) -> None:
        check_name(self.name)
        if len(self.public) != _PUBLIC_SIZE.get(self.type, -1):
            raise FormatError(f"key {self.name}: type {self.type:#04x} with {len(self.public)} bytes is not supported")

    @property
    def key_id(self) -> bytes:
        """The four bytes that a signature line names this key by."""
        return sha256(self.name.encode() + b"\n" + bytes([self.type]) + self.public).digest()[:4]

    @property
    def text(self) -> str:
        """``name+id+base64``, as a trust file has it."""
        return f"{self.name}+{self.key_id.hex()}+{to_base64(bytes([self.type]) + self.public)}"

    @classmethod
    def parse(cls, text: str) -> VKey:
        """Read ``name+id+base64``. Raises :class:`FormatError` if it is not exactly what :attr:`text` writes."""
        name, _, rest = text.partition("+")
        key_id, _, material = rest.partition("+")
        if not _KEY_ID.fullmatch(key_id):
            raise FormatError("a verifier key is name+8 hex digits+base64")
        raw = from_base64(material, f"key {name}")
        if not raw:
            raise FormatError(f"key {name} is empty")
        key = cls(name, raw[0], raw[1:])
        if key.key_id.hex() != key_id:
            raise FormatError(f"key {name}: the id is {key_id} but name and key give {key.key_id.hex()}")
        return key

    def valid(self, text: bytes, body: bytes) -> bool:
        """Whether ``body`` (a signature without its key id) is this key's signature on the note's ``text``."""
        if len(body) != _BODY_SIZE[self.type]:
            return False
        try:
            if self.type == ED25519:
                Ed25519PublicKey.from_public_bytes(self.public).verify(body, text)
                return True
            time, signature = int.from_bytes(body[:8], "big"), body[8:]
            if time > MAX_SIZE:
                return False
            if self.type == COSIGNATURE:
                Ed25519PublicKey.from_public_bytes(self.public).verify(signature, cosignature_message(text, time))
            else:
                message = subtree_message(self.name, time, Checkpoint.parse(text))
                MLDSA44PublicKey.from_public_bytes(self.public).verify(signature, message)
        except (InvalidSignature, FormatError, ValueError):
            return False
        return True

    def time(self, body: bytes) -> int:
        """The seconds since the Unix epoch that a signature states; 0 where it makes no claim."""
        return int.from_bytes(body[:8], "big") if self.type != ED25519 else 0


def check_name(name: str) -> None:
    """Raise :class:`FormatError` unless ``name`` may name a key: no white space, no plus, no control characters."""
    if not name or "+" in name or any(char.isspace() or char < " " for char in name):
        raise FormatError("a key's name is empty or has white space or a plus in it")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise FormatError("a key's name is not valid Unicode") from None


def cosignature_message(text: bytes, time: int) -> bytes:
    """What a type 04 key signs for a checkpoint's text at ``time`` (seconds since the Unix epoch)."""
    return f"cosignature/v1\ntime {time}\n".encode() + text


def subtree_message(cosigner: str, time: int, checkpoint: Checkpoint) -> bytes:
    """What a type 06 key signs for a whole tree: the subtree from 0 to the checkpoint's size.

    ``time`` 0 means no claim that this was the latest head. Raises :class:`FormatError` if a name is over 255 bytes.
    """
    names = cosigner.encode(), checkpoint.origin.encode()
    if max(map(len, names)) > 255:
        raise FormatError("a name of over 255 bytes cannot be signed with ML-DSA-44")
    own, log = [len(name).to_bytes(1, "big") + name for name in names]
    span = (0).to_bytes(8, "big") + checkpoint.size.to_bytes(8, "big")
    return b"subtree/v1\n\x00" + own + time.to_bytes(8, "big") + log + span + checkpoint.root
