"""The sealer as one process: one writer on one store, fed by the endpoint and by export files.

Ends on SIGTERM and SIGINT after everything that was taken is durable and answered. A store that may not be written
any more answers 503 to all who wait, then ends the service with the StoreStoppedError. May import all of sealer,
audit, settings' values handed in, and uvicorn.
"""

from __future__ import annotations

import logging
import signal
import socket
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final

import uvicorn

from spanseal.audit.store import StoreWriter
from spanseal.sealer.counters import Counters
from spanseal.sealer.group_commit import GroupCommit
from spanseal.sealer.receive import Receiver
from spanseal.sealer.seal import Sealer
from spanseal.sealer.service_tail import Totals, seal_on
from spanseal.sealer.source_names import naming_key
from spanseal.sealer.tail import Tail

DRAIN: Final = 30
"""Seconds that bodies on their way may take after SIGTERM."""

log = logging.getLogger("spanseal.sealer")


class Service:
    """Serves one opened store. ``tails``: export files and folders to follow beside the endpoint."""

    def __init__(self, writer: StoreWriter, *, token: str | None = None, tails: Sequence[Path] = ()) -> None:
        self.counters = Counters()
        self.counters.put("size", writer.size)
        self._commit = GroupCommit(Sealer(writer), writer.position, self.counters)
        self._receiver = Receiver(self._commit, token=token)
        self._tail = Tail(tails, writer.position, naming_key(writer.content_keys)) if tails else None
        self._stop = threading.Event()
        self._failure: Exception | None = None

    def run(self, listener: socket.socket, ready: Callable[[], None] = lambda: None) -> None:
        """Serve until a signal, or :meth:`stop`. Raises the StoreStoppedError that ended the service, if one did."""
        server = _Server(self._config(), self._receiver, self._stop)
        follower = threading.Thread(target=self._follow, name="spanseal-tail", daemon=True)
        if self._tail is not None:
            follower.start()
        ready()
        try:
            server.run(sockets=[listener])
        finally:
            self._stop.set()
            if self._tail is not None:
                follower.join()
                self._tail.close()
            self._commit.close()
        if self._commit.stopped is not None:
            raise self._commit.stopped
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """End as on SIGTERM; from any thread."""
        self._stop.set()

    def _config(self) -> uvicorn.Config:
        return uvicorn.Config(
            self._receiver.app(),
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=DRAIN,
        )

    def _follow(self) -> None:
        assert self._tail is not None
        tail = self._tail

        def publish() -> None:
            self.counters.put("unread_files", len(tail.unread))
            self.counters.put("torn_lines", len(tail.torn))
            self.counters.put("gaps", len(tail.gaps))

        try:
            seal_on(tail, self._commit, Totals(), self._stop, after=publish)
        except Exception as error:  # noqa: BLE001 - it ends the service and is raised by run()
            self._failure = error
            self._stop.set()


class _Server(uvicorn.Server):
    """uvicorn, ended by our signals without being killed by them, by the stop event, or by a stopped store."""

    def __init__(self, config: uvicorn.Config, receiver: Receiver, stop: threading.Event) -> None:
        super().__init__(config)
        self._receiver = receiver
        self._stop = stop

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._receiver.stopping = True
        super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        if self._stop.is_set() or self._receiver.broken:
            self._receiver.stopping = True
            self.should_exit = True
        return await super().on_tick(counter)
