"""The sealer's folder of keys: made once by ``keygen``, read at every start of a sealer.

::

    KEYS/            0700, not inside the store nor around it
      log.key        0600  the log's private key, Go note-signer text: PRIVATE+KEY+<name>+<hash>+<base64>
      log.vkey             its public half, signed-note verifier key (C2SP signed-note)
      trust                C2SP tlog-policy for verifiers: one log line, ``quorum none``
      content/       0700  the content keys of the runs (audit.content_keys)
      opened         0600  made by the sealer: which log the key has opened (sealer.opened)

Only ``log.vkey`` and ``trust`` go to a verifier. May import audit, errors, settings' values handed in.
"""

from __future__ import annotations

import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from spanseal.audit.pins import write_pin
from spanseal.audit.tlog.encoding import from_base64, to_base64
from spanseal.audit.tlog.keys import ED25519, VKey
from spanseal.audit.tlog.note import NoteSigner
from spanseal.errors import FormatError, TrustError, UsageError

_PREFIX: Final = "PRIVATE+KEY+"
_REMEDY: Final = "give --keys the folder that `spanseal keygen` made, or restore the file from its backup"


@dataclass(frozen=True, slots=True)
class SealerKeys:
    """What a sealer signs with. ``origin`` names the log; the private key never leaves this value's process."""

    folder: Path
    origin: str
    private: Ed25519PrivateKey

    @property
    def content(self) -> Path:
        """The folder of the runs' content keys."""
        return self.folder / "content"

    @property
    def vkey(self) -> VKey:
        """The public half; its ``text`` is ``name+hash+base64``."""
        return VKey(self.origin, ED25519, self.private.public_key().public_bytes_raw())

    def signer(self) -> NoteSigner:
        """Signs the log's heads."""
        return NoteSigner(self.origin, self.private)


def make_keys(folder: Path, state_dir: Path, origin: str | None = None) -> SealerKeys:
    """Make a folder of keys and pin it for this user, so that ``verify`` and ``show`` find trust and content keys.

    ``origin``: the log's name, a URL without scheme; by default one that no other log has.
    Raises UsageError: the folder holds keys already (they are never overwritten), or the name is no log name.
    """
    origin = origin if origin is not None else f"spanseal.local/{secrets.token_hex(4)}"
    check_origin(origin)
    for name in ("log.key", "log.vkey", "trust"):
        if (folder / name).exists():
            raise UsageError(f"{folder / name} exists and is not overwritten: name another folder, or use these keys")
    keys = SealerKeys(folder, origin, Ed25519PrivateKey.generate())
    try:
        _write(keys)
    except OSError as error:
        raise UsageError(f"{folder}: keys cannot be written here: {error.strerror}") from error
    try:
        write_pin(origin, folder / "trust", folder, state_dir)
    except TrustError as error:
        raise TrustError(f"the keys are made and good, but {error}; name --trust and --content-keys instead") from error
    return keys


def load_keys(folder: Path) -> SealerKeys:
    """Read a folder that :func:`make_keys` made. Raises TrustError naming file, line and remedy."""
    path = folder / "log.key"
    origin, private = parse_private(_only_line(path), str(path))
    keys = SealerKeys(folder, origin, private)
    if path.stat().st_mode & 0o007:
        raise TrustError(f"{path}: every user of this machine may read the log's private key: chmod 600 it")
    public = folder / "log.vkey"
    if public.exists() and _only_line(public) != keys.vkey.text:
        raise TrustError(f"{public}: line 1: is not the public half of {path}; {_REMEDY}")
    if not keys.content.is_dir():
        raise TrustError(f"{keys.content}: the folder of content keys is missing; {_REMEDY}")
    return keys


def parse_private(line: str, place: str) -> tuple[str, Ed25519PrivateKey]:
    """Name and key from the signer text. ``place`` goes into the TrustError that a wrong text raises."""
    where = f"{place}: line 1"
    if not line.startswith(_PREFIX):
        kind = "this is a public key" if re.fullmatch(r"\S+\+[0-9a-f]{8}\+\S+", line) else "not a log's private key"
        raise TrustError(f"{where}: {kind}: it must begin with {_PREFIX}<name>+<hash>+; {_REMEDY}")
    name, _, rest = line.removeprefix(_PREFIX).partition("+")
    digest, _, encoded = rest.partition("+")
    try:
        data = from_base64(encoded, "the key")
        if data[:1] != bytes([ED25519]) or len(data) != 33:
            raise FormatError(f"it is no Ed25519 key but {len(data)} bytes of kind {data[:1].hex() or 'none'}")
        private = Ed25519PrivateKey.from_private_bytes(data[1:])
        if VKey(name, ED25519, private.public_key().public_bytes_raw()).key_id.hex() != digest:
            raise FormatError("its hash does not fit its name and key, so one of them was changed")
    except FormatError as error:
        raise TrustError(f"{where}: a damaged private key: {error}; {_REMEDY}") from None
    return name, private


def private_text(keys: SealerKeys) -> str:
    """The signer text of a key, one line without its newline (Go ``golang.org/x/mod/sumdb/note``)."""
    seed = to_base64(bytes([ED25519]) + keys.private.private_bytes_raw())
    return f"{_PREFIX}{keys.origin}+{keys.vkey.key_id.hex()}+{seed}"


def check_origin(origin: str) -> None:
    """Raise UsageError unless ``origin`` may name a log: no space, no plus sign, no control character, no scheme."""
    if not origin or len(origin) > 255 or "+" in origin or not origin.isprintable() or re.search(r"\s", origin):
        raise UsageError(f"--origin {origin!r}: a log's name has no space and no plus sign: example.com/agents/1")
    if "://" in origin:
        raise UsageError(f"--origin {origin!r}: write it without the scheme: {origin.split('://', 1)[1]}")


def check_apart(keys: Path, store: Path) -> None:
    """Raise UsageError when keys would lie in the store or the store among the keys: a copy would carry both."""
    inner, outer = keys.resolve(), store.resolve()
    if inner.is_relative_to(outer) or outer.is_relative_to(inner):
        raise UsageError(f"--keys {keys} and --store {store} lie in one another; part them, or a copy carries both")


def _write(keys: SealerKeys) -> None:
    folder = keys.folder
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    if not any(folder.iterdir()):
        folder.chmod(0o700)
    keys.content.mkdir(mode=0o700, exist_ok=True)
    _put(folder / "log.vkey", keys.vkey.text + "\n", 0o644)
    _put(folder / "trust", f"log {keys.vkey.text}\nquorum none\n", 0o644)
    _put(folder / "log.key", private_text(keys) + "\n", 0o600)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _put(path: Path, text: str, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())


def _only_line(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise TrustError(f"{path}: no such file; {_REMEDY}") from None
    except UnicodeDecodeError:
        raise TrustError(f"{path}: not a text file; {_REMEDY}") from None
    except OSError as error:
        raise TrustError(f"{path}: cannot be read ({error.strerror}); run as the user who made the keys") from None
    lines = text.removesuffix("\n").split("\n") if text else []
    if len(lines) != 1:
        raise TrustError(f"{path}: line {min(len(lines), 2)}: one line is expected, not {len(lines)}; {_REMEDY}")
    return lines[0]

