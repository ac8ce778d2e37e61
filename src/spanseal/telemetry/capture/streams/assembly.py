"""A stream put together while it is read: its end then costs the program little, however long the stream was.

May import genai.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from spanseal.genai.sse import before_end, is_end
from spanseal.genai.wire import Assembler, WireFormat
from spanseal.genai.wire_json import JsonObject, as_map, loads_fast, loads_received, render

_BIG: Final = re.compile(r"\d{19}", re.ASCII)
"""Where no number is that long, the fast parser is exact too."""
_HANDFUL: Final = 16
"""So many chunks are looked at together: one by one would cost twice as much."""


@dataclass(frozen=True, slots=True)
class Assembled:
    """The ``texts`` of a stream, an unfinished one last, the bytes of a character that was cut (``tail``), the ``body``
    that the texts amount to, and whether nothing is to be masked in any of them (``clean``; False: not known)."""

    texts: list[str]
    tail: bytes
    body: JsonObject
    clean: bool


class Assembly:
    """Takes the bytes of a stream as they come, in any cut; gives what :func:`split` and :func:`assembled` give.

    ``finds`` says whether a text holds what is to be masked. Not to be asked by one thread while another adds.
    """

    def __init__(self, wire: WireFormat, finds: Callable[[str], bool] | None = None) -> None:
        self._wire = wire
        self._finds = finds
        self._stream: Assembler = wire.StreamAssembler()
        self._texts: list[str] = []
        self._begun = self._ended = False
        self._waiting = bytearray()
        self._chunks = 0
        self._enough = 0

    def add(self, data: bytes) -> None:
        """The next bytes."""
        self._waiting += data
        self._chunks += 1
        if self._chunks >= _HANDFUL and len(self._waiting) >= self._enough:
            self._take()

    def over(self) -> Assembled:
        """No more bytes come."""
        texts, tail = split(self._wire, self._next(len(self._waiting)))
        self._feed(texts)
        return Assembled(self._texts, tail, self._stream.body(), self._finds is not None)

    def _take(self) -> None:
        self._chunks = 0
        ends = (self._waiting.rfind(end) + len(end) for end in self._wire.ENDS if end in self._waiting)
        cut = max(ends, default=0)
        if not cut:
            self._enough = 2 * len(self._waiting)  # one long event: to look again for each chunk would cost its square
            return
        self._enough = 0
        self._feed(self._wire.split_stream(self._next(cut))[0])

    def _next(self, cut: int) -> bytes:
        data = bytes(self._waiting[:cut])
        del self._waiting[:cut]
        begun, self._begun = self._begun, True
        return b"\n" + data if begun else data  # a byte order mark is one at the very beginning only

    def _feed(self, texts: list[str]) -> None:
        self._texts += texts
        if self._finds is not None and texts and self._finds(render(texts)):
            self._finds = None  # what is found will be looked for in the whole
        for text in texts:
            self._ended = self._ended or is_end(text)
            if self._ended:
                return
            self._stream.feed(as_map(_parsed(text)))


def split(wire: WireFormat, data: bytes) -> tuple[list[str], bytes]:
    """The texts in ``data``, an unfinished one last, and the bytes of a character that was cut."""
    data, tail = _cut_character(data)
    texts, rest = wire.split_stream(data)
    return ([*texts, rest] if rest else texts), tail


def assembled(wire: WireFormat, texts: Sequence[str]) -> JsonObject:
    """The body that the texts amount to."""
    stream = wire.StreamAssembler()
    for text in before_end(texts):
        stream.feed(as_map(_parsed(text)))
    return stream.body()


def parsed(data: bytes | str) -> Any:
    """The JSON value; None for what is no JSON."""
    try:
        return loads_received(data)
    except ValueError:
        return None


def _parsed(text: str) -> Any:
    if _BIG.search(text) is None:
        try:
            return loads_fast(text)
        except ValueError:  # a lone surrogate, NaN, or no JSON
            pass
    return parsed(text)


def _cut_character(data: bytes) -> tuple[bytes, bytes]:
    """``data`` without an unfinished UTF-8 character at its end, and the bytes of that.

    >>> _cut_character("grün".encode()[:3])
    (b'gr', b'\\xc3')
    """
    for back in range(1, min(4, len(data) + 1)):
        lead = data[-back]
        if lead >= 0xC0:
            length = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
            return (data[:-back], data[-back:]) if length > back else (data, b"")
        if lead < 0x80:
            break
    return data, b""
