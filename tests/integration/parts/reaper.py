"""Ends what a test run started when the run itself dies, whichever way.

One small process per test run reads lines from a pipe: `+PID` for a process group to watch, `-PID` when it has been
stopped in order. When the pipe closes (the run ended, crashed or was killed) it stops what is left.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from functools import cache

GRACE = 5.0
"""Seconds between the polite signal and the other one."""


def watch(pid: int) -> None:
    """See to it that process group `pid` does not outlive this process."""
    _tell(f"+{pid}")


def forget(pid: int) -> None:
    """The process group has ended."""
    _tell(f"-{pid}")


def _tell(line: str) -> None:
    pipe = _reaper().stdin
    assert pipe is not None
    pipe.write(line + "\n")
    pipe.flush()


@cache
def _reaper() -> subprocess.Popen[str]:
    # Its own session: Ctrl-C at the terminal must not end it before it has done its work.
    return subprocess.Popen([sys.executable, "-S", __file__], stdin=subprocess.PIPE, text=True, start_new_session=True)


def _signal(groups: set[int], number: int) -> set[int]:
    """Signal the groups; return those that still exist."""
    alive: set[int] = set()
    for group in groups:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
            alive.add(group)
    return alive


def main() -> None:
    """Watch until the pipe closes, then clean up."""
    groups: set[int] = set()
    for line in sys.stdin:
        pid = int(line[1:])
        (groups.add if line[0] == "+" else groups.discard)(pid)
    groups = _signal(groups, signal.SIGTERM)
    deadline = time.monotonic() + GRACE
    while groups and time.monotonic() < deadline:
        time.sleep(0.05)
        groups = _signal(groups, 0)
    _signal(groups, signal.SIGKILL)


if __name__ == "__main__":
    main()
