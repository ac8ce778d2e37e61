"""The heads a verifier has seen: its own memory, outside every store, so that an older head is known for a rollback.

One JSON file: ``{"version": 1, "heads": {origin: {"size": n, "root": base64}}, "places": {folder: origin}}``, replaced
in one step; *places* says which log a folder held, for one that does not say it any more. A damaged memory is an error
that names the file, never silently begun anew: losing it is what an attacker would want. May import ``tlog``,
``small_file`` and errors.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, cast

from spanseal.audit.small_file import replace_file
from spanseal.audit.tlog.checkpoint import Checkpoint
from spanseal.audit.tlog.encoding import from_base64, to_base64
from spanseal.errors import FormatError, TrustError

_PLACES: Final = 1000
"""Folders that are remembered, the latest ones."""


@dataclass(slots=True)
class _Memory:
    heads: dict[str, Checkpoint] = field(default_factory=dict[str, Checkpoint])
    places: dict[str, str] = field(default_factory=dict[str, str])


class HeadMemory:
    """The last head per origin, in the file ``path`` (made when first needed).

    Every method raises :class:`TrustError`, naming the file, if it is damaged or cannot be read or written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def last(self, origin: str) -> Checkpoint | None:
        """The largest head seen of this log, or None."""
        return self._read().heads.get(origin)

    def all(self) -> dict[str, Checkpoint]:
        """The largest head seen of every log, by origin."""
        return self._read().heads

    def origin_at(self, store: Path) -> str:
        """The log whose head was seen last in this folder; "" if none was."""
        return self._read().places.get(os.path.realpath(store), "")

    def remember(self, checkpoint: Checkpoint, store: Path | None = None) -> None:
        """Keep a verified head, and the folder that it was seen in; a smaller one than is kept already is not kept."""
        with self._locked():
            memory = self._read()
            known, place = memory.heads.get(checkpoint.origin), os.path.realpath(store) if store is not None else ""
            newer = known is None or known.size < checkpoint.size
            if newer:
                memory.heads[checkpoint.origin] = checkpoint
            moved = bool(place) and memory.places.pop(place, "") != checkpoint.origin
            if place:
                memory.places[place] = checkpoint.origin
            if newer or moved:
                self._write(memory)

    def _read(self) -> _Memory:
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return _Memory()
        except OSError as error:
            raise TrustError(f"the remembered heads {self.path} cannot be read: {error.strerror}") from error
        try:
            return _decode(data)
        except (ValueError, FormatError) as error:
            raise TrustError(
                f"the remembered heads {self.path} are damaged ({error}): restore the file from a backup; "
                "without it a rollback to before now cannot be noticed"
            ) from error

    def _write(self, memory: _Memory) -> None:
        heads = {origin: {"size": head.size, "root": to_base64(head.root)} for origin, head in memory.heads.items()}
        places = dict(list(memory.places.items())[-_PLACES:])
        try:
            document = {"version": 1, "heads": heads, "places": places}
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


def _decode(data: bytes) -> _Memory:
    document: Any = json.loads(data)
    if not isinstance(document, dict):
        raise FormatError("no JSON object")
    fields = cast("dict[str, Any]", document)
    heads, places = fields.get("heads"), fields.get("places", {})
    if fields.get("version") != 1 or not isinstance(heads, dict) or not isinstance(places, dict):
        raise FormatError("not a memory of heads in version 1")
    found = _Memory()
    for place, origin in cast("dict[str, Any]", places).items():
        if not isinstance(origin, str):
            raise FormatError(f"the log in {place} has no name")
        found.places[place] = origin
    for origin, head in cast("dict[str, Any]", heads).items():
        size, root = (head.get("size"), head.get("root")) if isinstance(head, dict) else (None, None)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - JSON
        if not isinstance(size, int) or isinstance(size, bool) or not isinstance(root, str):
            raise FormatError(f"the head of {origin} has no size or root")
        found.heads[origin] = Checkpoint(origin, size, from_base64(root, "a remembered root"))
    return found
