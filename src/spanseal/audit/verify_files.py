"""Looks for what does not belong into a store, and for a lock file that is not empty. Imports ``store_layout``."""

from __future__ import annotations

from pathlib import Path

from spanseal.audit.store_layout import (
    CHECKPOINT,
    CHECKPOINT_TMP,
    HISTORY,
    INDEX,
    LOCK,
    SEGMENTS,
    TILES,
    segment_first,
)
from spanseal.audit.verify_report import Report
from spanseal.audit.verify_tiles import files_below

_FILES = {CHECKPOINT, HISTORY, LOCK, CHECKPOINT_TMP}
_FOLDERS = {SEGMENTS, TILES, INDEX}


def check_files(root: Path, report: Report) -> list[str]:
    """Name every file that is no part of a store (tiles are looked at with the tree); the caches that are there."""
    for path in sorted(root.iterdir()):
        known = path.name in (_FOLDERS if path.is_dir() else _FILES) and not path.is_symlink()
        if not known:
            for stranger in files_below(path) if path.is_dir() and not path.is_symlink() else (path,):
                report.add(_stranger(stranger), stranger.relative_to(root).as_posix())
    for path in files_below(root / SEGMENTS):
        if segment_first(path.name) is None or path.is_symlink() or path.parent.name != SEGMENTS:
            report.add(_stranger(path), path.relative_to(root).as_posix())
    lock = root / LOCK
    if lock.is_file() and lock.stat().st_size:
        report.add("lock-not-empty", LOCK)
    if (root / CHECKPOINT_TMP).is_file():
        report.add("write-interrupted", CHECKPOINT_TMP)
    return [path.relative_to(root).as_posix() for path in files_below(root / INDEX)]


def _stranger(path: Path) -> str:
    try:
        with path.open("rb") as file:
            start = file.read(4096)
    except OSError:
        return "unknown-file"
    return "key-inside-store" if b"PRIVATE KEY" in start or start.startswith(b"SSK1") else "unknown-file"
