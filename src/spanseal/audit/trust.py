"""What a verifier believes: log keys, witnesses and the quorum, in the C2SP tlog-policy format.

::

    log <vkey> [<url>]                       whose heads are accepted; the key's name is the log's origin
    witness <name> <vkey> [<url>]            who may cosign
    group <name> all|any|<k> <member>...     members were defined above, each in one group at most
    quorum <name>|none                       exactly once

Space and tab separate; empty lines and lines starting with ``#`` are ignored. Keys come from here only, never from
the store. May import tlog, findings, errors. Source: C2SP tlog-policy (2026-06).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from spanseal.audit.findings import CODES
from spanseal.audit.tlog.checkpoint import Checkpoint
from spanseal.audit.tlog.keys import VKey
from spanseal.audit.tlog.note import Note
from spanseal.audit.trust_file import Group, printable, read_policy
from spanseal.errors import FormatError, TrustError


class HeadError(TrustError):
    """A head that may not be believed. ``code`` is the reason code of :mod:`.findings`, ``detail`` who it concerns."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(f"{CODES[code].meaning} ({detail})" if detail else CODES[code].meaning)
        self.code = code
        self.detail = detail


@dataclass(frozen=True, slots=True)
class Trust:
    """A trust file's content. ``quorum`` is a name in ``witnesses`` or ``groups``, or None.

    >>> key = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k"
    >>> trust = Trust.parse(f"log {key}\\nquorum none\\n")
    >>> trust.origins, trust.witnessed
    (('example.com/foo',), False)
    """

    logs: tuple[VKey, ...]
    witnesses: Mapping[str, VKey]
    groups: Mapping[str, Group]
    quorum: str | None

    @classmethod
    def parse(cls, text: str | bytes, name: str = "trust file") -> Trust:
        """Read a trust file. Raises :class:`TrustError` with ``name`` and the line's number."""
        raw = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
        return cls(*read_policy(raw, name))

    @classmethod
    def load(cls, path: str | Path) -> Trust:
        """Read the trust file at ``path``. Raises :class:`TrustError` if there is none or it is not one."""
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise TrustError(f"the trust file {path} cannot be read: {error.strerror}") from None
        return cls.parse(data, str(path))

    @property
    def origins(self) -> tuple[str, ...]:
        """The logs whose heads are accepted."""
        return tuple(dict.fromkeys(key.name for key in self.logs))

    @property
    def witnessed(self) -> bool:
        """Whether no quorum can be reached by the log's own keys alone: somebody else must have seen each head."""
        own = {name for name, key in self.witnesses.items() if key.name in self.origins}
        return self.quorum is not None and not self._reached(self.quorum, own)

    def verify_head(self, note: bytes) -> Checkpoint:
        """The checkpoint of a signed note, if one of the logs signed it and the quorum is met.

        Raises :class:`HeadError` with a reason code: head-malformed, origin-mismatch, signature-invalid,
        signer-unknown, signature-missing, quorum-not-met.
        """
        try:
            parsed = Note.parse(note)
            head = Checkpoint.parse(parsed.text)
        except FormatError as error:
            raise HeadError("head-malformed", str(error)) from None
        keys = [key for key in self.logs if key.name == head.origin]
        if not keys:
            raise HeadError("origin-mismatch", f"{head.origin} is not among {', '.join(self.origins) or 'no logs'}")
        if True not in {
            _signed(parsed, key) for key in keys
        }:  # every one is checked: known but invalid rejects the note
            known = (*keys, *self.witnesses.values())
            in_its_name = [signature for signature in parsed.signatures if signature.name == head.origin]
            stranger = not all(any(signature.by(key) for key in known) for signature in in_its_name)
            raise HeadError("signer-unknown" if stranger else "signature-missing", head.origin)
        signed = {name for name, key in self.witnesses.items() if _signed(parsed, key)}
        if self.quorum is not None and not self._reached(self.quorum, signed):
            missing = ", ".join(printable(name) for name in self.witnesses if name not in signed)
            raise HeadError("quorum-not-met", f"{printable(self.quorum)}: no signature of {missing}")
        return head

    def _reached(self, name: str, signed: set[str]) -> bool:
        """Whether a witness signed, or enough of a group's members did. Groups only name what stands above them."""
        if name in self.witnesses:
            return name in signed
        group = self.groups[name]
        return sum(self._reached(member, signed) for member in group.members) >= group.threshold


def _signed(note: Note, key: VKey) -> bool:
    try:
        return note.signed(key) is not None
    except FormatError:
        raise HeadError("signature-invalid", f"key {key.name} {key.key_id.hex()}") from None
