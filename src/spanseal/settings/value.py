"""One value and the place it came from: a variable, a line of a file, an argument of a call. May import errors only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

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

    def seconds(self) -> float:
        """A positive number of seconds."""
        try:
            number = float(self.raw)
        except (ValueError, TypeError):
            number = math.nan
        if not 0 < number < math.inf:
            raise SettingsError(f"{self.place}: {self.raw!r} is not a positive number of seconds")
        return number

    def boolean(self) -> bool:
        """true or false (also on, off, yes, no, 1, 0 in a variable)."""
        if isinstance(self.raw, bool):
            return self.raw
        word = str(self.raw).lower()
        if word not in ("true", "false", "on", "off", "yes", "no", "1", "0"):
            raise SettingsError(f"{self.place}: {self.raw!r} is not true or false")
        return word in ("true", "on", "yes", "1")
