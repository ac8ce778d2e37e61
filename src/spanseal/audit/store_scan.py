"""A store's files gone through as they lie there: segments frame by frame, the history note by note. Changes nothing.

What the files are called: ``store_names``. Imports the format modules of audit.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from spanseal.audit.segment import HEADER, MAGIC, Frame, decode_header, decode_payload
from spanseal.audit.store_names import CHECKPOINT, SEGMENTS
from spanseal.audit.tlog.note import MAX_NOTE
from spanseal.errors import FormatError, NotAStoreError

_STEP: Final = 1 << 20
_SEGMENT: Final = re.compile(r"([0-9]{20})\.seg")


class FrameDamageError(FormatError):
    """A frame that cannot be read: where it begins, and whether the file simply ends inside it or its CRC is off."""

    def __init__(self, message: str, path: Path, offset: int, *, torn: bool) -> None:
        super().__init__(message)
        self.path = path
        self.offset = offset
        self.torn = torn


@dataclass(frozen=True, slots=True)
class PlacedFrame:
    """A frame and where it lies: ``offset`` of its header in ``path``, ``end`` behind it."""

    path: Path
    offset: int
    end: int
    frame: Frame


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One note of the history: its bytes and their offset; ``complete`` is false for what a crash cut off."""

    offset: int
    note: bytes
    complete: bool


def segment_name(first: int) -> str:
    """File name of the segment whose first leaf has this index."""
    return f"{first:020d}.seg"


def segment_first(name: str) -> int | None:
    """Index of a segment's first leaf by its file name; None if it is no segment's name."""
    match = _SEGMENT.fullmatch(name)
    return int(match[1]) if match else None


def segments_of(root: Path) -> list[Path]:
    """The segments of a store, in order. :class:`NotAStoreError` if the folder holds no store."""
    if not root.is_dir():
        raise NotAStoreError(f"{root} is no folder: give the folder that `spanseal seal` wrote")
    folder = root / SEGMENTS
    if not folder.is_dir() and not (root / CHECKPOINT).exists():
        if not any(root.iterdir()):
            raise NotAStoreError(f"{root} is empty: give the folder that `spanseal seal` wrote")
        raise NotAStoreError(f"{root} is no audit store: it has neither {CHECKPOINT} nor {SEGMENTS}/")
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if segment_first(path.name) is not None and path.is_file())


def is_plain(path: Path) -> bool:
    """Whether this is a file of its own: no link, no folder, no pipe or device (which a reader could wait for)."""
    return path.is_file() and not path.is_symlink()


def read_frames(path: Path, start: int = 0) -> Iterator[PlacedFrame]:
    """The frames of a segment from byte ``start`` on, one in memory at a time.

    Raises :class:`FrameDamageError` at the first that cannot be read.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        offset = file.seek(start)
        while offset < size:
            header = file.read(HEADER.size)
            try:
                length, crc = decode_header(header)
                payload = file.read(min(length, size - offset - HEADER.size))
                if len(payload) < length:
                    raise FormatError(f"frame of {length} bytes is cut off after {len(payload)}")
                frame = decode_payload(payload, crc)
            except FormatError as error:
                raise FrameDamageError(str(error), path, offset, torn=True) from error
            end = offset + HEADER.size + length
            yield PlacedFrame(path, offset, end, frame)
            offset = end


def read_at_most(path: Path, size: int) -> bytes:
    """A file's bytes, or its first ``size`` + 1 where it has more: enough to see that it is too long."""
    with path.open("rb") as file:
        return file.read(size + 1)


def next_whole_frame(path: Path, offset: int) -> tuple[int, int] | None:
    """(offset, first leaf) of the next good frame behind ``offset`` of a segment, or None.

    Work is bounded by a few times the size of the file, whatever it holds; one frame at most is in memory.
    """
    with path.open("rb") as file:
        budget = 4 * max(file.seek(0, 2) - offset, 0)
        for at in _magics(file, offset + 1):
            file.seek(at)
            try:
                length, crc = decode_header(file.read(HEADER.size))
                if length <= budget:
                    payload = file.read(length)
                    budget -= len(payload)
                    return at, decode_payload(payload, crc).first
            except FormatError:
                continue
    return None


def _magics(file: BinaryIO, start: int) -> Iterator[int]:
    """Where, from ``start`` on, a frame may begin; the file's position may be changed in between."""
    kept = b""
    while True:
        file.seek(start + len(kept))
        piece = file.read(_STEP)
        whole = kept + piece
        at = whole.find(MAGIC)
        while at >= 0:
            yield start + at
            at = whole.find(MAGIC, at + 1)
        if not piece:
            return
        kept = whole[-len(MAGIC) + 1 :]
        start += len(whole) - len(kept)


def read_history(path: Path, end: int | None = None) -> Iterator[HistoryEntry]:
    """The notes of a history in order (up to byte ``end``), one in memory at a time; what has no end comes last.

    Raises :class:`FormatError` for a note that is longer than any note may be.
    """
    with path.open("rb") as file:
        offset = 0
        lines: list[bytes] = []
        size = blank = 0
        while whole_line := file.readline(MAX_NOTE + 1):
            read = offset + size
            line = whole_line if end is None or read + len(whole_line) <= end else whole_line[: end - read]
            if not line:
                break
            lines.append(line)
            size += len(line)
            blank += line == b"\n"
            if blank == 2:
                yield HistoryEntry(offset, b"".join(lines[:-1]), complete=True)
                offset, lines, size, blank = offset + size, [], 0, 0
            elif size > MAX_NOTE:
                raise FormatError(f"{path.name}: the entry at byte {offset} is longer than a head can be")
        if lines:
            yield HistoryEntry(offset, b"".join(lines), complete=False)
