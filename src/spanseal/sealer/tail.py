"""Reads export files from where sealing ended: every complete line once, over rotation, truncation and restarts.

The store remembers how far each source was sealed, in the same frame as the spans, so nothing is read twice and
nothing is left out after a crash at any point. What could not be read is noted, never passed over in silence.
May import the sealer's own modules.
"""

from __future__ import annotations

import os
import stat
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from spanseal.sealer.seal import InputLine
from spanseal.sealer.source_names import HEAD, fingerprint
from spanseal.sealer.tail_files import ExportFile, Unread, discover
from spanseal.sealer.tail_lines import complete_lines, split_glued

BATCH_BYTES: Final = 4 << 20
BATCH_LINES: Final = 256
HELD_FILES: Final = 64
BEFORE: Final = 64
_AT_ONCE: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
"""A pipe put in a file's place after it was listed must not be waited for, nor a link be followed."""


@dataclass(frozen=True, slots=True)
class Torn:
    """A last line without its end; it waits. ``offset`` is where it starts, ``size`` its bytes so far."""

    path: Path
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Gap:
    """A file that got shorter, or began anew: its bytes from ``sealed`` on, to ``seen`` at least, cannot be read."""

    path: Path
    source: str
    sealed: int
    seen: int

    @property
    def reason(self) -> str:
        """For people and for the log."""
        return "the file was cut short or begun anew: let the exporter append or rotate, never truncate"


