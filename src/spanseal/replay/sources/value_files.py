"""The files of large values that lie beside the files of spans. May import ``records`` and ``genai`` names."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from spanseal.genai import semconv
from spanseal.records.export_files import VALUES, is_export, value_file
from spanseal.records.otlp import SpanRecord


def scope_of(record: SpanRecord) -> str:
    """The run or trace that a span's values lie under."""
    run = record.attributes.get(semconv.RUN_ID)
    return run if isinstance(run, str) else record.trace_id


def value_files(source: Path, scopes: Collection[str] | None) -> Iterator[Path]:
    """Those beside the spans of ``source``, a folder or a file in one; of these runs and traces, None: of all."""
    root = (source if source.is_dir() else source.parent) / VALUES
    names = None if scopes is None else {value_file(scope, "")[0] for scope in scopes}
    for folder in _inside(root):
        if folder.is_dir() and not folder.is_symlink() and (names is None or folder.name in names):
            yield from (file for file in _inside(folder) if is_export(file.name) and file.is_file())


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError:
        return []
