"""What the files of a process are called, and writes that are whole. Standard library only.

A process (anew after fork) has a *stem* ``<utc>-<pid>-<n>``. Its spans lie in ``spans-<stem>.jsonl`` (folder) or
``spans-<stem>-<k>.jsonl`` (segments of a spool), those that it never ended in ``spans-<stem>-open.jsonl`` once another
process has adopted them, and what it has started in the hidden ``.started-<stem>``, on which it holds a lock.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

CLOEXEC: Final = getattr(os, "O_CLOEXEC", 0)
NEW: Final = ".new"
_LEASE: Final = ".started-"
_OF_STEM: Final = re.compile(r"spans-(\d{8}T\d{6}Z-\d+-\d+)(-(\d+|open))?\.jsonl")


def stems() -> Iterator[str]:
    """Stems for this process, from the likeliest on; which one is free shows when its file is made."""
    now, number = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime()), 0
    while True:
        yield f"{now}-{os.getpid()}-{number}"
        number += 1


def lease_path(folder: Path, stem: str) -> Path:
    """Where a process notes what it has started."""
    return folder / f"{_LEASE}{stem}"


def leases(folder: Path) -> list[tuple[str, Path]]:
    """The stems that have such a file, oldest first, with its path; none if the folder cannot be read."""
    return [(name.removeprefix(_LEASE), folder / name) for name in _hidden(folder) if not name.endswith(NEW)]


def unfinished(folder: Path) -> list[Path]:
    """Files of this kind that have not got their name, by a process that died, or is about to give it."""
    found = [folder / name for name in _hidden(folder) if name.endswith(NEW)]
    return [path for path in found if not path.with_name(path.name.removesuffix(NEW)).exists()]


def _hidden(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in os.scandir(folder) if entry.name.startswith(_LEASE))
    except OSError:
        return []


def stem_of(name: str) -> str | None:
    """The stem in the name of a file of spans; None if there is none.

    >>> stem_of("spans-20260101T000000Z-7-0-0003.jsonl"), stem_of("spans-20260101T000000Z-7-0.jsonl")
    ('20260101T000000Z-7-0', '20260101T000000Z-7-0')
    """
    match = _OF_STEM.fullmatch(name)
    return match[1] if match else None


def files_of(folder: Path, stem: str) -> list[Path]:
    """The files of spans of a stem, in the order in which they were begun, that of adopted open ones last."""
    return sorted(path for path in folder.glob(f"spans-{stem}*.jsonl") if stem_of(path.name) == stem)


def write_all(fd: int, data: bytes) -> None:
    """Write everything; the first ``write(2)`` nearly always takes it whole."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def write_at(fd: int, data: bytes, offset: int) -> None:
    """The same at an offset, on a file that is not opened for appending."""
    view = memoryview(data)
    while view:
        done = os.pwrite(fd, view, offset)
        view, offset = view[done:], offset + done
