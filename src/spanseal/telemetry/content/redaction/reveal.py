"""Texts as a person reads them: escapes of printable signs decoded, look-alikes of digits and signs made plain. Pure.

Only for searching: what is found in the plain text is what must go from the other. Imports nothing of spanseal.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_ESCAPE: Final = re.compile(
    r"\\+(?:u(?P<wide>00[2-7aA][0-9A-Fa-f]|20(?:0[0-9A-Fa-f]|1[0-5]|2[fF]|5[fF]|60)|0[69][6fF][0-9A-Fa-f]|2212|3000"
    r"|[fF][eE](?:58|6[3bB]|[fF][fF])|[fF][fF][0-5][0-9A-Fa-f])"
    r"|x(?P<short>[2-7][0-9A-Fa-f]))"
)
_PERCENT: Final = re.compile(r"%(2[0-9A-Fa-f]|3[0-9aAdD]|40|5[fF])")
_DIGITS: Final = "".join(
    f"{chr(zero)}-{chr(zero + 9)}"
    for zero in (
        0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xDE6, 0xE50, 0xED0, 0xF20,
        0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0, 0x1C40, 0x1C50, 0xA620, 0xA8D0,
        0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0x1D7CE, 0x1D7D8, 0x1D7E2, 0x1D7EC, 0x1D7F6,
    )
)
_ALIKE: Final = re.compile(
    rf"[{_DIGITS}\u00a0\u00ad\u2000-\u200f\u2010-\u2015\u202f\u205f\u2060\u2212\u3000\ufe58\ufe63\ufe6b\ufeff"
    "\uff01-\uff5e]"
)


def revealed(text: str) -> str:
    """``text`` without disguises; the same object if it has none.

    >>> revealed("ann\\\\u0040example.org 4111\u20111111 \uff14\uff11 a%20b")
    'ann@example.org 4111-1111 41 a b'
    """
    if ("\\u" in text or "\\x" in text) and _ESCAPE.search(text) is not None:
        text = _ESCAPE.sub(lambda found: chr(int(found[found.lastgroup or 0], 16)), text)
    if "%" in text and _PERCENT.search(text) is not None:
        text = _PERCENT.sub(lambda found: chr(int(found[1], 16)), text)
    if not text.isascii() and _ALIKE.search(text) is not None:
        text = _ALIKE.sub(_plain, text)
    return text


def _plain(found: re.Match[str]) -> str:
    sign = found.group()
    digit = unicodedata.decimal(sign, None)
    if digit is not None:
        return str(digit)
    if "\uff01" <= sign <= "\uff5e":
        return chr(ord(sign) - 0xFEE0)
    kind = unicodedata.category(sign)
    return "@" if sign == "\ufe6b" else "-" if kind in ("Pd", "Sm", "Po") else " " if kind == "Zs" else ""
