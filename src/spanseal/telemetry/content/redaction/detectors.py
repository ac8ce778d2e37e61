"""Finds secrets, e-mail addresses, card numbers and bank accounts in a text. Pure; may import nothing of spanseal.

A detector is a function from a text to the text with every match replaced by ``[redacted:class:length]`` (length in
characters). Each has words of which one must occur before it is tried: searching a literal is some hundred times faster
than a pattern. It is no data-loss prevention; what it does not know it does not find.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from spanseal.telemetry.content.redaction.numbers import account_length, is_card

Judge = Callable[[re.Match[str]], int]
"""How many characters of a match are the value, from its beginning; 0: it only looks like one."""


def mark(name: str, length: int) -> str:
    """What stands for a redacted value.

    >>> mark("email", 15)
    '[redacted:email:15]'
    """
    return f"[redacted:{name}:{length}]"


@dataclass(frozen=True, slots=True)
class Detector:
    """One kind of value; ``words`` or a quick ``probe`` say whether to look at all."""

    name: str
    words: tuple[str, ...]
    pattern: re.Pattern[str]
    probe: Callable[[str], bool] | None = None
    judge: Judge | None = None

    def possible(self, text: str) -> bool:
        """Whether it is worth to look; quick."""
        for word in self.words:
            if word in text:
                return True
        return self.probe is not None and self.probe(text)

    def masked(self, text: str) -> str:
        """``text`` with every match replaced."""
        return self.pattern.sub(self._replaced, text)

    def _replaced(self, found: re.Match[str]) -> str:
        whole = found.group()
        length = len(whole) if self.judge is None else self.judge(found)
        return mark(self.name, length) + whole[length:] if length else whole


def _secret(name: str, words: tuple[str, ...], pattern: str, flags: int = 0) -> Detector:
    return Detector(name, words, re.compile(pattern, flags))


def _pair(found: re.Match[str]) -> int:
    """All of ``Basic`` and base64, if that says name and password."""
    coded = found.group().split()[1].rstrip("=")
    try:
        said = base64.b64decode(coded + "=" * (-len(coded) % 4))
    except ValueError:
        return 0
    return len(found.group()) if b":" in said and said.isascii() else 0


def _url_with_at(text: str) -> bool:
    return "@" in text and "://" in text


def _user_and_password(found: re.Match[str]) -> int:
    said = found.group()
    return len(said) - 1 if ":" in said and not said.startswith("[redacted:") else 0


_EDGE: Final = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtfbv]))"
"""Where a value may begin: also behind the escape of a line break, as Python prints a text."""
_KEY_BLOCK: Final = (
    r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----"
    r"(?:(?s:.){0,8192}?-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|(?:\\[nr]|[A-Za-z0-9+/=:,\s]|-(?!-))*)"
)
_SECRETS: Final = (
    _secret(
        "bearer", ("earer", "EARER"),
        r"\bbearer(?:[ \t]+|%20|\+)(?!(?:authenti|authori[sz]|credential|instrument|securit|certificat)[a-z]*\b)"
        r"[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE,
    ),
    Detector("basic", ("asic ", "ASIC "), re.compile(r"\bbasic +[A-Za-z0-9+/=]{8,}", re.IGNORECASE), None, _pair),
    Detector("url-password", (), re.compile(r"(?<=://)[^\s/?#\"'<>\\]{1,512}@"), _url_with_at, _user_and_password),
    _secret("api-key", ("sk-",), _EDGE + r"sk-(?=[a-z_-]*(?:[A-Z0-9]|[a-z]{16}))[A-Za-z0-9_-]{16,}"),
    _secret(
        "api-key", ("sk_live_", "rk_live_", "sk_test_", "rk_test_", "whsec_"),
        _EDGE + r"(?:[sr]k_(?:live|test)|whsec)_[A-Za-z0-9+/=]{16,}",
    ),
    _secret("api-key", ("gsk_",), _EDGE + r"gsk_[A-Za-z0-9]{20,}"),
    _secret("api-key", ("AIza",), _EDGE + r"AIza[A-Za-z0-9_-]{30,}"),
    _secret("api-key", ("hf_",), _EDGE + r"hf_[A-Za-z0-9]{20,}"),
    _secret(
        "api-key", ("xai-", "pplx-", "nvapi-", "tvly-", "r8_", "lsv2_"),
        _EDGE + r"(?:xai-|pplx-|nvapi-|tvly-|r8_|lsv2_(?:pt|sk)_)(?=[A-Za-z_-]*[0-9])[A-Za-z0-9_-]{20,}",
    ),
    _secret("token", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), _EDGE + r"gh[pousr]_[A-Za-z0-9]{20,}"),
    _secret("token", ("github_pat_",), _EDGE + r"github_pat_[A-Za-z0-9_]{20,}"),
    _secret("token", ("glpat-", "npm_", "pypi-Ag"), _EDGE + r"(?:glpat-|npm_|pypi-Ag)[A-Za-z0-9_-]{20,}"),
    _secret(
        "token", ("xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-", "xapp-"),
        _EDGE + r"x(?:ox[abeprs]|app)-[A-Za-z0-9-]{10,}",
    ),
    _secret("token", ("eyJ",), _EDGE + r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    _secret("access-key", ("AKIA", "ASIA"), _EDGE + r"(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
    _secret("private-key", ("PRIVATE KEY-----", "PRIVATE KEY BLOCK-----"), _KEY_BLOCK),
)


class _Email(Detector):
    """Looks back from each at sign, so that a long text without spaces costs no more than a short one."""

    _LOCAL = re.compile(r"[\w.!#$'*+^`{|}~-]{1,64}\Z")

    def masked(self, text: str) -> str:
        """See :meth:`Detector.masked`."""
        parts: list[str] = []
        done = 0
        for found in self.pattern.finditer(text):
            local = self._LOCAL.search(text, max(done, found.start() - 64), found.start())
            if local is not None and local.group().strip("."):
                parts += text[done : local.start()], mark(self.name, found.end() - local.start())
                done = found.end()
        return "".join((*parts, text[done:])) if parts else text


_DOMAIN: Final = re.compile(
    r"(?:@|%40)(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.){1,8}(?:[^\W\d_]{2,63}|xn--[a-z0-9-]{1,59})(?![\w-])"
)
_BETWEEN: Final = r"(?:[ \u00a0]{1,3}|[-._/]|\r?\n)"
_GROUPS: Final = re.compile(
    r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrtfbv]))(?<![0-9][.,])"
    rf"(?:[0-9]{{4}}(?:{_BETWEEN}[0-9]{{4}}){{3}}(?![0-9])|[0-9]+(?:[ \u00a0-][0-9]+)*)(?![A-Za-z0-9_])(?![.,]0*[1-9])"
)
_ACCOUNT: Final = re.compile(_EDGE + r"[A-Za-z]{2}[0-9]{2}(?:[ \u00a0-]{0,2}[A-Za-z0-9]){11,30}")


class _Card(Detector):
    """Tries every row of whole digit groups: a date or a house number may stand before or behind a card number."""

    def masked(self, text: str) -> str:
        """See :meth:`Detector.masked`."""
        return self.pattern.sub(self._in_run, text)

    def _in_run(self, found: re.Match[str]) -> str:
        run = found.group()
        groups = [(each.start(), each.end()) for each in re.finditer(r"[0-9]+", run)]
        parts: list[str] = []
        done = at = 0
        while at < len(groups):
            last = _card_end(run, groups, at)
            if last < 0:
                at += 1
                continue
            parts += run[done : groups[at][0]], mark(self.name, groups[last][1] - groups[at][0])
            done, at = groups[last][1], last + 1
        return "".join((*parts, run[done:]))


def _card_end(run: str, groups: list[tuple[int, int]], first: int) -> int:
    """The last group of the card number that begins with group ``first``; -1 if none does."""
    digits = ""
    for last in range(first, min(first + 10, len(groups))):
        digits += run[slice(*groups[last])]
        if len(digits) > 19:
            return -1
        if is_card(digits):
            return last
    return -1


_DIGITS_ALIKE: Final = bytes(48 if chr(code).isdigit() else code for code in range(128)) + bytes(range(128, 256))
_FORMS: Final = bytes(
    48 if 48 <= code <= 57 else 65 if chr(code).isalpha() else 46 for code in range(128)
) + bytes([46]) * 128


def _thirteen_digits(text: str) -> bool:
    """Whether thirteen digits follow each other, whatever separates them."""
    raw = text.encode("utf-8", "surrogatepass")
    return b"0000000000000" in raw.translate(_DIGITS_ALIKE, b" -\xc2\xa0._/\r\n")


def _two_letters_two_digits(text: str) -> bool:
    """Whether something begins as a bank account does."""
    forms = text.encode("utf-8", "surrogatepass").translate(_FORMS)
    return b".AA00" in forms or forms.startswith(b"AA00")


def _account(found: re.Match[str]) -> int:
    return account_length(found.group())


CLASSES: Final[dict[str, tuple[Detector, ...]]] = {
    "secrets": _SECRETS,
    "email": (_Email("email", ("@", "%40"), _DOMAIN),),
    "iban": (Detector("iban", (), _ACCOUNT, _two_letters_two_digits, _account),),
    "card": (_Card("card", (), _GROUPS, _thirteen_digits),),
}
"""The classes of the settings by name. An account is looked for before a card number, which it may contain."""
