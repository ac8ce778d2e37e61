"""Strict reading of small binary records: every byte is asked for, none may be left over. Pure."""

from __future__ import annotations

import struct

from spanseal.errors import FormatError


class Cursor:
    """Walks over one record; running short is a :class:`FormatError` that names the record and the offset.

    >>> cursor = Cursor(bytes([7, 0, 2, 104, 105]), "note")
    >>> cursor.u8(), cursor.text16()
    (7, 'hi')
    >>> cursor.end()
    """

    __slots__ = ("_data", "_name", "_size", "offset")

    def __init__(self, data: bytes | memoryview, name: str, offset: int = 0) -> None:
        self._data = memoryview(data)
        self._size = len(self._data)
        self._name = name
        self.offset = offset

    def view(self, count: int) -> memoryview:
        start = self.offset
        end = start + count
        if end > self._size:
            raise FormatError(f"{self._name}: {count} bytes wanted at byte {start}, {self.left} there")
        self.offset = end
        return self._data[start:end]

    @property
    def left(self) -> int:
        return self._size - self.offset

    def take(self, count: int) -> bytes:
        return bytes(self.view(count))

    def u8(self) -> int:
        return self.view(1)[0]

    def u16(self) -> int:
        return int.from_bytes(self.view(2))

    def u32(self) -> int:
        return int.from_bytes(self.view(4))

    def u64(self) -> int:
        return int.from_bytes(self.view(8))

    def text8(self) -> str:
        return self._text(self.u8())

    def text16(self) -> str:
        return self._text(self.u16())

    def bytes32(self) -> memoryview:
        """A piece preceded by its u32 length."""
        return self.view(self.u32())

    def _text(self, length: int) -> str:
        start = self.offset
        try:
            return self.take(length).decode("utf-8")
        except UnicodeDecodeError as error:
            raise FormatError(f"{self._name}: text at byte {start} is not UTF-8") from error

    def end(self) -> None:
        if self.left:
            raise FormatError(f"{self._name}: {self.left} bytes too many at byte {self.offset}")


def pack_text8(text: str, name: str) -> bytes:
    """u8 length and UTF-8; more than 255 bytes is a :class:`FormatError`."""
    data = text.encode("utf-8")
    if len(data) > 0xFF:
        raise FormatError(f"{name} is {len(data)} bytes of UTF-8, at most 255 fit")
    return bytes((len(data),)) + data


def pack_text16(text: str, name: str) -> bytes:
    """u16 length and UTF-8; more than 16,384 bytes is a :class:`FormatError`, so that any leaf stays small."""
    data = text.encode("utf-8")
    if len(data) > 0x4000:
        raise FormatError(f"{name} is {len(data)} bytes of UTF-8, at most 16384 fit")
    return struct.pack(">H", len(data)) + data
