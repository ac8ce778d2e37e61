"""The heads a verifier has seen: its own memory, outside every store, so that an older head is known for a rollback.

One JSON file: ``{"version": 1, "heads": {origin: {"size": n, "root": base64}}}``, replaced in one step. A damaged
memory is an error that names the file, never silently begun anew: losing it is what an attacker would want. May import
``tlog``, ``small_file`` and errors.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any, cast

from spanseal.audit.small_file import replace_file
from spanseal.audit.tlog.checkpoint import Checkpoint
from spanseal.audit.tlog.encoding import from_base64, to_base64
from spanseal.errors import FormatError, TrustError


class HeadMemory:
    """The last head per origin, in the file ``path`` (made when first needed).

    Every method raises :class:`TrustError`, naming the file, if it is damaged or cannot be read or written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def last(self, origin: str) -> Checkpoint | None:
        """The largest head seen of this log, or None."""
        return self._read().get(origin)

    def all(self) -> dict[str, Checkpoint]:
        """The largest head seen of every log, by origin."""
        return self._read()

    def remember(self, checkpoint: Checkpoint) -> None:
        """Keep a verified head; a smaller one than is kept already changes nothing."""
        with self._locked():
            heads = self._read()
            known = heads.get(checkpoint.origin)
            if known is not None and known.size >= checkpoint.size:
                return
            heads[checkpoint.origin] = checkpoint
            self._write(heads)

    def _read(self) -> dict[str, Checkpoint]:
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise TrustError(f"the remembered heads {self.path} cannot be read: {error.strerror}") from error
        try:
            return _decode(data)
        except (ValueError, FormatError) as error:
            raise TrustError(
                f"the remembered heads {self.path} are damaged ({error}): restore the file from a backup; "
                "without it a rollback to before now cannot be noticed"
            ) from error

    def _write(self, heads: dict[str, Checkpoint]) -> None:
        document = {
            "version": 1,
            "heads": {origin: {"size": head.size, "root": to_base64(head.root)} for origin, head in heads.items()},
        }
        try:
            replace_file(self.path, json.dumps(document, indent=1).encode() + b"\n")
        except OSError as error:
            raise TrustError(f"the remembered heads {self.path} cannot be written: {error.strerror}") from error

    @contextlib.contextmanager
    def _locked(self) -> Generator[None]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path.with_name(self.path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise TrustError(f"the remembered heads {self.path} cannot be written: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _decode(data: bytes) -> dict[str, Checkpoint]:
    document: Any = json.loads(data)
    if not isinstance(document, dict):
        raise FormatError("no JSON object")
    fields = cast("dict[str, Any]", document)
    heads = fields.get("heads")
    if fields.get("version") != 1 or not isinstance(heads, dict):
        raise FormatError("not a memory of heads in version 1")
    found: dict[str, Checkpoint] = {}
    for origin, head in cast("dict[str, Any]", heads).items():
        size, root = (head.get("size"), head.get("root")) if isinstance(head, dict) else (None, None)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - JSON
        if not isinstance(size, int) or isinstance(size, bool) or not isinstance(root, str):
            raise FormatError(f"the head of {origin} has no size or root")
        found[origin] = Checkpoint(origin, size, from_base64(root, "a remembered root"))
    return found
