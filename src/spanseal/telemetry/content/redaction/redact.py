"""Strikes secrets out of what is not an attribute: request bytes, errors' texts, log lines. Pure; imports ``redactor``.

The keys that a client itself uses are known, and struck out wherever they occur.
"""

from __future__ import annotations

import re
from typing import Final

from spanseal.telemetry.content.redaction.redactor import Redactor

_QUERY_SECRET: Final = re.compile(r"([?&](?:api[-_]?key|key|sig|signature|\w*token|code)=)[^&\s\"'>]+", re.IGNORECASE)


_SECRETS: Final = Redactor(("secrets",), ())


def redact(text: str) -> str:
    """``text`` with every known kind of secret masked, whatever the settings: for log lines and errors' texts.

    >>> redact('{"key": "sk-abcdefghijklmnopqrst"}')
    '{"key": "[redacted:api-key:23]"}'
    """
    return _SECRETS.text(text)


def without_keys(data: bytes, secrets: tuple[str, ...]) -> bytes:
    """``data`` without the client's own keys; short ones are words (``not-needed``, ``lm-studio``) and stay.

    >>> without_keys(b"my key is key-1234567890abcdef", ("key-1234567890abcdef",))
    b'my key is [redacted]'
    """
    for secret in map(str.strip, secrets):
        if len(secret) >= 16 and secret.encode() in data:
            data = data.replace(secret.encode(), b"[redacted]")
    return data


def struck(text: str, secrets: tuple[str, ...]) -> str:
    """:func:`without_keys` for a text.

    >>> struck("my key is key-1234567890abcdef", ("key-1234567890abcdef",))
    'my key is [redacted]'
    """
    if any(secret.strip() in text for secret in secrets):
        return without_keys(text.encode("utf-8", "surrogatepass"), secrets).decode("utf-8", "surrogatepass")
    return text


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
