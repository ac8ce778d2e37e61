"""Looks into folders: where spans are exported to, where they wait, and audit stores. Reads names and sizes only."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from spanseal.audit.store_names import is_store
from spanseal.doctor.finding import Finding
from spanseal.records.export_files import is_export, is_packed

_LITTLE_ROOM: Final = 1 << 30


def place_findings(folder: Path) -> Iterator[Finding]:
    """What there is to say of a folder with spans, or of an audit store."""
    if not folder.is_dir():
        if not folder.exists():
            yield Finding("info", "folder-new", str(folder), "does not exist yet; it is made by the first process")
        return
    if is_store(folder):
        yield Finding("info", "store", str(folder), "an audit store", f"spanseal verify {folder}")
    else:
        yield from _exports(folder)
    free = shutil.disk_usage(folder).free
    if free < _LITTLE_ROOM:
        yield Finding("warn", "little-room", str(folder), f"{free:,} bytes are free on this disk", "make room")


def spool_findings(root: Path) -> Iterator[Finding]:
    """What waits in the spools of this user: for which server, how much, and what was refused."""
    for spool in sorted(path for path in root.glob("*") if path.is_dir()) if root.is_dir() else ():
        name = _first_line(spool / "endpoint") or spool.name
        waiting = [path for path in spool.glob("*.jsonl") if path.stat().st_size]
        if waiting:
            size = sum(path.stat().st_size for path in waiting)
            yield Finding("info", "spool-waiting", str(spool), f"{len(waiting)} files, {size:,} bytes for {name}",
                          "the next process that exports there sends what dead processes left")
        refused = sorted(spool.glob("rejected/*.jsonl"))
        if refused:
            lines = sum(path.read_bytes().count(b"\n") for path in refused)
            yield Finding("warn", "spool-refused", str(spool / "rejected"),
                          f"{name} refused {lines} spans; they are kept",
                          "read them, mend the cause, seal the files")


def _exports(folder: Path) -> Iterator[Finding]:
    files = [path for path in folder.iterdir() if path.is_file()]
    spans = [path for path in files if is_export(path.name)]
    size = sum(path.stat().st_size for path in spans)
    yield Finding("info", "exports", str(folder), f"{len(spans)} files with spans, {size:,} bytes")
    packed = [path.name for path in files if is_packed(path.name)]
    if packed:
        yield Finding("warn", "packed", str(folder), f"cannot be sealed as they are: {', '.join(packed[:5])}",
                      "unpack them")


def _first_line(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").split("\n", 1)[0]
    except (OSError, UnicodeDecodeError):
        return ""
