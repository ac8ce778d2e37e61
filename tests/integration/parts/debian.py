"""Files out of Debian packages, without installing them: fetched with apt-get, unpacked into the cache."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from .cache import cache_root, locked
from .toolchain import PartError


def can_unpack() -> bool:
    """Whether this machine has the two commands that are needed."""
    return bool(shutil.which("apt-get") and shutil.which("dpkg"))


def unpacked(package: str) -> Path:
    """The folder that holds the package's files (`usr/...`); fetched on first use.

    Raises:
        PartError: the package cannot be fetched; the message names what to install instead.
    """
    target = cache_root() / "deb" / package
    with locked(cache_root() / "deb" / f".{package}.lock"):
        if not target.is_dir():
            if not can_unpack():
                raise PartError(f"{package} is not here and this is no Debian system: install it by your own means")
            with tempfile.TemporaryDirectory(dir=target.parent) as folder:
                _fetch(package, Path(folder))
                files = Path(folder) / "files"
                (archive,) = Path(folder).glob("*.deb")
                subprocess.run(["dpkg", "-x", archive, files], check=True)
                files.rename(target)
    return target


def _fetch(package: str, folder: Path) -> None:
    problem = _apt(folder, "download", package)
    if problem and os.geteuid() == 0:
        # Fresh machines and containers come without package lists, old ones with lists that name what is gone.
        problem = _apt(folder, "update") or _apt(folder, "download", package)
    if problem:
        remedy = f"sudo apt-get update && sudo apt-get install {package}"
        raise PartError(f"cannot fetch {package} ({problem.strip()}): {remedy}")


def _apt(folder: Path, *arguments: str) -> str | None:
    """Run apt-get; None when it worked, else what it said."""
    done = subprocess.run(["apt-get", "-q", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else done.stderr[-2000:] or "apt-get failed"
