"""Attributes as the list that OTLP JSON wants, masked. May import redactor, to_json and the wire's JSON.

Nearly everything on a span stood on the one before: names, addresses, the model, words of ours. Such a pair is masked
and written once and then remembered, so that a span costs a lookup for each.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Collection, Mapping, Sequence, Sized
from typing import Any, Final, cast

import orjson

from spanseal.genai.wire_json import mend
from spanseal.telemetry.content.redaction.redactor import Redactor
from spanseal.telemetry.content.to_json import INT64, nonfinite

_MOST: Final = 4096
_SHORT: Final = 256
_SMALL: Final = range(-(10**12), 10**12)
"""Too few digits for anything that is looked for in numbers."""
_NO_STAMPS: Final[Mapping[str, Any]] = {}
_Known = dict[tuple[str, str], bytes]


class AttributeList:
    """Writes with one redactor.

    >>> AttributeList(Redactor()).written({"to": "Bearer abcdefghijklmnop", "n": 1})
    b'[{"key":"to","value":{"stringValue":"[redacted:bearer:23]"}},{"key":"n","value":{"intValue":"1"}}]'
    """

    def __init__(self, redactor: Redactor) -> None:
        self.redactor = redactor
        self._heads: dict[str, tuple[bytes, bool] | None] = {}
        self._known: _Known = {}
        self._known_as_is: _Known = {}

    def written(
        self, attributes: Mapping[str, Any], stamps: Mapping[str, Any] = _NO_STAMPS, clear: Collection[str] = (),
        most: int = 0,
    ) -> bytes:
        """``attributes`` with ``stamps`` in their place or behind them; these, and keys in ``clear``, are not masked.

        With ``most`` longer texts and sequences are left out.
        """
        parts: list[bytes] = []
        known = self._known
        for pair in attributes.items():
            key, value = pair
            if key in stamps:
                piece = self._as_is(key, stamps[key])
            elif most and _length(value) > most:
                continue
            elif key in clear:
                piece = self._as_is(key, value)
            else:
                piece = known.get(pair) if type(value) is str else None
                if piece is None:
                    piece = self._masked(key, value)
                    if piece is None:
                        return self._renamed(attributes, stamps, clear, most)
            parts.append(piece)
        parts += [self._as_is(key, value) for key, value in stamps.items() if key not in attributes]
        return b"[%b]" % b",".join(parts)

    def _masked(self, key: str, value: Any) -> bytes | None:
        """None if the key itself holds something that is masked."""
        head = self._heads[key] if key in self._heads else self._new_head(key)
        if head is None:
            return None
        start, secret = head
        if type(value) is int and not secret and value in _SMALL:
            return b'%b{"intValue":"%d"}}' % (start, value)
        piece = b"%b%b}" % (start, _json(_value(self.redactor.value(key, value))))
        if type(value) is str and len(value) <= _SHORT:
            self._known = _kept(self._known, (key, value), piece)
        return piece

    def _as_is(self, key: str, value: Any) -> bytes:
        if type(value) is not str:
            return _json({"key": key, "value": _value(value)})
        piece = self._known_as_is.get((key, value))
        if piece is None:
            piece = _json({"key": key, "value": _value(value)})
            if len(value) <= _SHORT:
                self._known_as_is = _kept(self._known_as_is, (key, value), piece)
        return piece

    def _new_head(self, key: str) -> tuple[bytes, bool] | None:
        same = self.redactor.key(key) == key
        head = (b'{"key":%b,"value":' % _json(key), self.redactor.secret_key(key)) if same else None
        if len(self._heads) >= _MOST:
            self._heads = {}
        self._heads[key] = head
        return head

    def _renamed(
        self, attributes: Mapping[str, Any], stamps: Mapping[str, Any], clear: Collection[str], most: int
    ) -> bytes:
        """Keys that are masked may become the same."""
        small = {
            key: value for key, value in attributes.items()
            if not (most and _length(value) > most)
        }
        masked = self.redactor.attributes(small)
        masked |= {key: small[key] for key in clear if key in small}
        return b"[" + b",".join(self._as_is(key, value) for key, value in {**masked, **stamps}.items()) + b"]"


def _length(value: Any) -> int:
    """Of what the SDK makes of values that have a length; 0 of others."""
    return len(cast("Sized", value)) if isinstance(value, str | bytes | tuple | list | dict) else 0


def _kept(known: _Known, pair: tuple[str, str], piece: bytes) -> _Known:
    if len(known) >= _MOST:
        known = {}
    known[pair] = piece
    return known


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(int(value))} if value in INT64 else {"stringValue": str(int(value))}
    if isinstance(value, float):
        return {"doubleValue": value if math.isfinite(value) else nonfinite(value)}
    if value is None:
        return {}
    if isinstance(value, bytes):
        return {"bytesValue": base64.b64encode(value).decode()}
    if isinstance(value, Mapping):
        inner = cast("Mapping[Any, Any]", value).items()
        pairs = [{"key": str(key), "value": _value(item)} for key, item in inner]
        return {"kvlistValue": {"values": pairs} if pairs else {}}
    items = [_value(item) for item in cast("Sequence[Any]", value)]
    return {"arrayValue": {"values": items} if items else {}}


def _json(value: Any) -> bytes:
    try:
        return orjson.dumps(value)
    except (TypeError, ValueError):  # a lone surrogate somewhere
        return orjson.dumps(mend(value))
