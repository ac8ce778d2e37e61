"""Names of a store's files, and how a folder is known for a store. Imports nothing of spanseal.

::

    checkpoint         the signed head (signed note)
    checkpoints.log    every head that was published, in order: each note followed by an empty line
    seg/<20 digits>.seg   segments, named by their first leaf (``segment``)
    tile/...           tiles and entry bundles (C2SP tlog-tiles)
    lock               empty; the writer holds an flock on it
    idx/               a cache, rebuilt from the segments; nothing in it is believed

No other file belongs into a store. ``checkpoint.tmp`` can be left behind by a crash; the next writer removes it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

CHECKPOINT: Final = "checkpoint"
CHECKPOINT_TMP: Final = "checkpoint.tmp"
HISTORY: Final = "checkpoints.log"
LOCK: Final = "lock"
SEGMENTS: Final = "seg"
TILES: Final = "tile"
INDEX: Final = "idx"


def is_store(path: Path) -> bool:
    """True for a folder that has an audit store's checkpoint or segments."""
    return path.is_dir() and ((path / CHECKPOINT).exists() or (path / SEGMENTS).is_dir())
