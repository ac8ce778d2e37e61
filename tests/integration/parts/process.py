"""One real service as a process: started with a log file, waited for, stopped for sure."""

import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from . import reaper
from .toolchain import PartError


def free_ports(count: int) -> list[int]:
    """`count` different loopback ports that nobody listens on.

    Taken from below the range from which systems choose outgoing ports, so that none is taken by a client in the
    moment between this look and the service's own bind.
    """
    found: list[int] = []
    for port in random.sample(range(20_000, 32_000), 12_000):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        found.append(port)
        if len(found) == count:
            return found
    raise PartError("no free loopback port between 20000 and 32000")


def answers(url: str, status: int = 200) -> bool:
    """Whether a GET gives that status; a refused or slow connection is a no."""
    try:
        return httpx.get(url, timeout=2, trust_env=False).status_code == status
    except httpx.HTTPError:
        return False


def wait_until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Poll until the condition holds.

    Raises:
        PartError: it did not within `seconds`; `what` is what was waited for.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise PartError(f"waited {seconds:g} s for {what}")
        time.sleep(0.05)


@dataclass
class Service:
    """A process that serves; `ready` says when it can be used.

    `env` is added to an environment that has none of the caller's OTEL_* and SPANSEAL_* variables.
    """

    name: str
    command: Sequence[str]
    log: Path
    ready: Callable[[], bool]
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    patience: float = 60.0
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and return when it is ready.

        Raises:
            PartError: it ended or was not ready in time; the message has the end of its log.
        """
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "SPANSEAL_"))}
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, env={**inherited, **self.env}, stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip
        reaper.watch(self.process.pid)
        try:
            wait_until(lambda: not self.alive or self.ready(), self.patience, f"{self.name} to be ready")
            if not self.alive:
                raise PartError(f"{self.name} ended with {self.process.returncode}")
        except BaseException as error:
            self.kill()
            if isinstance(error, PartError):
                raise PartError(f"{error}; the end of {self.log}:\n{self.tail()}") from None
            raise

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self.process is not None and self.process.poll() is None

    def stop(self, seconds: float = 20.0) -> None:
        """Ask it to end, wait, insist."""
        self._end(signal.SIGTERM, seconds)

    def kill(self) -> None:
        """End it without warning, as a crash would."""
        self._end(signal.SIGKILL, 10.0)

    def restart(self) -> None:
        """Stop in order, start again on the same ports and folders."""
        self.stop()
        self.start()

    def tail(self, lines: int = 20) -> str:
        """The last lines of the log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def _end(self, number: int, seconds: float) -> None:
        process, self.process = self.process, None
        if process is None:
            return
        try:
            _signal_group(process.pid, number)
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
        finally:
            _signal_group(process.pid, signal.SIGKILL)  # also what it started itself and left behind
            process.wait(10)
            reaper.forget(process.pid)


def _signal_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        return
