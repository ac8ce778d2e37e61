"""The files that a process appends ended spans to: their names, and writes that are whole. Standard library.

A file is ``spans-<utc>-<pid>-<n>.jsonl``, of one process alone.
"""

from __future__ import annotations

import os
import time
from pathlib import Path


def new_path(folder: Path) -> Path:
    """A path that no other process uses and this one has not used yet."""
    stem = f"spans-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{os.getpid()}"
    number = 0
    while (path := folder / f"{stem}-{number}.jsonl").exists():
        number += 1
    return path


def write_all(fd: int, data: bytes) -> None:
    """Write everything; the first ``write(2)`` nearly always takes it whole."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
