"""The thread that ships spool segments and adopts those of dead processes. May import its siblings and guard.

No piece of its work holds the interpreter for long: lines are cut and joined in batches of bounded bytes, nothing is
parsed, and reading, compressing and sending give the interpreter free.

It is woken through a ``SimpleQueue``, which may be used from a finaliser in the middle of anything: a plain lock would
deadlock when a garbage collection ends a span.
"""

from __future__ import annotations

import contextlib
import queue
import secrets
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from opentelemetry import context as otel_context
from opentelemetry.context import Context

from spanseal.telemetry.content.redaction.redact import redact
from spanseal.telemetry.export import spool_files
from spanseal.telemetry.export.encode import PREFIX, SUFFIX, batch
from spanseal.telemetry.export.otlp_http import Answer, OtlpHttp
from spanseal.telemetry.export.segment import Source
from spanseal.telemetry.export.sink import Complaints
from spanseal.telemetry.guard import guarded

BATCH_BYTES: Final = 512 * 1024
_LEAST_BATCH: Final = 4096
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
    it is small, unless (second argument) a flush asks for order. ``made_room`` is told when something was delivered,
    and after files have gone what those of others take. What the server refuses is kept in ``rejected/``, at most
    ``most_aside`` bytes.
    """

    def __init__(
        self,
        name: str,
        http: OtlpHttp,
        folder: Path,
        retire: Callable[[Source, bool], bool],
        made_room: Callable[[int | None], None],
        complaints: Complaints,
        *,
        most_aside: int,
    ) -> None:
        self._name = name
        self._http = http
        self._folder = folder
        self._retire = retire
        self._made_room = made_room
        self._most_aside = most_aside
        self._complaints = complaints
        self._queue: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._segments: list[Source] = []
        self._signalled = False
        self._in_a_row = 0  # failed attempts since the last success
        self._failures = 0  # failed attempts ever
        self._most = sys.maxsize  # bytes that the server takes at once, as far as it has told
        self._settled = 0  # lines of this process that were taken or set aside
        self._refused_since_flush = False
        self._looked_round = 0.0
        self._more = False  # orphans that were not adopted yet
        self._tidy = False
        self._left_none = False
        self.stopping = False

    @property
    def backlog(self) -> int:
        """Bytes that wait here, adopted ones included."""
        return sum(segment.size - segment.sent for segment in list(self._segments))

    def is_current(self) -> bool:
        """Whether the caller runs on this thread."""
        return threading.current_thread() is self._thread

    def start(self) -> None:
        """Start the thread, if it does not run; a process that is shutting down gets none, its spool is adopted."""
        if self._thread is None and not self.stopping:
            self._thread = threading.Thread(target=self._run, name="spanseal-spool", daemon=True)
            with contextlib.suppress(RuntimeError):
                self._thread.start()

    def add(self, segment: Source) -> None:
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

    def stop(self, target: int, timeout: float) -> bool:
        """Settle what can be settled, then end the thread; unsettled segments are left for adoption.

        True if none of this process is left.
        """
        deadline = time.monotonic() + timeout
        self.settle(target, timeout, patient=False)
        self.stopping = True
        self._queue.put("now")
        if self._thread is not None and self._alive():
            self._thread.join(max(deadline - time.monotonic(), 0.1))
        elif self._thread is None:
            self._leave()
        return self._left_none

    def abandon(self) -> None:
        """In a forked child: the parent's segments and connection are the parent's."""
        self.stopping = True
        for segment in self._segments:
            with contextlib.suppress(OSError):
                segment.release()
        self._segments = []
        self._http.forget()

    def _alive(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _run(self) -> None:
        otel_context.attach(Context())  # not a part of whatever run happened to start us
        failed = guarded(self._failed)
        rest: float | None = 0.0
        while not self.stopping:
            self._rest(_LONGEST if rest is None else rest, failed=self._in_a_row > 0)
            try:
                self._look_round()
                self._ship_all()
                self._tidy = False
                rest = 0.0 if self._more else _LOOK_ROUND
            except _Later as later:
                rest = failed(str(later), later.retry_after)
            except Exception as error:  # noqa: BLE001 - the thread must live; the spool keeps the spans
                rest = failed(f"{type(error).__name__}: {error}", None)
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
        if not self._looked_round or self._more or now - self._looked_round >= _LOOK_ROUND:
            self._looked_round = now
            found, self._more = spool_files.adopt(self._folder)
            self._segments += found
            self._tell_room()

    def _tell_room(self) -> None:
        own = sum(segment.size for segment in self._segments if segment.own)
        self._made_room(max(0, spool_files.bytes_in(self._folder) - own))

    def _ship_all(self) -> None:
        """Everything that is there now; what comes meanwhile is for the next round, so that each has its turn."""
        for segment in list(self._segments):
            left = segment.size - segment.sent
            while left > 0 and (lines := segment.lines(min(BATCH_BYTES, self._most))):
                if self.stopping:
                    return
                self._deliver(lines)
                count = sum(map(len, lines))
                segment.advance(count)
                left -= count
                self._settled += len(lines) if segment.own else 0
                self._made_room(None)
            self._finish(segment)

    def _finish(self, segment: Source) -> None:
        """Remove a segment that is delivered to its end; a torn last line of a dead process is kept aside."""
        if segment.own and not self._retire(segment, self._tidy):
            return
        tail = segment.tail()
        if tail:
            self._set_aside([tail + b"\n"], "a line was cut off when its process died")
        self._segments.remove(segment)
        segment.remove()
        self._tell_room()

    def _deliver(self, lines: list[bytes]) -> None:
        good = [line for line in lines if line.startswith(PREFIX) and line.endswith(SUFFIX)]
        if len(good) < len(lines):
            bad = [line for line in lines if not (line.startswith(PREFIX) and line.endswith(SUFFIX))]
            self._set_aside(bad, "the spool holds what is no span")
        if good:
            self._post(good)

    def _post(self, lines: list[bytes]) -> None:
        answer = self._http.post(batch(lines))
        if answer.verdict in ("later", "refused"):  # a wrong token or path may be mended, and the spans are safe here
            raise _Later(answer)
        self._in_a_row = 0
        self._complaints.over("down", "%s takes spans again", self._name)
        if answer.verdict == "smaller" and len(lines) > 1:
            self._most = max(min(self._most, sum(map(len, lines)) // 2), _LEAST_BATCH)
        if answer.verdict in ("split", "smaller") and len(lines) > 1:
            self._post(lines[: len(lines) // 2])
            self._post(lines[len(lines) // 2 :])
        elif answer.verdict == "partly":  # nobody says which, and asking again is against the specification
            told = f"{self._name} took a batch in part ({redact(answer.reason)})"
            self._set_aside(lines, told, min(answer.rejected, len(lines)))
        elif answer.verdict != "taken":
            self._set_aside(lines, f"{self._name} refuses spans: {redact(answer.reason)}")

    def _set_aside(self, lines: list[bytes], reason: str, refused: int | None = None) -> None:
        """Keep lines of which some (None: all) are ``refused``; where nothing more can be kept, they are lost."""
        count = len(lines) if refused is None else refused
        self._refused_since_flush = True
        try:
            path = spool_files.set_aside(self._folder, lines, self._most_aside)
        except OSError as error:
            self._complaints.count("dropped", count)
            told = "%s; they are lost, rejected/ in %s takes no more (%s)"
            self._complaints.say("aside", told, reason, self._folder, error.strerror or error)
            return
        self._complaints.count("refused", count)
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
        left = 0
        for segment in list(self._segments):
            with contextlib.suppress(OSError):
                if segment.own and segment.sent >= segment.size and self._retire(segment, True):
                    segment.remove()
                else:
                    left += segment.own
                    segment.release()
        self._segments = []
        self._left_none = left == 0
        self._http.close()