class Tail:
    """Follows export files and folders. Not thread-safe; one tail per writer.

    ``key`` names the files in the log (``source_names.naming_key``). ``position(source)`` tells how many bytes of a
    source are sealed. Every batch that :meth:`poll` yields must be sealed before the next one is taken, and a batch
    that could not be sealed must be tried again: the tail goes on from where it read to.
    """

    def __init__(self, paths: Sequence[Path], position: Callable[[str], int], key: bytes) -> None:
        self._paths = tuple(paths)
        self._position = position
        self._key = key
        self._offsets: dict[str, int] = {}
        self._before: dict[str, bytes] = {}
        self._generations: dict[str, int] = {}
        self._sources: dict[tuple[int, int], str] = {}
        self._done: dict[tuple[int, int], tuple[int, int, bool]] = {}
        self._held: OrderedDict[tuple[int, int], tuple[ExportFile, BinaryIO]] = OrderedDict()
        self._torn: dict[tuple[int, int], Torn] = {}
        self.unread: list[Unread] = []
        self.gaps: list[Gap] = []
        self.blank = 0

    @property
    def torn(self) -> list[Torn]:
        """The torn last lines that wait, as of the last poll."""
        return list(self._torn.values())

    def poll(self) -> Iterator[list[InputLine]]:
        """Read all files to their present end, in batches of at most 4 MiB (or one line) and 256 lines."""
        batch: list[InputLine] = []
        size = 0
        for parts in self._new_lines():
            grown = sum(len(part.raw) for part in parts)
            if batch and (size + grown > BATCH_BYTES or len(batch) + len(parts) > BATCH_LINES):
                yield batch
                batch, size = [], 0
            batch.extend(parts)
            size += grown
        if batch:
            yield batch

    def close(self) -> None:
        """Let go of the open files."""
        for _, handle in self._held.values():
            handle.close()
        self._held.clear()

    def _new_lines(self) -> Iterator[tuple[InputLine, ...]]:
        files, self.unread = discover(self._paths)
        present = {file.key for file in files}
        yield from self._vanished(present)
        for memory in (self._done, self._sources, self._torn):
            for key in [key for key in memory if key not in present and key not in self._held]:
                del memory[key]
        for file in files:
            mark = (file.size, file.changed, file.finished)
            if self._done.get(file.key) == mark:
                continue
            handle = self._open(file)
            if handle is None:
                continue
            yield from self._read(handle, file, finished=file.finished)
            self._done[file.key] = mark
            if file.finished:
                self._held.pop(file.key)[1].close()
                self._sources.pop(file.key, None)  # read to its end; its inode may come back as another file

    def _vanished(self, present: set[tuple[int, int]]) -> Iterator[tuple[InputLine, ...]]:
        """Files removed while we hold them: read on while they grow, then to their very end."""
        for key in [key for key in self._held if key not in present]:
            file, handle = self._held[key]
            mark = (os.fstat(handle.fileno()).st_size, 0, True)
            finished = self._done.get(key) == mark
            yield from self._read(handle, file, finished=finished)
            self._done[key] = mark
            if finished:
                self._held.pop(key)[1].close()

    def _open(self, file: ExportFile) -> BinaryIO | None:
        if file.key in self._held:
            self._held.move_to_end(file.key)
            return self._held[file.key][1]
        try:
            handle = os.fdopen(os.open(file.path, _AT_ONCE), "rb")
        except FileNotFoundError:
            return None
        except OSError as error:
            self.unread.append(Unread(file.path, f"cannot be read: {error.strerror}"))
            return None
        status = os.fstat(handle.fileno())
        same = (status.st_dev, status.st_ino) == file.key and stat.S_ISREG(status.st_mode)
        if not same:  # replaced between listing and opening: the next poll has it
            handle.close()
            return None
        self._held[file.key] = (file, handle)
        while len(self._held) > HELD_FILES:
            self._held.popitem(last=False)[1][1].close()
        return handle

    def _read(self, handle: BinaryIO, file: ExportFile, *, finished: bool) -> Iterator[tuple[InputLine, ...]]:
        self._torn.pop(file.key, None)
        handle.seek(0)
        name = fingerprint(handle.read(HEAD), self._key, whole=finished)
        if name is None:
            if file.size:
                self._torn[file.key] = Torn(file.path, 0, file.size)
            return
        source, offset = self._resume(handle, file, f"file:{file.device:x}:{file.inode:x}:{name}")
        for start, end, raw, whole in complete_lines(handle, offset, finished=finished):
            if not whole:
                self._torn[file.key] = Torn(file.path, start, end - start)
                return
            self._offsets[source] = end
            self._before[source] = raw[1 - BEFORE :] + b"\n" if end - start > len(raw) else raw[-BEFORE:]
            if raw.strip():
                yield split_glued(InputLine(source, start, end, raw))
            else:
                self.blank += 1

    def _resume(self, handle: BinaryIO, file: ExportFile, base: str) -> tuple[str, int]:
        """The source's name and where to go on; a file that was cut short goes on under a name of its own."""
        size = os.fstat(handle.fileno()).st_size
        before = self._sources.get(file.key)
        if before is not None and before.split("~")[0] != base:
            self._gap(file, before, self._offsets.get(before, 0))
        generation = self._generation(base)
        source = _named(base, generation)
        known = source in self._offsets
        offset = self._offsets[source] if known else self._position(source)
        same = _ends_with(handle, offset, self._before[source]) if known else _ends_line(handle, offset, size)
        if offset > size or not same:
            self._gap(file, source, offset)
            self._generations[base] = generation + 1
            source, offset = _named(base, generation + 1), 0
        self._sources[file.key] = source
        return source, offset

    def _gap(self, file: ExportFile, source: str, sealed: int) -> None:
        seen = self._done[file.key][0] if file.key in self._done else 0
        self.gaps.append(Gap(file.path, source, sealed, max(sealed, seen)))

    def _generation(self, base: str) -> int:
        """How often a file of this name was cut short before; the store knows it too."""
        if base not in self._generations:
            generation = 0
            while self._position(_named(base, generation + 1)) > 0:
                generation += 1
            self._generations[base] = generation
        return self._generations[base]


def _named(base: str, generation: int) -> str:
    return f"{base}~{generation}" if generation else base


def _ends_with(handle: BinaryIO, offset: int, expected: bytes) -> bool:
    """Whether what was read last still stands before ``offset``; a file may be begun anew with the same first line."""
    handle.seek(max(0, offset - len(expected)))
    return handle.read(min(offset, len(expected))) == expected


def _ends_line(handle: BinaryIO, offset: int, size: int) -> bool:
    if offset in (0, size):
        return True
    handle.seek(offset - 1)
    return handle.read(1) == b"\n"
