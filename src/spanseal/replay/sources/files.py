"""Export files: one, or a folder of them, as the official file exporters and the collector write them.

May import ``records`` and the siblings. Lines are streamed; a file that is one pretty-printed document is read
whole. Nothing is written, renamed or deleted.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Final

from spanseal.errors import OtlpError, ReplayError
from spanseal.records.export_files import VALUES, is_beside, is_export, is_packed, reading_order
from spanseal.records.otlp import parse_line
from spanseal.replay.sources.base import NoteLog, Source, SourceSpan
from spanseal.replay.sources.lines import Piece, lines, pieces
from spanseal.replay.sources.value_files import scope_of, value_files

LOOKED_FOR: Final = "an audit store, an export file (.jsonl or .json) or a folder of export files"
_WHOLE_LIMIT: Final = 256 * 1024 * 1024


class FileSource(Source):
    """Spans of an export file or of all export files of a folder, in a stable order of names."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._documents, self._foreign = 0, ""
        if not path.exists():
            raise ReplayError(f"{path}: there is no such file or folder. Looked for {LOOKED_FOR}.")
        if path.is_dir() and not any(is_export(p.name) for p in _entries(path)):
            there = ", ".join(p.name for p in _entries(path)[:5]) or "nothing"
            raise ReplayError(f"{path}: nothing to read in this folder. Looked for {LOOKED_FOR}; there is: {there}.")

    def _stored(self) -> Iterator[SourceSpan]:
        self._documents, self._foreign = 0, ""
        files = self._files()
        scopes: set[str] = set()
        for span in self._of_files(files):
            scopes.add(scope_of(span.record))
            yield span
        if self._foreign and not self._documents:
            raise ReplayError(_no_export(self.path, len(files), self._foreign))
        yield from self._of_files(list(value_files(self.path, None if self.path.is_dir() else scopes)))

    def _of_files(self, files: list[Path]) -> Iterator[SourceSpan]:
        for file in files:
            try:
                stream = file.open("rb")
            except OSError as error:
                if file == self.path:
                    raise ReplayError(f"{file}: cannot be read: {error.strerror or error}") from error
                self._log.add("unread", file.name, f"cannot be read: {error.strerror or error}")
                continue
            with stream:
                yield from self._of(file, stream)

    def _files(self) -> list[Path]:
        if not self.path.is_dir():
            return [self.path]
        chosen: list[Path] = []
        for entry in _entries(self.path):
            if is_export(entry.name) and entry.is_file():
                chosen.append(entry)
            elif not is_beside(entry.name) and (entry.name != VALUES or not entry.is_dir()):
                self._log.add("ignored", entry.name, _why_ignored(entry))
        return sorted(chosen, key=lambda file: reading_order(file.name))

    def _of(self, file: Path, stream: BinaryIO) -> Iterator[SourceSpan]:
        whole = _whole_document(stream)
        stream.seek(0)
        skips = _Skips(self._log, file.name)
        try:
            found = [whole] if whole else (piece for line in lines(stream) for piece in pieces(line))
            for piece in found:
                self._documents += piece.kind in ("", "other")
                if piece.kind:
                    skips.add(piece)
                if piece.kind == "malformed" and not self._foreign:
                    self._foreign = f"{file.name}, bytes {piece.start}-{piece.end}: {piece.reason}"
                for record in piece.spans:
                    yield SourceSpan(record, f"{file.name}, byte {piece.start}")
        except OSError as error:
            self._log.add("unread", file.name, f"reading stopped: {error.strerror or error}")
        finally:
            skips.close()


class _Skips:
    """Joins neighbouring ranges that were skipped for one kind of reason into one note."""

    def __init__(self, log: NoteLog, name: str) -> None:
        self._log, self._name = log, name
        self._first: Piece | None = None
        self._end = 0

    def add(self, piece: Piece) -> None:
        if self._first is None or piece.kind != self._first.kind or piece.start != self._end:
            self.close()
            self._first = piece
        self._end = piece.end

    def close(self) -> None:
        if self._first is not None:
            where = f"{self._name}, bytes {self._first.start}-{self._end}"
            self._log.add(self._first.kind, where, f"skipped: {self._first.reason}")
        self._first = None


def _whole_document(stream: BinaryIO) -> Piece | None:
    """The file as one document, if its first line opens one and does not close it."""
    first = next((line for line in lines(stream) if line.raw.strip()), None)
    if first is None or first.raw.strip()[-1:] not in b"{[,:" or not first.ended:
        return None
    stream.seek(0)
    data = stream.read(_WHOLE_LIMIT + 1)
    if len(data) > _WHOLE_LIMIT:
        return None
    try:
        return Piece(0, len(data), parse_line(data))
    except OtlpError:
        return None


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(p for p in folder.iterdir() if not p.name.startswith("."))
    except OSError as error:
        raise ReplayError(f"{folder}: the folder cannot be read: {error.strerror or error}") from error


def _no_export(path: Path, files: int, first: str) -> str:
    looked = f"{files} files of this folder" if path.is_dir() else "the whole file"
    packed = " It looks packed: unpack it to JSON lines first." if is_packed(path.name) else ""
    return f"{path}: no OTLP document in it; looked at {looked}. {first}. Read are {LOOKED_FOR}: JSON lines.{packed}"


def _why_ignored(entry: Path) -> str:
    if entry.is_dir():
        return "a folder, not read; name it as the source if it holds spans"
    if is_packed(entry.name):
        return "not read: unpack it to JSON lines first"
    return "no export file (.jsonl, .json), not read"
