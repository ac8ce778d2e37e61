"""Values over the size policy: cut into parts that spans of their own carry, and put together again. Pure.

In place of the value stands ``{"spanseal.omitted": {"bytes": n, "sha256": "…", "parts": k}}``; ``k`` spans of the name
``spanseal.value`` hold it, cut between characters. Without ``parts`` the value was not kept. May import genai.

>>> parts = list(parts_of("größer", 3))
>>> parts
['gr', 'ö', 'ße', 'r']
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from spanseal.genai import semconv as sc
from spanseal.genai.wire_json import as_int, as_map, dumps, loads

PART_BYTES: Final = 1024 * 1024
CHANGED: Final = "do not give the value with this digest"
"""What is said of a value whose parts are all here and are not those that were written."""
_BEGIN: Final = f'{{"{sc.OMITTED}":'
_LONGEST_MARK: Final = 400


@dataclass(frozen=True, slots=True)
class Mark:
    """What stands for a value: its size (UTF-8), its digest, and in how many parts it is kept (0: it is not).

    ``missing`` is a reader's: why it could not put the value back.
    """

    size: int
    sha256: str
    parts: int = 0
    missing: str = ""

    @classmethod
    def of(cls, told: object) -> Mark | None:
        """From the JSON value; None if it is none."""
        found = as_map(told)
        size, sha256, missing = as_int(found.get("bytes")), found.get("sha256"), found.get("missing")
        if size is None or not isinstance(sha256, str):
            return None
        parts = as_int(found.get("parts")) or 0
        return cls(size, sha256, parts, missing if isinstance(missing, str) else "")

    @property
    def words(self) -> str:
        """For people."""
        reason = self.missing or (f"in {self.parts} parts elsewhere" if self.parts else "the value was not kept")
        return f"{self.size} bytes (sha256 {self.sha256}), {reason}"

    def text(self) -> str:
        """As the attribute's value."""
        told: dict[str, Any] = {"bytes": self.size, "sha256": self.sha256}
        if self.parts:
            told["parts"] = self.parts
        if self.missing:
            told["missing"] = self.missing
        return dumps({sc.OMITTED: told}).decode()


def mark_in(value: object) -> Mark | None:
    """The mark that an attribute's value is; None where it is the value itself."""
    if not isinstance(value, str) or len(value) > _LONGEST_MARK or not value.replace(" ", "")[:30].startswith(_BEGIN):
        return None
    try:
        document = loads(value)
    except ValueError:
        return None
    return Mark.of(as_map(document).get(sc.OMITTED)) if len(as_map(document)) == 1 else None


def not_here(attributes: Mapping[str, Any], names: Iterable[str]) -> str:
    """In words, the first of these attributes whose value is not here; empty if all are."""
    for name in names:
        mark = mark_in(attributes.get(name))
        if mark is not None:
            return f"{name} is not here: {mark.words}"
    return ""


def parts_of(text: str, most: int = PART_BYTES) -> Iterator[str]:
    """``text`` in pieces of at most ``most`` bytes of UTF-8, none of them empty; ``most`` is at least 4."""
    raw = text.encode()
    start = 0
    while start < len(raw):
        end = min(start + most, len(raw))
        while end < len(raw) and raw[end] & 0xC0 == 0x80:
            end -= 1
        yield raw[start:end].decode()
        start = end


@dataclass(slots=True)
class Values:
    """The parts that a reader has found, by the digest of their value."""

    _parts: dict[str, dict[int, str]] = field(default_factory=dict[str, dict[int, str]])
    _whole: dict[str, str] = field(default_factory=dict[str, str])

    def add(self, attributes: Mapping[str, Any]) -> None:
        """The attributes of a value span; anything else is passed over."""
        sha256, part, text = (attributes.get(key) for key in (sc.VALUE_SHA256, sc.VALUE_PART, sc.VALUE_TEXT))
        if isinstance(sha256, str) and isinstance(part, int) and isinstance(text, str):
            self._parts.setdefault(sha256, {}).setdefault(part, text)

    def __bool__(self) -> bool:
        return bool(self._parts)

    def find(self, mark: Mark) -> tuple[str | None, str]:
        """The value, or None and what is missing, in words."""
        if not mark.parts:
            return None, "the value was not kept"
        known = self._whole.get(mark.sha256)
        if known is not None:
            return known, ""
        parts = self._parts.get(mark.sha256, {})
        lost = [str(number) for number in range(1, mark.parts + 1) if number not in parts]
        if lost:
            listed = ", ".join(lost[:8]) + (" and more" if len(lost) > 8 else "")
            few = f"part{'s' * (len(lost) > 1)} {listed} of {mark.parts} missing"
            return None, f"{few} (a folder export has them in its values/)"
        text = "".join(parts[number] for number in range(1, mark.parts + 1))
        if hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest() != mark.sha256:
            return None, f"the {mark.parts} parts {CHANGED}"
        self._whole[mark.sha256] = text
        return text, ""

    def put_back(self, attributes: Mapping[str, Any]) -> tuple[Mapping[str, Any], list[str]]:
        """The attributes with their values; for each that is not whole the reason, which names key, size and digest."""
        changed: dict[str, Any] = {}
        problems: list[str] = []
        for key, value in attributes.items():
            mark = mark_in(value)
            if mark is None:
                continue
            text, missing = self.find(mark)
            if text is None:
                lost = replace(mark, missing=missing)
                problems.append(f"{key} is not here: {lost.words}")
                changed[key] = lost.text()
            else:
                changed[key] = text
        return ({**attributes, **changed} if changed else attributes), problems
