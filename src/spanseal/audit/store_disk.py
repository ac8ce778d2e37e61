"""The seam between the store and the disk: every byte the writer changes goes through one small protocol.

A failed sync means the disk may have lost what it said it had: it is never tried again, the store stops
(:class:`StoreStoppedError`). A failed write leaves ``OSError`` to the caller. Standard library only.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Protocol

from spanseal.errors import StoreStoppedError


class Disk(Protocol):
    """What the writer does to the disk; tests put faults in here."""

    def append(self, descriptor: int, data: bytes) -> None:
        """Write all of ``data`` at the end; OSError if the disk is full (a part may then be written)."""
        ...

    def truncate(self, descriptor: int, size: int) -> None:
        """Cut the file to ``size`` bytes."""
        ...

    def sync(self, descriptor: int) -> None:
        """The file's bytes are on the disk when this returns; StoreStoppedError if not."""
        ...

    def sync_folder(self, folder: Path) -> None:
        """The folder's names are on the disk when this returns; StoreStoppedError if not."""
        ...

    def write(self, path: Path, data: bytes) -> None:
        """Write a rebuildable file, making its folder; not synced."""
        ...

    def replace(self, path: Path, data: bytes) -> None:
        """Put ``data`` in the file's place in one step, on the disk when this returns."""
        ...

    def remove_folder(self, folder: Path) -> None:
        """Remove a flat folder of rebuildable files, if it is there."""
        ...


class RealDisk:
    """The operating system's files."""

    def append(self, descriptor: int, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]

    def truncate(self, descriptor: int, size: int) -> None:
        os.ftruncate(descriptor, size)

    def sync(self, descriptor: int) -> None:
        try:
            os.fdatasync(descriptor) if hasattr(os, "fdatasync") else os.fsync(descriptor)
        except OSError as error:
            raise StoreStoppedError(_lost(error)) from error

    def sync_folder(self, folder: Path) -> None:
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        except OSError as error:
            raise StoreStoppedError(_lost(error)) from error
        finally:
            os.close(descriptor)

    def write(self, path: Path, data: bytes) -> None:
        try:
            path.write_bytes(data)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def replace(self, path: Path, data: bytes) -> None:
        temporary = path.with_name(path.name + ".tmp")
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            self.append(descriptor, data)
            self.sync(descriptor)
        finally:
            os.close(descriptor)
        temporary.replace(path)
        self.sync_folder(path.parent)

    def remove_folder(self, folder: Path) -> None:
        with contextlib.suppress(FileNotFoundError):
            for path in folder.iterdir():
                path.unlink()
            folder.rmdir()


def _lost(error: OSError) -> str:
    return (
        f"the disk could not make data durable ({error.strerror}): the store is not written any more; "
        "check the disk, then start the sealer again, which re-reads what really is there"
    )
