"""One value and the place it came from: a variable, a line of a file, an argument of a call. May import errors only."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from spanseal.errors import SettingsError


@dataclass(frozen=True, slots=True)
class Value:
    """A raw value and the place it came from, so that every complaint can name it.

    >>> Value("12", "SPANSEAL_MAX_VALUE_BYTES").at_least(10)
    12
    """

    raw: Any
    place: str

    def text(self) -> str:
        """A non-empty text."""
        if not isinstance(self.raw, str) or not self.raw:
            raise SettingsError(f"{self.place}: {self.raw!r} is not a text")
        return self.raw

    def one_of(self, *allowed: str) -> str:
        """One of the allowed words."""
        if self.raw not in allowed:
            raise SettingsError(f"{self.place}: {self.raw!r} is not one of {', '.join(allowed)}")
        return str(self.raw)

    def at_least(self, least: int) -> int:
        """A whole number not below ``least``."""
        try:
            number = -1 if isinstance(self.raw, bool | float) else int(self.raw)
        except (ValueError, TypeError):
            number = -1
        if number < least:
            raise SettingsError(f"{self.place}: {self.raw!r} is not a whole number of at least {least}")
        return number

    def seconds(self, *, zero: bool = False) -> float:
        """A positive number of seconds; ``zero`` allows 0 too."""
        try:
            number = math.nan if isinstance(self.raw, bool) else float(self.raw)
        except (ValueError, TypeError):
            number = math.nan
        if not (0 < number < math.inf or (zero and number == 0)):
            raise SettingsError(f"{self.place}: {self.raw!r} is not a {'' if zero else 'positive '}number of seconds")
        return number

    def words(self) -> tuple[str, ...]:
        """A list of texts; in a variable separated by commas.

        >>> Value("email, card", "SPANSEAL_REDACT").words()
        ('email', 'card')
        """
        given = cast("object", self.raw.split(",") if isinstance(self.raw, str) else self.raw)
        if not isinstance(given, list | tuple):
            raise SettingsError(f"{self.place}: {self.raw!r} is not a list of texts")
        items = cast("Sequence[object]", given)
        if not all(isinstance(item, str) for item in items):
            raise SettingsError(f"{self.place}: {self.raw!r} is not a list of texts")
        return tuple(str(item).strip() for item in items if str(item).strip())

    def patterns(self) -> tuple[str, ...]:
        """A list of regular expressions; in a variable separated by commas (write ``\\x2c`` for one in a pattern)."""
        words = self.words()
        for word in words:
            try:
                re.compile(word)
            except re.error as error:
                raise SettingsError(f"{self.place}: {word!r} is no regular expression ({error})") from error
        return words

    def boolean(self) -> bool:
        """true or false (also on, off, yes, no, 1, 0 in a variable)."""
        if isinstance(self.raw, bool):
            return self.raw
        word = str(self.raw).lower()
        if word not in ("true", "false", "on", "off", "yes", "no", "1", "0"):
            raise SettingsError(f"{self.place}: {self.raw!r} is not true or false")
        return word in ("true", "on", "yes", "1")
