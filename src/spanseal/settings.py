"""The only reader of environment variables and of the user's folders."""

from __future__ import annotations

import os
from pathlib import Path


def state_dir() -> Path:
    """Where this user's pins and remembered heads lie: ``SPANSEAL_STATE_DIR``, else the XDG state folder."""
    own = os.environ.get("SPANSEAL_STATE_DIR")
    if own:
        return Path(own)
    base = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(base) / "spanseal"
