"""Cuts a file into lines, and a line of glued documents into those documents. May import records and errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final

from spanseal.errors import OtlpError
from spanseal.records import otlp
from spanseal.sealer.seal import InputLine

CHUNK: Final = 1 << 20
MAX_LINE: Final = 256 << 20
_DOCUMENT: Final = b'{"resourceSpans":'


def complete_lines(file: BinaryIO, start: int, *, finished: bool) -> Iterator[tuple[int, int, bytes, bool]]:
    """Cut a file into ``(start, end, raw, whole)`` from byte ``start`` on; ``raw`` is without its newline.

    The last piece has ``whole`` false when its newline is missing and the file may still grow. A line over
    ``MAX_LINE`` bytes comes in pieces, so memory stays bounded. Reads in chunks of ``CHUNK`` bytes.

    >>> import io
    >>> list(complete_lines(io.BytesIO(b"ab" + bytes([10]) + b"c"), 0, finished=False))
    [(0, 3, b'ab', True), (3, 4, b'c', False)]
    """
    file.seek(start)
    pieces: list[bytes] = []
    held = 0
    while chunk := file.read(CHUNK):
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            raw = b"".join((*pieces, piece))
            pieces.clear()
            held = 0
            yield start, start + len(raw) + 1, raw, True
            start += len(raw) + 1
        pieces.append(rest)
        held += len(rest)
        if held > MAX_LINE:
            yield start, start + held, b"".join(pieces), True
            start += held
            pieces.clear()
            held = 0
    if held:
        yield start, start + held, b"".join(pieces), finished


def split_glued(line: InputLine) -> tuple[InputLine, ...]:
    """Part a line in which several documents follow one another, as a full disk and a retry leave it.

    Quotes in strings are escaped, so the mark of a document stands raw only where one begins; a line with one mark
    costs one search. Whole documents are then read, and what was broken off is sealed as bytes that cannot be read.
    """
    marks: list[int] = []
    while (at := line.raw.find(_DOCUMENT, marks[-1] + 1 if marks else 1)) > 0:
        marks.append(at)
    if not marks or _readable(line.raw):
        return (line,)
    edges = [0, *marks, len(line.raw)]
    ends = [*(line.start + mark for mark in marks), line.end]
    starts = [line.start, *ends[:-1]]
    return tuple(
        InputLine(line.source, start, end, line.raw[first:last])
        for start, end, first, last in zip(starts, ends, edges[:-1], edges[1:], strict=True)
    )


def _readable(raw: bytes) -> bool:
    try:
        otlp.cut_line(raw)
    except OtlpError:
        return False
    return True
