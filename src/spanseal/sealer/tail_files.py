"""Which export files there are, and which of them will not grow any more. Reads folders and heads of files only.

A file is what lies behind (device, inode) and a hash of its first line, never its name: exporters rename on
rotation, truncate on restart, and inodes are used again. May import records and errors.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from spanseal.errors import UsageError
from spanseal.records.export_files import VALUES, is_export, is_packed, is_rotated


@dataclass(frozen=True, slots=True)
class ExportFile:
    """One file as found: ``size`` in bytes, ``changed`` in ns; ``finished`` when its name says it was rotated away."""

    path: Path
    device: int
    inode: int
    size: int
    changed: int
    finished: bool

    @property
    def key(self) -> tuple[int, int]:
        """What stays the same when the file is renamed."""
        return self.device, self.inode


@dataclass(frozen=True, slots=True)
class Unread:
    """A file or folder that was asked for, or lies there, and cannot be read; ``why`` is fit to be shown."""

    path: Path
    why: str


def discover(paths: Iterable[Path]) -> tuple[list[ExportFile], list[Unread]]:
    """Every export file of the given files and folders (one level), each once, oldest rotation first.

    The files of large values, in ``values/<run>/`` of a folder, come last. A file that is named brings its rotated
    siblings with it. What vanished in between is left out in silence; what cannot be read is returned with the reason,
    so that nobody takes a partial reading for a whole one.
    """
    found: dict[tuple[int, int], ExportFile] = {}
    unread: list[Unread] = []
    for path in paths:
        for candidate in _candidates(path, unread):
            file = _look(candidate, unread)
            if file is not None:
                found.setdefault(file.key, file)
    return list(found.values()), unread


def demand(paths: Sequence[Path]) -> None:
    """Refuse names that lead nowhere, before anything is sealed. Raises UsageError: the caller's path is wrong."""
    if not paths:
        raise UsageError("no export file or folder was named: give the folder that the spans are exported to")
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path}: no such file or folder; give the folder that the spans are exported to")
        if not path.is_dir() and not path.is_file():
            raise UsageError(f"{path}: neither a file nor a folder, so reading cannot go on where it ended")


def _candidates(path: Path, unread: list[Unread]) -> Iterator[Path]:
    folder = path if path.is_dir() else path.parent
    try:
        names = sorted(entry.name for entry in folder.iterdir())
    except OSError as error:
        unread.append(Unread(folder, f"cannot be listed: {error.strerror}"))
        return
    if folder != path:
        stem = re.escape(path.stem)
        sibling = re.compile(rf"{stem}-.*{re.escape(path.suffix)}|{re.escape(path.name)}\.\d+")
        yield from _own(folder, [name for name in names if is_rotated(name) and sibling.fullmatch(name)], unread)
        yield path.resolve()  # whoever names a link means what it leads to
        return
    visible = [name for name in names if not name.startswith(".")]
    yield from _own(folder, [name for name in visible if is_export(name)], unread)
    if VALUES in visible:
        yield from _values(folder / VALUES, unread)
    for name in visible:
        if is_packed(name) and not is_export(name):
            unread.append(Unread(folder / name, "packed or binary export: set `compression: none` and `format: json`"))


def _values(root: Path, unread: list[Unread]) -> Iterator[Path]:
    """The files of large values: a folder for each run, never behind a link."""
    for folder in _folders(root, unread):
        if not folder.is_symlink():
            names = (entry.name for entry in _listed(folder, unread))
            yield from _own(folder, sorted(name for name in names if is_export(name)), unread)


def _folders(root: Path, unread: list[Unread]) -> list[Path]:
    return [] if root.is_symlink() else [entry for entry in _listed(root, unread) if entry.is_dir()]


def _listed(folder: Path, unread: list[Unread]) -> list[Path]:
    try:
        return sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except FileNotFoundError:
        return []
    except OSError as error:
        unread.append(Unread(folder, f"cannot be listed: {error.strerror}"))
        return []


def _own(folder: Path, names: Iterable[str], unread: list[Unread]) -> Iterator[Path]:
    """The files of a folder by their real names. A link out of it may be an exporter's way to what only we may read."""
    for name in names:
        path = folder / name
        if not path.is_symlink():
            yield path
        elif path.exists() and (real := path.resolve()).parent == folder.resolve():
            yield real
        else:
            unread.append(Unread(path, "a link that leads out of its folder is not followed: name what it leads to"))


def _look(path: Path, unread: list[Unread]) -> ExportFile | None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    except OSError as error:
        unread.append(Unread(path, f"cannot be read: {error.strerror}"))
        return None
    if not stat.S_ISREG(status.st_mode):
        return None
    return ExportFile(path, status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, is_rotated(path.name))
