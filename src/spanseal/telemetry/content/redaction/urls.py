"""Credentials in URLs of others' services: ``https://user:password@host/?api_key=…``. Pure; imports none of ours.

Whatever stands there for a user goes, and the values of parameters that are named like keys.
"""

from __future__ import annotations

import re
from typing import Final

_USERINFO: Final = re.compile(r"(?<=://)[^/?#]{1,4096}(?=@)")
_QUERY: Final = re.compile(
    r"(?<=[?&])([^=&#]{0,64}(?:key|token|secret|passw(?:or)?d|auth|sig|signature)=)([^&#]+)", re.IGNORECASE
)


def without_credentials(url: str) -> str:
    """``url`` with them masked; the same text where there are none.

    >>> without_credentials("https://me:secret@example.org/?q=1&api_key=12345678")
    'https://[redacted:url-password:9]@example.org/?q=1&api_key=[redacted:key:8]'
    """
    url = _USERINFO.sub(lambda found: _mark("url-password", found.group()), url)
    return _QUERY.sub(lambda found: found[1] + _mark("key", found[2]), url)


def _mark(name: str, value: str) -> str:
    return value if value.startswith("[redacted") else f"[redacted:{name}:{len(value)}]"
