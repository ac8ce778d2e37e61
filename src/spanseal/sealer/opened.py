"""Which log a folder of keys has opened, so that its keys never sign a second one under the same name.

``KEYS/opened`` holds one line, ``<hash of leaf 0, hex> begun`` or ``... published``; the folder is locked while a
sealer opens its store. *begun* is on the disk before the first head is signed, *published* as soon as it is out:

=======================================  ==========================================================================
a crash left                             the next opening
=======================================  ==========================================================================
leaf 0, nothing remembered               remembers it: no head was signed
leaf 0, *begun*                          of the same store: goes on; of another one: may take its place, no head is out
a head, *begun* or nothing               of the same store: *published*
*published*                              another leaf 0, or a store without one, is refused
=======================================  ==========================================================================

May import audit's names, tlog and errors.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from spanseal.audit.small_file import replace_file
from spanseal.audit.store_scan import segments_of
from spanseal.audit.tlog.hashes import leaf_hash
from spanseal.errors import NotAStoreError, TrustError, UsageError

OPENED: Final = "opened"
_LINE: Final = re.compile(rb"([0-9a-f]{64}) (begun|published)\n")


class OpenedLog:
    """The locked memory of a key folder; make it with :func:`opened_log`."""

    def __init__(self, keys: Path, folder: int, store: Path) -> None:
        self._path, self._folder, self._store = keys / OPENED, folder, store
        self._leaf, self._published = self._read()

    def demand_store(self) -> None:
        """Raise UsageError if the keys have published a log and the store is about to begin a new one."""
        try:
            begun = bool(segments_of(self._store))
        except NotAStoreError:
            begun = False
        if self._published and not begun:
            raise self._refusal("is empty or not there")

    def leaf0(self, entry: bytes, *, published: bool) -> None:
        """Hold the store's leaf 0 against the memory and remember it, durable; before anything is signed.

        UsageError if the keys have published a log that begins otherwise.
        """
        found = leaf_hash(entry).hex()
        if self._published and found != self._leaf:
            raise self._refusal("begins with another leaf")
        if (found, published or self._published) != (self._leaf, self._published):
            self._write(found, published=published)

    def published(self) -> None:
        """A head of the store is out."""
        if not self._published:
            self._write(self._leaf, published=True)

    def _refusal(self, what: str) -> UsageError:
        return UsageError(
            f"--store {self._store} {what}, and {self._path} says that these keys have opened a log already: a second "
            "one under the same name and key would look like a forgery. Give the store that belongs to the keys, or "
            "make new keys for a new store: spanseal keygen DIR"
        )

    def _read(self) -> tuple[str, bool]:
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return "", False
        except OSError as error:
            raise TrustError(f"{self._path}: cannot be read ({error.strerror}); run as who made the keys") from error
        match = _LINE.fullmatch(data)
        if match is None:
            raise TrustError(
                f"{self._path}: line 1: not `<hash of leaf 0> begun|published`: restore it from a backup; if these "
                "keys have one store only, delete the file: it is made again when that store is opened"
            )
        return match[1].decode(), match[2] == b"published"

    def _write(self, leaf: str, *, published: bool) -> None:
        try:
            replace_file(self._path, f"{leaf} {'published' if published else 'begun'}\n".encode())
            os.fsync(self._folder)
        except OSError as error:
            raise UsageError(f"{self._path} cannot be written: {error.strerror}: nothing was signed by it") from error
        self._leaf, self._published = leaf, published


@contextmanager
def opened_log(keys: Path, store: Path) -> Generator[OpenedLog, None, None]:
    """The memory of a key folder, locked until the block ends; another opening with these keys waits.

    Raises TrustError if the folder or its memory cannot be read.
    """
    try:
        folder = os.open(keys, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise TrustError(f"{keys}: cannot be read ({error.strerror}); run as who made the keys") from error
    try:
        with contextlib.suppress(OSError):  # some network file systems lock no folder; two first starts then may race
            fcntl.flock(folder, fcntl.LOCK_EX)
        yield OpenedLog(keys, folder, store)
    finally:
        os.close(folder)
