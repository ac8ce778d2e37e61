"""Where built binaries live: outside the tree, named by what they were made from, made by one process at a time."""

import fcntl
import hashlib
import os
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path


def cache_root() -> Path:
    """`$SPANSEAL_CACHE`, else `~/.cache/spanseal`."""
    return Path(os.environ.get("SPANSEAL_CACHE") or Path.home() / ".cache" / "spanseal")


def content_key(files: Iterable[Path], *facts: str) -> str:
    """Sixteen hex digits over the files' names and bytes and some further facts, in this order."""
    digest = hashlib.sha256()
    for part in [piece for file in sorted(files) for piece in (file.name.encode(), file.read_bytes())]:
        digest.update(len(part).to_bytes(8, "big") + part)
    for fact in facts:
        digest.update(len(fact).to_bytes(8, "big") + fact.encode())
    return digest.hexdigest()[:16]


@contextmanager
def locked(path: Path) -> Generator[None]:
    """Hold an exclusive lock; a second process waits here, and the system lets go when the holder dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def made_once(target: Path, make: Callable[[Path], None]) -> Path:
    """Return `target`, made first if it is not there.

    `make` writes to the path it is given, a sibling that is renamed at the end, so a file under its final name is
    always whole.
    """
    if target.exists():
        return target
    with locked(target.with_name(f".{target.name}.lock")):
        if not target.exists():
            unfinished = target.with_name(f".{target.name}.part")
            unfinished.unlink(missing_ok=True)
            make(unfinished)
            unfinished.rename(target)
    return target


def linked(link: Path, target: Path) -> None:
    """Make `link` a symbolic link to `target`, at once, whatever it was before."""
    link.parent.mkdir(parents=True, exist_ok=True)
    new = link.with_name(f".{link.name}.{os.getpid()}.link")
    new.unlink(missing_ok=True)
    new.symlink_to(target)
    new.replace(link)
