"""Looks for what does not belong into a store, and for a lock file that is not empty. Imports ``store_scan``."""

from __future__ import annotations

import os
from pathlib import Path

from spanseal.audit.store_names import CHECKPOINT, CHECKPOINT_TMP, HISTORY, INDEX, LOCK, SEGMENTS, TILES
from spanseal.audit.store_scan import is_plain, read_at_most, segment_first
from spanseal.audit.verify_report import Report
from spanseal.audit.verify_tiles import files_below

_FILES = {CHECKPOINT, HISTORY, LOCK, CHECKPOINT_TMP}
_FOLDERS = {SEGMENTS, TILES, INDEX}
_KEY = "key-inside-store"
_KEY_MARKS = (b"PRIVATE KEY", b"PRIVATE+KEY+")


def check_files(root: Path, report: Report) -> list[str]:
    """Name everything that is no part of a store (tiles are looked at with the tree); the caches that are there."""
    for path in sorted(root.iterdir()):
        if path.name in _FOLDERS and path.is_dir() and not path.is_symlink():
            continue
        if path.name not in _FILES or not is_plain(path):
            _strangers(root, path, report)
    for path in _entries(root / SEGMENTS):
        if segment_first(path.name) is None or not is_plain(path):
            _strangers(root, path, report)
    lock = root / LOCK
    if is_plain(lock) and lock.stat().st_size:
        report.add("lock-not-empty", LOCK)
    if is_plain(root / CHECKPOINT_TMP):
        report.add("write-interrupted", CHECKPOINT_TMP)
    caches = list(files_below(root / INDEX))
    for path in caches:
        if _code_of(path) == _KEY:
            report.add(_KEY, path.relative_to(root).as_posix())
    return [path.relative_to(root).as_posix() for path in caches]


def _strangers(root: Path, path: Path, report: Report) -> None:
    """Name all files below a folder that does not belong, the folder itself if it has none."""
    below = list(files_below(path)) if path.is_dir() and not path.is_symlink() else []
    for stranger in below or (path,):
        if os.path.lexists(stranger):  # else it was a sealer's: renamed since the folder was read
            report.add(_code_of(stranger), stranger.relative_to(root).as_posix())


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _code_of(path: Path) -> str:
    try:
        start = read_at_most(path, 4096) if is_plain(path) else b""
    except OSError:
        start = b""
    return _KEY if any(mark in start for mark in _KEY_MARKS) or start.startswith(b"SSK1") else "unknown-file"
