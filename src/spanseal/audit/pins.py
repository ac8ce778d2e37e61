"""What this user believes without being told: per log, the trust file and key folder that ``keygen`` pinned.

One small JSON file per origin below the user's state folder, named by the SHA-256 of the origin. A pin is evidence's
anchor: one that cannot be read is an error, never an absent one. May import errors and ``small_file``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from spanseal.audit.small_file import replace_file
from spanseal.errors import TrustError

_FIELDS = ("origin", "trust", "keys")


@dataclass(frozen=True, slots=True)
class Pin:
    """Where one log's trust file and key folder lie, as absolute paths."""

    origin: str
    trust_path: Path
    keys_dir: Path


def pin_path(origin: str, state_dir: Path) -> Path:
    """The file of an origin's pin.

    >>> pin_path("example.com/log", Path("state")).name[:8]
    '4d3203c8'
    """
    return Path(state_dir) / "pins" / f"{sha256(origin.encode()).hexdigest()}.json"


def pin_for(origin: str, state_dir: Path) -> Pin | None:
    """The pin of ``origin``, None if there is none. Raises :class:`TrustError`, naming the file, if it is damaged."""
    return _read(pin_path(origin, state_dir))


def _read(path: Path) -> Pin | None:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TrustError(f"the pin {path} cannot be read: {error.strerror}") from None
    try:
        value: Any = json.loads(data)
    except ValueError:
        value = None
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    if set(fields) != set(_FIELDS) or not all(isinstance(fields[name], str) for name in _FIELDS):
        raise TrustError(f"the pin {path} is damaged; remove it and pin again with keygen, or pass --trust")
    pin = Pin(fields["origin"], Path(fields["trust"]), Path(fields["keys"]))
    named = pin_path(pin.origin, path.parent.parent).name == path.name
    if not named or not pin.trust_path.is_absolute() or not pin.keys_dir.is_absolute():
        raise TrustError(f"the pin {path} is of another log, or its paths are not absolute; remove it and pin again")
    return pin


def write_pin(origin: str, trust_path: Path, keys_dir: Path, state_dir: Path) -> Pin:
    """Pin a log for this user, in place of an earlier pin; on disk when this returns.

    Raises :class:`TrustError` if the state folder cannot be written.
    """
    pin = Pin(origin, Path(trust_path).absolute(), Path(keys_dir).absolute())
    path = pin_path(origin, state_dir)
    text = json.dumps({"origin": origin, "trust": str(pin.trust_path), "keys": str(pin.keys_dir)}, indent=1) + "\n"
    try:
        replace_file(path, text.encode())
    except OSError as error:
        raise TrustError(f"the pin {path} cannot be written: {error.strerror}") from None
    return pin
