"""Which values are masked in this process, and the masking of texts and attributes. Pure but for a word in the log.

JSON text stays valid JSON, with its structure, counts and all bytes that hold no such value. May import the siblings
``detectors`` and ``json_walk``.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from spanseal.settings import DEFAULT_REDACT_KEYS
from spanseal.telemetry.content.redaction.detectors import CLASSES, mark
from spanseal.telemetry.content.redaction.json_walk import Change, is_json, keys_in, looks_json, members_removed, walked
from spanseal.telemetry.content.redaction.named_values import any_place, default_places, named_in, named_removed
from spanseal.telemetry.content.redaction.remembered import Remembered
from spanseal.telemetry.content.redaction.reveal import revealed

Custom = Callable[[str], str]
_DEEPEST: Final = 6
_MOST_KEYS: Final = 4096
_HIDDEN: Final = re.compile(r"\\u00[2-7]")
"""An escape of a printable ASCII character: what quotes JSON may hide in it."""
_log = logging.getLogger("spanseal")


class Redactor:
    """Masks ``classes`` of values (as in the settings), values of matching ``keys``, and what ``custom`` takes out.

    ``keys`` are regular expressions, searched in the keys of attributes and of JSON objects without regard to case;
    under such a key texts and numbers go, also in a list, but no object and no boolean (a JSON schema may have a
    property named ``password``). ``custom`` functions get a text, inside JSON each string decoded, and return it
    without what must not be kept; one that raises costs the text that it was given: ``[redacted:error:length]``.

    >>> Redactor(("email",)).text('{"to": "ann\\\\u0040example.org", "password": "x"}')
    '{"to": "[redacted:email:15]", "password": "[redacted:key:1]"}'
    """

    def __init__(
        self,
        classes: Sequence[str] = ("secrets",),
        keys: Sequence[str] = DEFAULT_REDACT_KEYS,
        custom: Sequence[Custom] = (),
    ) -> None:
        self.classes, self.keys, self.custom = tuple(classes), tuple(keys), tuple(custom)
        self._detectors = tuple(found for name, each in CLASSES.items() if name in self.classes for found in each)
        self._words = _gated(tuple(word for each in self._detectors for word in each.words))
        self._probes = tuple(each.probe for each in self._detectors if each.probe is not None)
        self._card = CLASSES["card"][0] if "card" in self.classes else None
        self._pattern = re.compile("|".join(f"(?:{key})" for key in keys), re.IGNORECASE) if keys else None
        self._places = default_places if set(keys) <= set(DEFAULT_REDACT_KEYS) else any_place
        self._known_keys: dict[str, bool] = {}
        self._seen = Remembered()
        self._inside = threading.local()
        self._told: set[str] = set()

    def text(self, text: str) -> str:
        """``text`` masked; the same object if nothing in it is. Never raises."""
        known = self._seen.get(text)
        if known is None:
            known = self._safely(text)
            if known == text:
                known = text
            self._seen.add(text, known)
        return known

    def texts(self, texts: Sequence[str]) -> list[str]:
        """Each of ``texts`` masked: a history, of which nearly all was searched before."""
        known = self._seen.clean
        return [text if hash(text) in known else self.text(text) for text in texts]

    def finds(self, text: str) -> bool:
        """Whether anything in ``text`` is to be masked. Not remembered. Never raises."""
        return self._safely(text) != text

    def masked_already(self, text: str) -> None:
        """``text`` is made of what was masked; it is not searched again."""
        self._seen.add(text, text)

    def value(self, key: str, value: Any) -> Any:
        """An attribute's value masked: a text, bytes, a number, or lists and mappings of them. Never raises."""
        if isinstance(value, str):
            return self.removed(value) if self.secret_key(key) else self.text(value)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, bytes):
            said = value.decode("utf-8", "surrogateescape")
            new = self.removed(said) if self.secret_key(key) else self.text(said)
            return value if new == said else new.encode("utf-8", "surrogateescape")
        if isinstance(value, int | float):
            return self._number(key, value)
        if isinstance(value, Mapping):
            return self.attributes(cast("Mapping[Any, Any]", value))
        return [self.value(key, item) for item in cast("Sequence[Any]", value)]

    def attributes(self, attributes: Mapping[Any, Any]) -> dict[str, Any]:
        """Attributes masked, of a span, an event, a link or a log record; keys too, where they hold such a value."""
        masked: dict[str, Any] = {}
        for key, value in attributes.items():
            name = str(key)
            masked[self.key(name)] = self.value(name, value)
        return masked

    def key(self, key: str) -> str:
        """The key of an attribute masked; one on which a function fails stays, since it is no value."""
        new = self.text(key)
        return self._found(key) if new != key and "[redacted:error:" in new else new

    def secret_key(self, key: str) -> bool:
        """Whether what stands under this key goes, whatever it is."""
        known = self._known_keys.get(key)
        if known is None:
            if len(self._known_keys) >= _MOST_KEYS:
                self._known_keys.clear()
            known = self._known_keys[key] = self._pattern is not None and self._pattern.search(key) is not None
        return known

    def removed(self, value: str) -> str:
        """What stands for a value that goes because of its key; an empty one stays."""
        return mark("key", len(value)) if value and not value.startswith("[redacted:") else value

    def _number(self, key: str, value: float) -> Any:
        if self.secret_key(key):
            return mark("key", len(str(value)))
        new = None if self._card is None else self._masked_number(repr(value))
        return value if new is None else new

    def _masked_number(self, text: str) -> str | None:
        if self._card is None or len(text) < 13:
            return None
        if "e" in text or "E" in text:  # a table's card number may have become a float
            number = float(text)
            text = str(int(number)) if number < 1e19 and number.is_integer() else ""
        text = text.removesuffix(".0")
        new = self._card.masked(text)
        return None if new == text else new

    def _safely(self, text: str) -> str:
        try:
            return self._masked(text, 0)
        except Exception as error:  # noqa: BLE001 - what cannot be searched is not recorded
            self._say("redaction", error)
            gone = mark("error", len(text))
            return f'"{gone}"' if looks_json(text) else gone

    def _masked(self, text: str, depth: int) -> str:
        if not self._suspicious(text):
            plain = revealed(text)
            if plain is text or not self._suspicious(plain):
                return text
        if depth < _DEEPEST and looks_json(text):
            inner = walked(text, self._change(depth))
            if is_json(text):
                return text if inner == text else inner
            return self._prose(inner, depth)
        return self._prose(text, depth)

    def _change(self, depth: int) -> Change:
        number = None if self._card is None else self._masked_number
        return Change(lambda said: self._masked(said, depth + 1), number, self.secret_key, self.removed)

    def _prose(self, text: str, depth: int) -> str:
        """What is no JSON, though it may quote some."""
        if "\\u00" in text and depth < _DEEPEST and _HIDDEN.search(text) is not None:
            text = walked(text, self._change(depth))
        if '"' in text:
            text = members_removed(text, self._change(_DEEPEST))
        text = self._found(text)
        plain = revealed(text)
        if plain is not text:
            found = self._found(plain)
            text = text if found == plain else found
        for function in self.custom:
            text = self._by(function, text)
        return text

    def _found(self, text: str) -> str:
        """What the detectors find, and what secret names name."""
        for detector in self._detectors:
            if detector.possible(text):
                text = detector.masked(text)
        if self._pattern is not None and ("=" in text or ":" in text):
            text = named_removed(text, self._places, self.secret_key, self.removed)
        return text

    def _by(self, function: Custom, text: str) -> str:
        if getattr(self._inside, "on", False):  # a span that a detector makes: its texts would come here without end
            return mark("error", len(text))
        self._inside.on = True
        try:
            new = cast("object", function(text))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - somebody else's function
            self._say(getattr(function, "__qualname__", type(function).__qualname__), error)
            return mark("error", len(text))
        finally:
            self._inside.on = False
        if isinstance(new, str):
            return new
        self._say(getattr(function, "__qualname__", type(function).__qualname__), TypeError())
        return mark("error", len(text))

    def _suspicious(self, text: str) -> bool:
        """Whether anything may be in it; the whole cost of a text in which nothing is."""
        if self.custom:
            return True
        for sign, words in self._words:
            if sign in text:
                for word in words:
                    if word in text:
                        return True
        for probe in self._probes:
            if probe(text):
                return True
        if self._pattern is not None:
            for key in keys_in(text):
                if self.secret_key(key):
                    return True
            return ("=" in text or ":" in text) and named_in(text, self._places, self.secret_key)
        return False

    def _say(self, name: str, error: BaseException) -> None:
        """Once for each; never with the error's text, which may quote the value."""
        if name not in self._told:
            self._told.add(name)
            _log.warning(
                "the detector %s raised %s: the texts that it was given are removed", name, type(error).__name__
            )


def _gated(words: Sequence[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Words by a sign that they have in common: a single character is found ten times faster than a word."""
    table: dict[str, list[str]] = {}
    for word in dict.fromkeys(words):
        sign = next((sign for sign in "_-@%" if sign in word), word)
        table.setdefault(sign, []).append(word)
    return tuple((sign, tuple(each)) for sign, each in table.items())
