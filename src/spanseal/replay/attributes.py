"""Read a span's attributes as the types they should have; what has another type becomes a note, never an exception.

May import ``records``, ``genai`` and the siblings ``note`` and ``sources.base``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

import orjson

from spanseal.genai.messages import Json
from spanseal.records.otlp import Value
from spanseal.replay.note import Note
from spanseal.replay.sources.base import SourceSpan

T = TypeVar("T")


class Attributes:
    """The attributes of one span or event. ``notes`` collects what was odd."""

    def __init__(self, values: Mapping[str, Value], where: str, notes: list[Note]) -> None:
        self.values, self.where, self.notes = values, where, notes

    @classmethod
    def of(cls, span: SourceSpan, notes: list[Note]) -> Attributes:
        """Of a span; the notes name it by its id."""
        return cls(span.record.attributes, f"span {span.record.span_id}", notes)

    def inner(self, values: Mapping[str, Value]) -> Attributes:
        """Of an event of the same span."""
        return Attributes(values, self.where, self.notes)

    def has(self, key: str) -> bool:
        """Whether the key is there with a value; a withheld value is none."""
        return self.values.get(key) is not None

    def text(self, key: str) -> str:
        """A string; empty where there is none."""
        value = self.values.get(key)
        return value if isinstance(value, str) else self._odd(key, value, "a string", "")

    def integer(self, key: str) -> int | None:
        """A whole number; a boolean is none."""
        value = self.values.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        return self._odd(key, value, "a whole number", None)

    def number(self, key: str) -> float | None:
        """A number."""
        value = self.values.get(key)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return value
        return self._odd(key, value, "a number", None)

    def flag(self, key: str) -> bool | None:
        """True, false or not told."""
        value = self.values.get(key)
        return value if isinstance(value, bool) else self._odd(key, value, "a boolean", None)

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings; a single string counts as a list of one."""
        value = self.values.get(key)
        if isinstance(value, str):
            return (value,)
        if isinstance(value, tuple):
            return tuple(item for item in value if isinstance(item, str))
        return self._odd(key, value, "a list of strings", ())

    def json(self, key: str) -> Json:
        """Structured content: a JSON string parsed, or the structure itself; None where there is none.

        A string that is no JSON comes back as it is, with a note: something was recorded, and a reader wants it.
        """
        value = self.values.get(key)
        if not isinstance(value, str):
            return plain(value)
        try:
            return cast(Json, orjson.loads(value))
        except orjson.JSONDecodeError as error:
            self.notes.append(Note("content", self.where, f"{key} is not JSON ({error})"))
            return value

    def structure(self, key: str) -> Json:
        """What may be JSON or plain text, as a tool's result: objects and arrays parsed, everything else as it is."""
        value = self.values.get(key)
        if not isinstance(value, str):
            return plain(value)
        try:
            parsed = cast("Json", orjson.loads(value))
        except orjson.JSONDecodeError:
            return value
        return parsed if isinstance(parsed, dict | list) else value

    def odd(self, kind: str, meaning: str) -> None:
        """Note something about this span."""
        self.notes.append(Note(kind, self.where, meaning))

    def _odd(self, key: str, value: Value, wanted: str, empty: T) -> T:
        if value is not None:
            self.notes.append(Note("type", self.where, f"{key} should be {wanted}, found {type(value).__name__}"))
        return empty


def plain(value: Value) -> Any:
    """An attribute's value as JSON values: tuples become lists, bytes their hex digits."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return value
