"""Cut an export file into lines and each line into OTLP documents, however torn, glued or zero-filled it is.

May import ``records.otlp`` and ``errors``. Why lines break: facts of the collector's file exporter (a full disk
leaves a fragment that the retry is glued to, a power loss leaves NULs, a crash tears the last line).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import BinaryIO, Final

from spanseal.errors import OtlpError
from spanseal.records.otlp import SpanRecord, parse_line

_DOCUMENT: Final = re.compile(rb'\{\s*"resourceSpans"')
_OTHER_SIGNAL: Final = re.compile(rb'\s*\{\s*"(resourceLogs|resourceMetrics|resourceProfiles)"')
_NULS: Final = re.compile(rb"\0+")
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class Line:
    """One line with its place in the file; ``ended`` says whether its newline was there."""

    start: int
    raw: bytes
    ended: bool = True

    @property
    def end(self) -> int:
        """The byte after the line, its newline included."""
        return self.start + len(self.raw)


@dataclass(frozen=True, slots=True)
class Piece:
    """A byte range that was read (``spans``) or skipped (``kind`` and ``reason`` say why)."""

    start: int
    end: int
    spans: tuple[SpanRecord, ...] = ()
    kind: str = ""
    reason: str = ""


def lines(stream: BinaryIO) -> Iterator[Line]:
    """The lines of a binary stream, one at a time.

    >>> import io
    >>> [(line.start, line.raw, line.ended) for line in lines(io.BytesIO(b"a\\nb"))]
    [(0, b'a\\n', True), (2, b'b', False)]
    """
    at = 0
    for raw in stream:
        yield Line(at, raw, raw.endswith(b"\n"))
        at += len(raw)


def pieces(line: Line) -> Iterator[Piece]:
    """What a line holds, in order: documents read and byte ranges skipped. Never raises on bad bytes."""
    if line.start == 0 and line.raw.startswith(_BOM):
        line = Line(len(_BOM), line.raw[len(_BOM) :], line.ended)
    at = 0
    for run in _NULS.finditer(line.raw):
        yield from _glued(line, at, run.start())
        kind = "nul" if line.ended or run.end() < len(line.raw) else "torn"
        yield Piece(line.start + run.start(), line.start + run.end(), (), kind, "NUL bytes, as after a power loss")
        at = run.end()
    yield from _glued(line, at, len(line.raw))


def _glued(line: Line, start: int, end: int) -> Iterator[Piece]:
    """Read ``line.raw[start:end]``; where it is no document, read what lies between the documents' beginnings.

    The marker cannot occur inside a document's strings: there its quotes are escaped.
    """
    whole = _document(line, start, end)
    if whole is None or not whole.kind:
        if whole is not None:
            yield whole
        return
    cuts = sorted({start, end, *(m.start() for m in _DOCUMENT.finditer(line.raw, start, end))})
    if len(cuts) == 2:
        yield whole
        return
    for left, right in pairwise(cuts):
        piece = _document(line, left, right, glued=right != end)
        if piece is not None:
            yield piece


def _document(line: Line, start: int, end: int, *, glued: bool = False) -> Piece | None:
    raw = line.raw[start:end]
    if not raw.strip():
        return None
    at = line.start + start
    try:
        return Piece(at, line.start + end, parse_line(raw))
    except OtlpError as error:
        kind, reason = _why(raw, error, at, glued=glued, ended=line.ended)
        return Piece(at, line.start + end, (), kind, reason)


def _why(raw: bytes, error: OtlpError, at: int, *, glued: bool, ended: bool) -> tuple[str, str]:
    if signal := _OTHER_SIGNAL.match(raw):
        return "other", f"OTLP {signal[1].decode()}, no spans"
    if glued:
        return "glued", "a fragment that the next document was glued to (the writer was cut off and went on)"
    if not ended and raw.lstrip()[:1] == b"{":
        return "torn", "the last line is cut: its writer was stopped, or is still writing"
    return "malformed", f"not an OTLP JSON line (byte {at + error.offset}: {error})"
