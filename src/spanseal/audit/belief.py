"""What a user believes about a store: what was named, else what ``keygen`` pinned for the log that it claims to be.

Whether it is that log, the signature decides later. May import the modules of audit and settings.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spanseal import settings
from spanseal.audit.content_keys import ContentKeys
from spanseal.audit.heads import HeadMemory
from spanseal.audit.leaf import KeyEventLeaf, decode_leaf
from spanseal.audit.pins import pin_for
from spanseal.audit.store_names import CHECKPOINT
from spanseal.audit.store_scan import is_plain, read_at_most, read_frames, segments_of
from spanseal.audit.tlog.note import MAX_NOTE
from spanseal.audit.trust import Trust
from spanseal.errors import FormatError, NotAStoreError

_CONTENT: Final = "content"


@dataclass(frozen=True, slots=True)
class Belief:
    """Whom to believe (None: nobody), by which file; the heads seen before; the content keys at hand (None: none)."""

    trust: Trust | None
    trust_path: Path | None
    heads: HeadMemory
    content_keys: ContentKeys | None

    @property
    def witnessed(self) -> bool:
        """Whether somebody else than the log's own keys must have seen a head."""
        return self.trust is not None and self.trust.witnessed


def belief_about(
    store: Path,
    *,
    trust: str | Path | None = None,
    heads: str | Path | None = None,
    content_keys: str | Path | None = None,
) -> Belief:
    """Trust file, memory of heads and content keys for ``store``.

    A folder of content keys that is named may hold some runs' only, so that absent ones are *withheld*; the pinned one
    is the log owner's and should be whole. A store that does not say
    any more which log it is, is the one that was last seen in its folder.
    Raises TrustError for a pin or trust file that cannot be read.
    """
    memory = HeadMemory(heads if heads is not None else settings.heads_file())
    claimed = claimed_head(store).partition(b"\n")[0].decode("utf-8", "replace") or opening_origin(store)
    origin = claimed or memory.origin_at(store)
    pin = pin_for(origin, settings.state_dir()) if origin else None
    believed = Path(trust) if trust is not None else pin.trust_path if pin is not None else None
    if content_keys is not None:
        keys = content_keys_in(Path(content_keys), whole=False)
    else:
        keys = content_keys_in(pin.keys_dir / _CONTENT, whole=True) if pin is not None else None
    return Belief(
        Trust.load(believed) if believed is not None else None,
        believed,
        memory,
        keys,
    )


def claimed_head(store: Path) -> bytes:
    """The checkpoint's bytes as they lie there; empty where there is none that can be read."""
    path = store / CHECKPOINT
    try:
        return read_at_most(path, MAX_NOTE) if is_plain(path) else b""
    except OSError:
        return b""


def opening_origin(store: Path) -> str:
    """The log that leaf 0 names; "" where it cannot be read."""
    try:
        placed = next(read_frames(segments_of(store)[0]))
        leaf = decode_leaf(placed.frame.entries[0])
    except (FormatError, NotAStoreError, OSError, IndexError, StopIteration):
        return ""
    return leaf.origin if isinstance(leaf, KeyEventLeaf) else ""


def content_keys_in(folder: Path, *, whole: bool) -> ContentKeys | None:
    """The keys in a folder, or in the ``content`` of a key folder; None where there is no folder."""
    if not folder.is_dir():
        return None
    inner = folder / _CONTENT
    return ContentKeys(inner if inner.is_dir() else folder, whole=whole)
