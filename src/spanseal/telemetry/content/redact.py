"""Masks keys and tokens in text that is about to be recorded. Pure; may import nothing of spanseal.

A first net for secrets that slip into content: keys of model providers, bearer tokens, authorization headers, private
keys. It is no data-loss prevention; what it does not know it does not find. The keys that a client itself uses are
known, and struck out wherever they occur.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

# A word that must occur before its pattern is tried at all: searching a literal is some hundred times faster.
_CLASSES: Final[tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...]] = (
    ("bearer", ("earer ", "EARER "), re.compile(r"\bbearer +[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)),
    ("basic", ("asic ",), re.compile(r"(?<=authorization: )basic +[A-Za-z0-9+/=]{8,}", re.IGNORECASE)),
    ("api-key", ("sk-",), re.compile(r"\bsk-[A-Za-z0-9_-]{16,}")),
    ("api-key", ("gsk_",), re.compile(r"\bgsk_[A-Za-z0-9]{20,}")),
    ("api-key", ("AIza",), re.compile(r"\bAIza[A-Za-z0-9_-]{30,}")),
    ("api-key", ("hf_",), re.compile(r"\bhf_[A-Za-z0-9]{20,}")),
    ("token", ("gh",), re.compile(r"\bgh[pousr]_[A-Za-z0-9]{20,}|\bgithub_pat_[A-Za-z0-9_]{20,}")),
    ("token", ("xox",), re.compile(r"\bxox[abprs]-[A-Za-z0-9-]{10,}")),
    ("token", ("eyJ",), re.compile(r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*")),
    ("access-key", ("AKIA", "ASIA"), re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")),
    (
        "private-key",
        ("PRIVATE KEY-----",),
        re.compile(
            r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:\\[nr]|[A-Za-z0-9+/=\s])*(?:-----END [A-Z ]*PRIVATE KEY-----)?"
        ),
    ),
)

_QUERY_SECRET: Final = re.compile(r"([?&](?:api[-_]?key|key|sig|signature|\w*token|code)=)[^&\s\"'>]+", re.IGNORECASE)


def redact(text: str) -> str:
    """``text`` with every known kind of secret replaced by ``[redacted:class:length]`` (length in characters).

    JSON text stays valid JSON: no pattern reaches over a quotation mark.

    >>> redact('{"key": "sk-abcdefghijklmnopqrst"}')
    '{"key": "[redacted:api-key:23]"}'
    """
    for name, words, pattern in _CLASSES:
        if any(word in text for word in words):
            text = pattern.sub(lambda found, name=name: f"[redacted:{name}:{len(found.group())}]", text)
    return text


class Redactor:
    """Which kinds of values are masked in this process. ``classes`` and ``keys`` as in the settings."""

    def __init__(
        self,
        classes: Sequence[str] = ("secrets",),
        keys: Sequence[str] = (),
        custom: Sequence[Callable[[str], str]] = (),
    ) -> None:
        self.classes, self.keys, self.custom = tuple(classes), tuple(keys), tuple(custom)

    def text(self, text: str) -> str:
        """``text`` with every value of these kinds masked."""
        return redact(text) if "secrets" in self.classes else text


def without_keys(data: bytes, secrets: tuple[str, ...]) -> bytes:
    """``data`` without the client's own keys; short ones are words (``not-needed``, ``lm-studio``) and stay.

    >>> without_keys(b"my key is key-1234567890abcdef", ("key-1234567890abcdef",))
    b'my key is [redacted]'
    """
    for secret in map(str.strip, secrets):
        if len(secret) >= 16 and secret.encode() in data:
            data = data.replace(secret.encode(), b"[redacted]")
    return data


def scrubbed(text: str, secret_texts: tuple[str, ...]) -> str:
    """An error's text without the client's own keys and without keys in URLs; at most 2,000 characters.

    >>> scrubbed("401 for https://h/v1?api-key=abc&x=1 with key-12345678", ("key-12345678",))
    '401 for https://h/v1?api-key=[redacted]&x=1 with [redacted]'
    """
    for secret in secret_texts:
        for form in (secret, repr(secret)[1:-1], secret.strip()):  # a key with a line break is quoted by who refuses it
            if len(form) >= 4:
                text = text.replace(form, "[redacted]")
    return _QUERY_SECRET.sub(r"\1[redacted]", text[:2000])
