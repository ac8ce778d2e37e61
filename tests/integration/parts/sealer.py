"""Starts the product's own sealer, as people start it: the installed command in a process of its own."""

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .process import Service, answers, free_ports
from .toolchain import PartError

COMMAND = str(Path(sys.executable).with_name("spanseal"))


@dataclass(frozen=True)
class Sealer:
    """A running sealer. `url` takes OTLP/HTTP, `state` is the user's state folder that its `keygen` pinned to."""

    service: Service
    url: str
    store: Path
    keys: Path
    state: Path

    @property
    def trust(self) -> Path:
        """The trust file for verifiers."""
        return self.keys / "trust"


@contextmanager
def sealer(folder: Path, *, token: str = "", options: tuple[str, ...] = ()) -> Generator[Sealer]:
    """Make keys, unless there are some, and run `spanseal serve` on a free port.

    Args:
        folder: holds `store/`, `keys/`, `state/` and the log; what is there is continued.
        token: the bearer token that it demands.
        options: further command line options of `spanseal serve`.
    """
    (port,) = free_ports(1)
    store, keys, state = folder / "store", folder / "keys", folder / "state"
    env = {"SPANSEAL_STATE_DIR": str(state), **({"SPANSEAL_TOKEN": token} if token else {})}
    if not (keys / "log.key").exists():
        done = subprocess.run([COMMAND, "keygen", keys], env=env, capture_output=True, text=True, check=False)
        if done.returncode:
            raise PartError(f"spanseal keygen ended with {done.returncode}: {done.stderr}")
    command = [COMMAND, "serve", f"--store={store}", f"--keys={keys}", f"--listen=127.0.0.1:{port}", *options]
    url = f"http://127.0.0.1:{port}"
    service = Service("the sealer", command, folder / "sealer.log", lambda: answers(f"{url}/healthz"), env)
    service.start()
    try:
        yield Sealer(service, url, store, keys, state)
    finally:
        service.stop()
