"""Read the lines of a C2SP tlog-policy file. May import tlog keys and errors; the meaning is in :mod:`.trust`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from spanseal.audit.tlog.keys import COSIGNATURE, ED25519, ML_DSA_44, VKey
from spanseal.errors import FormatError, TrustError

MAX_BYTES = 1 << 20
MAX_DEFINED = 64
"""At most so many logs, witnesses or groups; the specification asks for 32 of each."""
_LOG_TYPES, _WITNESS_TYPES = (ED25519, ML_DSA_44), (COSIGNATURE, ML_DSA_44)
_FORBIDDEN = re.compile(rb"[^\t\x20-\x7e\x80-\xff]")
_COUNT = re.compile(r"[1-9][0-9]{0,3}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Group:
    """Signed when at least ``threshold`` of its ``members`` (witnesses or groups) are."""

    threshold: int
    members: tuple[str, ...]


class _Policy:
    def __init__(self) -> None:
        self.logs: list[VKey] = []
        self.witnesses: dict[str, VKey] = {}
        self.groups: dict[str, Group] = {}
        self.quorum: list[str | None] = []
        self._members: set[str] = set()
        self.words: dict[str, Callable[[list[str]], None]] = {
            "log": self._log, "witness": self._witness, "group": self._group, "quorum": self._quorum
        }  # fmt: skip

    def _log(self, items: list[str]) -> None:
        if len(items) not in (1, 2):
            raise FormatError("a log line is: log <vkey> [<url>]")
        self.logs.append(_key(items[0], _LOG_TYPES, self.logs, "log"))

    def _witness(self, items: list[str]) -> None:
        if len(items) not in (2, 3):
            raise FormatError("a witness line is: witness <name> <vkey> [<url>]")
        key = _key(items[1], _WITNESS_TYPES, list(self.witnesses.values()), "witness")
        self.witnesses[self._new(items[0], len(self.witnesses))] = key

    def _group(self, items: list[str]) -> None:
        if len(items) < 3:
            raise FormatError("a group line is: group <name> all|any|<k> <member>...")
        name, rule, *members = items
        for member in members:
            self._defined(member)
            if member in self._members:
                raise FormatError(f"{member} is already a member of a group")
            self._members.add(member)
        if rule not in ("all", "any") and not (_COUNT.fullmatch(rule) and int(rule) <= len(members)):
            raise FormatError(f"the rule is all, any or a number from 1 to {len(members)}")
        threshold = {"all": len(members), "any": 1}.get(rule) or int(rule)
        self.groups[self._new(name, len(self.groups))] = Group(threshold, tuple(members))

    def _quorum(self, items: list[str]) -> None:
        if len(items) != 1 or self.quorum:
            raise FormatError("there is exactly one quorum line, with one name")
        if items[0] != "none":
            self._defined(items[0])
        self.quorum.append(None if items[0] == "none" else items[0])

    def _new(self, name: str, defined: int) -> str:
        if name == "none" or name in self.witnesses or name in self.groups:
            raise FormatError(f"the name {name} is taken")
        if defined >= MAX_DEFINED:
            raise FormatError(f"over {MAX_DEFINED} witnesses or groups are refused")
        return name

    def _defined(self, name: str) -> None:
        if name not in self.witnesses and name not in self.groups:
            raise FormatError(f"{name} is not defined above")


def read_policy(data: bytes, name: str) -> tuple[tuple[VKey, ...], dict[str, VKey], dict[str, Group], str | None]:
    """Logs, witnesses, groups and quorum (None: none needed) of a trust file called ``name`` in messages.

    Raises :class:`TrustError` with name and line number.
    """
    if len(data) > MAX_BYTES:
        raise TrustError(f"{name} is over 1 MiB: not a trust file")
    policy = _Policy()
    lines = data.split(b"\n")
    if lines.pop():
        raise TrustError(f"{name}:{len(lines) + 1}: the last line is not ended by LF; the file may be cut off")
    for number, line in enumerate(lines, 1):
        if _FORBIDDEN.search(line):
            raise TrustError(f"{name}:{number}: control characters are not allowed (line ends are LF)")
        # octets above 7f are opaque: kept apart from each other, never interpreted
        word, *items = [part.decode("utf-8", "surrogateescape") for part in re.split(rb"[ \t]+", line.strip(b" \t"))]
        if not word or word.startswith("#"):
            continue
        if word not in policy.words:
            raise TrustError(f"{name}:{number}: a line starts with log, witness, group or quorum; give `trust`")
        try:
            policy.words[word](items)
        except FormatError as error:
            raise TrustError(f"{name}:{number}: {printable(str(error))}") from None
    if not policy.quorum:
        raise TrustError(f"{name}: there is no quorum line; write 'quorum none' if no witness is needed")
    return tuple(policy.logs), policy.witnesses, policy.groups, policy.quorum[0]


def printable(name: str) -> str:
    """A name as it can be shown: octets that are not UTF-8 are escaped."""
    return name.encode("utf-8", "backslashreplace").decode()


def _key(text: str, types: tuple[int, ...], known: list[VKey], kind: str) -> VKey:
    key = VKey.parse(text)
    if key.type not in types:
        raise FormatError(f"a key of type {key.type:#04x} is not one of a {kind}")
    if any(key.public == other.public for other in known):
        raise FormatError(f"this {kind}'s public key stands twice")
    if len(known) >= MAX_DEFINED:
        raise FormatError(f"over {MAX_DEFINED} {kind} lines are refused")
    return key
