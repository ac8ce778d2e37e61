"""What an adapter may be given, looked at before the first call: a client would complain late, and in its own words.

May import errors.
"""

from __future__ import annotations

import math
from typing import TypeGuard
from urllib.parse import urlsplit

from spanseal.errors import UsageError


def check_options(
    owner: str, *, model: object = "-", url: object = None, key: object = None, timeout: object = None,
    max_retries: object = None, schemes: tuple[str, ...] = ("http", "https"),
) -> None:
    """Raise :class:`spanseal.errors.UsageError` for the first value that cannot work; None stands for not given.

    ``owner`` begins the message. The key is never shown. With ``schemes`` empty a host without scheme will do.

    >>> check_options("create_adapter", timeout="30")
    Traceback (most recent call last):
    spanseal.errors.UsageError: create_adapter: timeout is a positive number of seconds, not '30'
    """
    if not isinstance(model, str) or not model.strip():
        raise UsageError(f"{owner}: the model's name is a text such as gpt-5-mini, not {model!r}")
    if url is not None and not _is_url(url, schemes):
        example = "http://127.0.0.1:8080/v1" if schemes else "http://127.0.0.1:11434"
        raise UsageError(f"{owner}: {url!r} is no URL of a server; expected is something like {example}")
    if key is not None and not (isinstance(key, str) and key.isascii() and key.isprintable() and " " not in key):
        raise UsageError(f"{owner}: the key is a text of printable ASCII characters without spaces (it is not shown)")
    if timeout is not None and not (_is_number(timeout) and timeout > 0):
        raise UsageError(f"{owner}: timeout is a positive number of seconds, not {timeout!r}")
    if max_retries is not None and not (isinstance(max_retries, int) and _is_number(max_retries) and max_retries >= 0):
        raise UsageError(f"{owner}: max_retries is a whole number of at least 0, not {max_retries!r}")


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)


def _is_url(url: object, schemes: tuple[str, ...]) -> bool:
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        return parts is not None and bool(url) and (not schemes or (parts.scheme in schemes and bool(parts.hostname)))
    except ValueError:
        return False
