"""Where recorded spans lie: an audit store, or export files. May import ``audit`` and ``records``."""

from __future__ import annotations

from pathlib import Path

from spanseal.audit.store_names import is_store
from spanseal.replay.sources.base import Source
from spanseal.replay.sources.files import FileSource


def open_source(
    path: str | Path,
    *,
    trust: str | Path | None = None,
    heads: str | Path | None = None,
    content_keys: str | Path | None = None,
    unverified: bool = False,
) -> Source:
    """The source at ``path``: an audit store, an export file, or a folder of export files.

    A store is verified first. ``trust`` (a trust file), ``heads`` (remembered heads) and ``content_keys`` (a folder)
    are by default those that this user's pin names; ``unverified`` reads a store in spite of a bad verdict.
    Raises :class:`spanseal.errors.ReplayError` if there is nothing to read, :class:`BadStoreError` on a bad verdict.
    """
    at = Path(path)
    if is_store(at):
        from spanseal.replay.sources.store import open_store

        return open_store(at, trust=trust, heads=heads, content_keys=content_keys, unverified=unverified)
    return FileSource(at)
