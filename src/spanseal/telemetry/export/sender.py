"""The thread that ships spool segments and adopts those of dead processes. May import otlp_http, spool_files, encode.

It is woken through a ``SimpleQueue``, which may be used from a finaliser in the middle of anything: a plain lock would
deadlock when a garbage collection ends a span.
"""

from __future__ import annotations

import contextlib
import queue
import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from opentelemetry import context as otel_context
from opentelemetry.context import Context

from spanseal.telemetry.content.redact import redact
from spanseal.telemetry.export import spool_files
from spanseal.telemetry.export.encode import PREFIX, SUFFIX, batch
from spanseal.telemetry.export.otlp_http import Answer, OtlpHttp
from spanseal.telemetry.export.sink import Complaints
from spanseal.telemetry.export.spool_files import Segment

BATCH_BYTES: Final = 2 * 1024 * 1024
_GATHER: Final = 0.2  # seconds that a wake-up waits for company
_LOOK_ROUND: Final = 30.0  # seconds between searches for orphans
_LONGEST: Final = 30.0  # seconds between attempts, at most


class _Later(Exception):  # noqa: N818 - no error: the server asks for patience
    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.reason)
        self.retry_after = answer.retry_after


class Sender:
    """Ships whole lines, oldest first, until the server at ``name`` has taken them.

    ``retire`` says whether a delivered segment of this process may be removed: the current one is written on while
    it is small, unless (second argument) a flush asks for order.
    """

    def __init__(
        self, name: str, http: OtlpHttp, folder: Path, retire: Callable[[Segment, bool], bool], complaints: Complaints
    ) -> None:
        self._name = name
        self._http = http
        self._folder = folder
        self._retire = retire
        self._complaints = complaints
        self._queue: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._segments: list[Segment] = []
        self._signalled = False
        self._in_a_row = 0  # failed attempts since the last success
        self._failures = 0  # failed attempts ever
        self._settled = 0  # lines of this process that were taken or set aside
        self._refused_since_flush = False
        self._looked_round = 0.0
        self._tidy = False
        self.stopping = False

    def start(self) -> None:
        """Start the thread, if it does not run; a process that is shutting down gets none, its spool is adopted."""
        if self._thread is None and not self.stopping:
            self._thread = threading.Thread(target=self._run, name="spanseal-spool", daemon=True)
            with contextlib.suppress(RuntimeError):
                self._thread.start()

    def add(self, segment: Segment) -> None:
        """A new segment of this process."""
        self._segments.append(segment)

    def wake(self) -> None:
        """There is something to send."""
        if not self._signalled:
            self._signalled = True
            self._queue.put("more")
        if self._thread is None:
            self.start()

    def settle(self, target: int, timeout: float, *, patient: bool = True) -> bool:
        """Wait until ``target`` lines of this process are settled; True if they are and none was refused.

        Not ``patient``: give up at the first attempt that fails from now on.
        """
        deadline = time.monotonic() + timeout
        failures = self._failures
        self._queue.put("now")
        while self._settled < target:
            given_up = not patient and self._failures > failures
            if given_up or time.monotonic() >= deadline or not self._alive():
                return False
            time.sleep(0.005)
        refused, self._refused_since_flush = self._refused_since_flush, False
        return not refused

    def stop(self, target: int, timeout: float) -> None:
        """Settle what can be settled, then end the thread; unsettled segments are left for adoption."""
        deadline = time.monotonic() + timeout
        self.settle(target, timeout, patient=False)
        self.stopping = True
        self._queue.put("now")
        if self._thread is not None and self._alive():
            self._thread.join(max(deadline - time.monotonic(), 0.1))
        elif self._thread is None:
            self._leave()

    def abandon(self) -> None:
        """In a forked child: the parent's segments and connection are the parent's."""
        self.stopping = True
        for segment in self._segments:
            with contextlib.suppress(OSError):
                segment.release()
        self._segments = []

    def _alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _run(self) -> None:
        otel_context.attach(Context())  # not a part of whatever run happened to start us
        rest = 0.0
        while not self.stopping:
            self._rest(rest, failed=self._in_a_row > 0)
            try:
                self._look_round()
                self._ship_all()
                self._tidy = False
                rest = _LOOK_ROUND
            except _Later as later:
                rest = self._failed(str(later), later.retry_after)
            except Exception as error:  # noqa: BLE001 - the thread must live; the spool keeps the spans
                rest = self._failed(f"{type(error).__name__}: {error}", None)
        self._leave()

    def _rest(self, seconds: float, *, failed: bool) -> None:
        """Wait for work; after a failure only a flush or stop ends the wait early."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            try:
                signal = self._queue.get(timeout=left)
            except queue.Empty:
                break
            if signal == "now":
                self._tidy = True
                break
            if not failed:
                deadline, failed = min(deadline, time.monotonic() + _GATHER), True
        self._signalled = False

    def _look_round(self) -> None:
        now = time.monotonic()
        if not self._looked_round or now - self._looked_round >= _LOOK_ROUND:
            self._looked_round = now
            self._segments += spool_files.adopt(self._folder)

    def _ship_all(self) -> None:
        for segment in list(self._segments):
            while lines := segment.lines(BATCH_BYTES):
                if self.stopping:
                    return
                self._deliver(lines)
                segment.advance(sum(map(len, lines)))
                self._settled += len(lines) if segment.own else 0
            self._finish(segment)

    def _finish(self, segment: Segment) -> None:
        """Remove a segment that is delivered to its end; a torn last line of a dead process is kept aside."""
        if segment.own and not self._retire(segment, self._tidy):
            return
        tail = segment.tail()
        if tail:
            self._set_aside([tail + b"\n"], "a line was cut off when its process died")
        self._segments.remove(segment)
        segment.remove()

    def _deliver(self, lines: list[bytes]) -> None:
        good = [line for line in lines if line.startswith(PREFIX) and line.endswith(SUFFIX)]
        if len(good) < len(lines):
            bad = [line for line in lines if not (line.startswith(PREFIX) and line.endswith(SUFFIX))]
            self._set_aside(bad, "the spool holds what is no span")
        if good:
            self._post(good)

    def _post(self, lines: list[bytes]) -> None:
        answer = self._http.post(batch(lines))
        if answer.verdict == "later":
            raise _Later(answer)
        self._in_a_row = 0
        self._complaints.over("down", "%s takes spans again", self._name)
        if answer.verdict == "split" and len(lines) > 1:
            self._post(lines[: len(lines) // 2])
            self._post(lines[len(lines) // 2 :])
        elif answer.verdict != "taken":
            self._set_aside(lines, f"{self._name} refuses spans: {redact(answer.reason)}")

    def _set_aside(self, lines: list[bytes], reason: str) -> None:
        path = spool_files.set_aside(self._folder, lines)
        self._refused_since_flush = True
        self._complaints.count("refused", len(lines))
        self._complaints.say("aside", "%s; they are kept in %s", reason, path)

    def _failed(self, reason: str, retry_after: float | None) -> float:
        """Say it once; returns the seconds to wait."""
        self._failures += 1
        self._in_a_row += 1
        told = "no export to %s (%s); spans are kept in %s until it takes them"
        self._complaints.say("down", told, self._name, redact(reason), self._folder)
        if retry_after is not None:
            return retry_after
        jitter = 0.5 + secrets.randbelow(1000) / 1000
        return min(_LONGEST, 0.5 * 2 ** min(self._in_a_row - 1, 10)) * jitter

    def _leave(self) -> None:
        """Remove what is delivered, leave the rest for adoption."""
        for segment in list(self._segments):
            with contextlib.suppress(OSError):
                if segment.own and segment.sent >= segment.size:
                    segment.remove()
                else:
                    segment.release()
        self._segments = []
        self._http.close()
