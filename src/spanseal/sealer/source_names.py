"""How an export file is named in the log: for good and readable by everyone, so without a digest that gives it away.

A file of spans is named by their ids and times, which are readable in the log anyway. Only a file that begins with
something else is named by its bytes. Either way the digest is keyed: whoever has the store alone can confirm no guess
of what a file began with. The key lies with the content keys, under a scope of its own; destroying it (which erasing
a line that is no OTLP should do) makes files be read under new names, their spans are then recognised as duplicates.
May import audit.
"""

from __future__ import annotations

import hmac
import re
from typing import Final

from spanseal.audit.content_keys import ContentKeys

HEAD: Final = 1 << 16
"""How many bytes at most name a file; its first line does where that is shorter."""

_PUBLIC: Final = re.compile(rb'"(?:traceId|spanId)"\s*:\s*"[0-9a-f]+"|"(?:start|end)TimeUnixNano"\s*:\s*"?[0-9]+')


def naming_key(content_keys: ContentKeys) -> bytes:
    """The log's key for names of files, made and durable on return; a new one after the last was destroyed."""
    number = 0
    while (key := content_keys.key_for(f"sources:{number}", create=True)) is None:
        number += 1
    return key


def fingerprint(head: bytes, key: bytes, *, whole: bool) -> str | None:
    """Name a file by its first line, blank ones before it included, or by its first ``HEAD`` bytes.

    Both stay as they are while the file is appended to. ``None`` while neither is there yet, unless ``whole``: the
    file ends here and will not grow.

    >>> key = bytes(32)
    >>> fingerprint(b'{"a":1}', key, whole=False) is None
    True
    >>> fingerprint(b'{"a":1}\\n', key, whole=False) == fingerprint(b'{"a":1}\\n{"b":2}', key, whole=False)
    True
    """
    head = head[:HEAD]
    blank = len(head) - len(head.lstrip(b"\r\n"))
    end = head.find(b"\n", blank)
    if end >= 0:
        head = head[: end + 1]
    elif len(head) < HEAD and not whole:
        return None
    return hmac.digest(key, b"source" + (b"\n".join(_PUBLIC.findall(head)) or head), "sha256")[:16].hex()
