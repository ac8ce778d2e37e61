"""Durable export to an OTLP/HTTP URL: onto disk before the span's ``end()`` returns, sent by a thread afterwards.

Every ended span is appended to a segment of this process before anything else; the sender ships whole lines in
batches bounded by bytes and removes a segment only when the server has taken all of it. If the server is down, the
process goes on and says so once; if it dies, the next process with the same URL and spool folder adopts the segment.
A span may arrive twice (the sealer drops doubles); none is dropped. May import spool_files, sender, encode and sink.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from opentelemetry.sdk.trace import ReadableSpan

from spanseal.telemetry.export import spool_files
from spanseal.telemetry.export.encode import LineEncoder
from spanseal.telemetry.export.otlp_http import OtlpHttp, without_secrets
from spanseal.telemetry.export.sender import Sender
from spanseal.telemetry.export.sink import Complaints, Stamps
from spanseal.telemetry.export.spool_files import Segment

SEGMENT_BYTES: Final = 16 * 1024 * 1024


class Spool:
    """A sink that delivers to ``url`` (the full path, ``…/v1/traces``) by way of files below ``root``."""

    def __init__(
        self,
        url: str,
        root: Path,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = 10.0,
        certificate: str | None = None,
    ) -> None:
        self.url = url
        self.folder = root / hashlib.sha256(url.encode()).hexdigest()[:16]
        self.complaints = Complaints()
        self._http = (url, headers, timeout, certificate)
        self._encoder = LineEncoder()
        self._lock = threading.RLock()
        self._current: Segment | None = None
        self._emitted = 0
        self._lost_since_flush = False
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            (self.folder / "endpoint").write_text(without_secrets(url) + "\n", encoding="utf-8")
        except OSError as error:
            self._trouble(error)
        self._sender = self._new_sender()
        self._sender.start()

    def emit(self, span: ReadableSpan, stamps: Stamps) -> None:
        """Append the span to the segment and wake the sender; a span that the disk refuses is lost and counted."""
        line = self._encoder.line(span, stamps)
        try:
            with self._lock:
                segment = self._segment()
                segment.append(line)
                self._emitted += 1
        except OSError as error:
            self.complaints.count("lost")
            self._lost_since_flush = True
            self._trouble(error)
            return
        self._sender.wake()

    def flush(self, timeout: float) -> bool:
        """True only if everything emitted before the call was taken by the server and nothing was lost or refused."""
        lost, self._lost_since_flush = self._lost_since_flush, False
        return self._sender.settle(self._emitted, timeout) and not lost

    def after_fork(self) -> None:
        """The child starts its own segment and its own sender."""
        self._lock = threading.RLock()
        self._sender.abandon()
        self._current, self._emitted, self._lost_since_flush = None, 0, False
        self._sender = self._new_sender()

    def close(self, timeout: float) -> None:
        """Try to deliver within ``timeout`` seconds, less if the server does not answer; the rest stays on disk."""
        with self._lock:
            self._current = None
        self._sender.stop(self._emitted, timeout)

    def _segment(self) -> Segment:
        current = self._current
        if current is None or current.size >= SEGMENT_BYTES:
            current = self._current = spool_files.create(self.folder)
            self._sender.add(current)
        return current

    def _retire(self, segment: Segment, tidy: bool) -> bool:
        """Called by the sender when a segment of ours is delivered: may it go? A small one is written on."""
        with self._lock:
            if segment is self._current:
                if segment.size < SEGMENT_BYTES // 16 and not tidy:
                    return False
                self._current = None
            return segment.sent >= segment.size

    def _new_sender(self) -> Sender:
        return Sender(without_secrets(self.url), OtlpHttp(*self._http), self.folder, self._retire, self.complaints)

    def _trouble(self, error: OSError) -> None:
        reason = error.strerror or str(error)
        self.complaints.say("spool", "spans cannot be kept in %s (%s); the application goes on", self.folder, reason)
