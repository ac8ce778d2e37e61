"""Durable export to an OTLP/HTTP URL: onto disk before the span's ``end()`` returns, sent by a thread afterwards.

Every start and every end is appended to files of this process before anything else; the sender ships whole lines in
batches bounded by bytes and removes a segment only when the server has taken all of it. If the server is down, the
process goes on and says so once; if it dies, the next process with the same URL and spool folder adopts its files and
sends what had ended, and marked open what had not. A span may arrive twice (the sealer drops doubles); none is dropped.

``spool_max_bytes`` bounds the spans in the folder (beside them, each process notes its starts in about 1 MiB). Beyond
it, or on a disk without room: *shed* and *fail* drop the newest spans, counted and told in a span ``spanseal.gap``,
*fail* also calls the export unhealthy for good; *block* lets ``end()`` wait until there is room again (not in a
finaliser, nor while the process ends). May import its siblings.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from opentelemetry.sdk.trace import ReadableSpan

from spanseal.settings import Durability, SpoolFull
from spanseal.telemetry.export.encode import LineEncoder
from spanseal.telemetry.export.intents import Key
from spanseal.telemetry.export.journal import Journal
from spanseal.telemetry.export.losses import Losses
from spanseal.telemetry.export.memory import MOST_BYTES, Memory
from spanseal.telemetry.export.otlp_http import Route, without_secrets
from spanseal.telemetry.export.room import Room
from spanseal.telemetry.export.segment import Source
from spanseal.telemetry.export.sender import Sender
from spanseal.telemetry.export.sink import Complaints, Health, Stamps
from spanseal.telemetry.export.start_line import key_of, start_line

SEGMENT_BYTES: Final = 16 * 1024 * 1024
_FULL: Final = "the spool is full"
_NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})


@dataclass(frozen=True, slots=True)
class Keeping:
    """How spans are kept until they are delivered; see the settings of these names."""

    durability: Durability = "group"
    group_ms: int = 50
    max_bytes: int = 1024 * 1024 * 1024
    when_full: SpoolFull = "shed"


class Spool:
    """A sink that delivers to ``route.url`` (the full path, ``…/v1/traces``) by way of files below ``root``."""

    def __init__(self, route: Route, root: Path, keeping: Keeping | None = None) -> None:
        self.url = route.url
        self.folder = root / hashlib.sha256(route.url.encode()).hexdigest()[:16]
        self.complaints = Complaints()
        self._route = route
        self._keeping = keeping or Keeping()
        in_memory = self._keeping.durability == "off"
        self._room = Room(min(self._keeping.max_bytes, MOST_BYTES) if in_memory else self._keeping.max_bytes)
        self._encoder = LineEncoder()
        self._losses = Losses()
        self._telling = threading.Lock()
        self._lost_since_flush = self._refusing = self._starts_refused = self._closing = False
        if not in_memory:
            self._name_folder()
        self._sender = self._new_sender()
        self._store = Memory(self._add) if in_memory else self._journal()
        self._sender.start()

    def started(self, span: ReadableSpan, stamps: Stamps) -> None:
        """Note the start; on trouble it is told once, the span itself may still find room."""
        line = start_line(self._encoder, span, stamps)
        if line is None:
            return
        try:
            self._store.start(key_of(span), line)
            self._starts_refused = False
        except OSError as error:
            self._starts_refused = True
            self._trouble(error)

    def emit(self, span: ReadableSpan, stamps: Stamps) -> None:
        """Keep the span and wake the sender; one for which there is no room waits or is lost, counted and told."""
        key = key_of(span)
        try:
            line = self._encoder.line(span, stamps)
        except Exception as error:
            self._lose(key, span, stamps, type(error).__name__)
            raise
        while reason := self._keep(key, line):
            if self._may_wait(reason):
                time.sleep(0.01)
                continue
            self._lose(key, span, stamps, reason)
            break
        self._sender.wake()

    def flush(self, timeout: float) -> bool:
        """True only if everything emitted before the call was taken by the server and nothing was lost or refused."""
        lost, self._lost_since_flush = self._lost_since_flush, False
        self._tell_losses()
        with contextlib.suppress(OSError):
            self._store.sync()
        return self._sender.settle(self._store.count, timeout) and not lost

    def health(self) -> Health:
        """Not ok while the disk refuses; with *fail*, since the first loss."""
        counts = self.complaints.counts
        failed = self._keeping.when_full == "fail" and (self._losses.total > 0 or self._room.full)
        return Health(
            not (self._refusing or self._store.failing or failed),
            self._sender.backlog,
            self._losses.total + counts.get("dropped", 0),
            counts.get("refused", 0),
            self.complaints.last,
        )

    def after_fork(self) -> None:
        """The child starts its own files and its own sender."""
        self._store.after_fork()
        parents, self._sender = self._sender, self._new_sender()
        self._lost_since_flush, self._losses = False, Losses()
        self._room.full, self._telling = False, threading.Lock()
        parents.abandon()

    def close(self, timeout: float) -> None:
        """Emit what is open, deliver what can be in ``timeout`` seconds, less if the server does not answer.

        The rest stays on disk.
        """
        self._closing = True
        self._tell_losses(anyhow=True)
        try:
            self._store.close(time.time_ns(), keep=True)
        except OSError as error:
            self._trouble(error)
        self._store.leave(delivered=self._sender.stop(self._store.count, timeout))
        if isinstance(self._store, Memory) and self._store.unsent:
            self.complaints.count("dropped", self._store.unsent)
            self.complaints.say(
                "unsent", "%d spans were not delivered to %s and are lost (durability: off)",
                self._store.unsent, without_secrets(self.url),
            )  # fmt: skip

    def _keep(self, key: Key | None, line: bytes) -> str:
        """Why the line cannot be kept now; empty if it is."""
        if not self._room.admits(self._store.size, len(line)):
            return _FULL
        try:
            self._store.end(key, line)
        except OSError as error:
            self._trouble(error)
            return (os_reason(error)) if error.errno not in _NO_ROOM else _FULL
        self._refusing = self._starts_refused
        if not self._refusing:
            self.complaints.over("spool", "spans can be kept in %s again", self.folder)
        if key is not None:
            self._tell_losses()
        return ""

    def _may_wait(self, reason: str) -> bool:
        asked = self._keeping.when_full == "block" and reason == _FULL
        return asked and not self._closing and not self._store.held and not self._sender.is_current()

    def _lose(self, key: Key, span: ReadableSpan, stamps: Stamps, reason: str) -> None:
        self.complaints.count("lost")
        self._lost_since_flush = True
        self._losses.add(span, stamps, reason)
        if reason == _FULL and not self._refusing:
            told = "the spool %s has reached its %d bytes; spans are dropped until the server takes some"
            self.complaints.say("full", told, self.folder, self._room.most)
        with contextlib.suppress(OSError):
            self._store.lose(key)

    def _tell_losses(self, *, anyhow: bool = False) -> None:
        if not self._losses.pending or not self._telling.acquire(blocking=False):
            return
        try:
            line = self._encoder.line(self._losses.gap(), {})
            fits = self._room.admits(self._store.size, len(line))
            if fits or anyhow:
                self._store.end(None, line)
                self._losses.forget()
                if fits:
                    self.complaints.over("full", "the spool %s has room again", self.folder)
                self._sender.wake()
        except OSError:
            pass  # the next span tries again
        finally:
            self._telling.release()

    def _delivered(self, segment: Source, tidy: bool) -> bool:
        """Called by the sender when a segment of ours is delivered: may it go?"""
        tidy = tidy or self._room.full
        return self._store.retire(segment, tidy=tidy)

    def _made_room(self, others: int | None) -> None:
        """Called by the sender; ``others`` is what is left in the folder beside our files, if that was counted."""
        if others is not None:
            self._room.others = others
        self._tell_losses()

    def _add(self, source: Source) -> None:
        self._sender.add(source)

    def _name_folder(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            (self.folder / "endpoint").write_text(without_secrets(self.url) + "\n", encoding="utf-8")
        except OSError as error:
            self._trouble(error)

    def _journal(self) -> Journal:
        keeping = self._keeping
        segment = min(SEGMENT_BYTES, keeping.max_bytes // 8)
        return Journal(
            self.folder, keeping.durability, keeping.group_ms / 1000,
            segment_bytes=segment, added=self._add, trouble=self._trouble,
        )  # fmt: skip

    def _new_sender(self) -> Sender:
        return Sender(
            without_secrets(self.url), self._route.connection(), self.folder, self._delivered, self._made_room,
            self.complaints, most_aside=self._keeping.max_bytes // 4,
        )  # fmt: skip

    def _trouble(self, error: OSError) -> None:
        self._refusing = True
        told = "spans cannot be kept in %s (%s); the application goes on"
        self.complaints.say("spool", told, self.folder, os_reason(error))


def os_reason(error: OSError) -> str:
    """What the system says, in words."""
    return error.strerror or str(error)
