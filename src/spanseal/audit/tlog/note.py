"""Signed notes (C2SP signed-note v1.0.0): strict form, and signers for the three key types. Pure.

::

    text, ends with LF
    <empty line>
    U+2014 SP name SP base64(4-byte key id || signature) LF      one or more
"""

from __future__ import annotations

from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.mldsa import MLDSA44PrivateKey

from spanseal.audit.tlog.checkpoint import Checkpoint
from spanseal.audit.tlog.encoding import from_base64, to_base64
from spanseal.audit.tlog.keys import (
    COSIGNATURE,
    ED25519,
    ML_DSA_44,
    VKey,
    check_name,
    cosignature_message,
    subtree_message,
)
from spanseal.errors import FormatError

MAX_SIGNATURES = 64
"""The log's own two, and two of each of the 32 witnesses that a trust file may name, less two."""
MAX_NOTE = 1 << 20
_DASH = "\u2014 "


@dataclass(frozen=True, slots=True)
class NoteSignature:
    """One signature line: the key's name and id (4 bytes), and the signature behind the id."""

    name: str
    key_id: bytes
    body: bytes

    @property
    def line(self) -> str:
        """The line without its LF."""
        return f"{_DASH}{self.name} {to_base64(self.key_id + self.body)}"

    def by(self, key: VKey) -> bool:
        """Whether the line says it is from ``key``; says nothing about its validity."""
        return self.name == key.name and self.key_id == key.key_id


@dataclass(frozen=True, slots=True)
class Note:
    """A text (bytes, ending in LF) and its signature lines in order. Parsing verifies nothing.

    >>> note = Note.parse("hello\\n\\n\u2014 example.com/k AAAAAAE=\\n".encode())
    >>> note.text, note.signatures[0].name, note.serialise() == "hello\\n\\n\u2014 example.com/k AAAAAAE=\\n".encode()
    (b'hello\\n', 'example.com/k', True)
    """

    text: bytes
    signatures: tuple[NoteSignature, ...]

    def serialise(self) -> bytes:
        """The note's bytes: the exact inverse of :meth:`parse`."""
        lines = "".join(signature.line + "\n" for signature in self.signatures)
        return self.text + b"\n" + lines.encode()

    @classmethod
    def parse(cls, data: bytes) -> Note:
        """Read a note in its one form. Raises :class:`FormatError`; nothing about it may then be believed."""
        if len(data) > MAX_NOTE:
            raise FormatError("a note of over 1 MiB is refused")
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise FormatError("a note is not UTF-8") from None
        if any(char < " " and char != "\n" for char in text):
            raise FormatError("a note has control characters in it")
        body, split, tail = text.rpartition("\n\n")
        if not split or not tail.endswith("\n"):
            raise FormatError("a note is a text, an empty line, and signature lines ended by LF")
        lines = tail[:-1].split("\n")
        if len(lines) > MAX_SIGNATURES:
            raise FormatError(f"a note with over {MAX_SIGNATURES} signatures is refused")
        return cls((body + "\n").encode(), tuple(_signature(line) for line in lines))

    def signed(self, key: VKey) -> NoteSignature | None:
        """The first line of ``key``, verified; None if there is none.

        Raises :class:`FormatError` if any line of this key is no valid signature: such a note is to be rejected.
        """
        own = [signature for signature in self.signatures if signature.by(key)]
        for signature in own:
            if not key.valid(self.text, signature.body):
                raise FormatError(f"the signature of {key.name} is not valid")
        return own[0] if own else None


def _signature(line: str) -> NoteSignature:
    name, space, encoded = line.removeprefix(_DASH).partition(" ")
    if not line.startswith(_DASH) or not space:
        raise FormatError("a signature line is U+2014, space, name, space, base64")
    check_name(name)
    raw = from_base64(encoded, f"the signature of {name}")
    if len(raw) < 5:
        raise FormatError(f"the signature of {name} is too short")
    return NoteSignature(name, raw[:4], raw[4:])


class NoteSigner:
    """Signs note texts as a log does, with Ed25519 (type 01).

    >>> signer = NoteSigner("example.com/log", Ed25519PrivateKey.from_private_bytes(bytes(32)))
    >>> note = Note(b"hello\\n", (signer.sign(b"hello\\n"),))
    >>> note.signed(signer.vkey) is not None
    True
    """

    def __init__(self, name: str, private: Ed25519PrivateKey) -> None:
        self._private = private
        self.vkey = VKey(name, ED25519, private.public_key().public_bytes_raw())

    def sign(self, text: bytes) -> NoteSignature:
        """The signature line for ``text``."""
        return NoteSignature(self.vkey.name, self.vkey.key_id, self._private.sign(text))


class CosignatureSigner:
    """Signs checkpoints as a witness does, with Ed25519 and a time (type 04)."""

    def __init__(self, name: str, private: Ed25519PrivateKey) -> None:
        self._private = private
        self.vkey = VKey(name, COSIGNATURE, private.public_key().public_bytes_raw())

    def sign(self, text: bytes, time: int) -> NoteSignature:
        """The signature line for a checkpoint's ``text`` seen at ``time``, seconds since the Unix epoch."""
        body = time.to_bytes(8, "big") + self._private.sign(cosignature_message(text, time))
        return NoteSignature(self.vkey.name, self.vkey.key_id, body)


class MlDsaSigner:
    """Signs checkpoints with ML-DSA-44 (type 06), as a log (time 0) or a witness."""

    def __init__(self, name: str, private: MLDSA44PrivateKey) -> None:
        self._private = private
        self.vkey = VKey(name, ML_DSA_44, private.public_key().public_bytes_raw())

    def sign(self, text: bytes, time: int = 0) -> NoteSignature:
        """The signature line for a checkpoint's ``text``; ``time`` 0 makes no claim that it was the latest."""
        message = subtree_message(self.vkey.name, time, Checkpoint.parse(text))
        body = time.to_bytes(8, "big") + self._private.sign(message)
        return NoteSignature(self.vkey.name, self.vkey.key_id, body)
