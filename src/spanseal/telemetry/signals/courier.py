"""The thread that takes numbers and events out of the process, so that no call waits for it.

May import active, outlets and guard.

Events wait in a ``deque`` and ring a ``SimpleQueue``: both may be used from a finaliser in the middle of anything. A
server that is away costs events beyond the newest 2,048 (counted and said; the spans hold the same), and no numbers:
they are totals.
"""

from __future__ import annotations

import contextlib
import multiprocessing.util
import queue
import threading
import time
import weakref
from collections import deque
from typing import Any, Final, TypeAlias, cast

import orjson
from opentelemetry import context as otel_context
from opentelemetry.exporter.otlp.json.common._log_encoder import encode_logs
from opentelemetry.exporter.otlp.json.common.metrics_encoder import encode_metrics
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk.metrics.export import MetricsData, ResourceMetrics, ScopeMetrics
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from spanseal import __version__
from spanseal.genai import semconv
from spanseal.genai.wire_json import mend_text
from spanseal.telemetry.active import active
from spanseal.telemetry.at_fork import call_in_child
from spanseal.telemetry.content.redaction.redactor import Redactor
from spanseal.telemetry.export.sink import Complaints
from spanseal.telemetry.guard import guarded
from spanseal.telemetry.signals.numbers import Numbers
from spanseal.telemetry.signals.outlets import Outlet

MOST_WAITING: Final = 2048
_GATHER: Final = 0.5  # seconds that an event waits for company
_BATCH_BYTES: Final = 2 * 1024 * 1024
_PATIENCE: Final = 30.0  # seconds between attempts while a server is away
_EVENTS_BEFORE: Final = b'{"resourceLogs":['
Record: TypeAlias = ReadableLogRecord
_NOBODY: Final = Resource({})
SCOPE: Final = InstrumentationScope(semconv.SCOPE_NAME, __version__, semconv.SCHEMA_URL)


class Courier:
    """Delivers ``numbers`` every ``interval`` seconds and events soon; either outlet may be None: that one is off."""

    def __init__(
        self,
        provider: TracerProvider,
        numbers: Numbers,
        metrics: Outlet | None,
        events: Outlet | None,
        interval: float = 60.0,
    ) -> None:
        self._provider = provider
        self.numbers = numbers
        self.metrics = metrics
        self.events = events
        self._interval = interval
        self._masked: tuple[Resource, Redactor | None, Resource] = (_NOBODY, None, _NOBODY)
        self.complaints = Complaints()
        self._begin()
        _look_after(self)

    def _begin(self) -> None:
        self._arrived: deque[Record] = deque()
        self._bell: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._waiting: deque[bytes] = deque()
        self._lock = threading.RLock()
        self._starting = threading.RLock()
        self._thread: threading.Thread | None = None
        self._closed = False

    @property
    def resource(self) -> Resource:
        """What the spans of this process say of it, masked; a forked child is an instance of its own."""
        found, redactor = self._provider.resource, active().redactor
        if self._masked[:2] != (found, redactor):
            self._masked = found, redactor, Resource(redactor.attributes(found.attributes), found.schema_url)
        return self._masked[2]

    def wake(self) -> None:
        """There is something: see to it that the thread runs."""
        if self._thread is None and not self._closed:
            with self._starting:
                if self._thread is None:
                    self._thread = threading.Thread(target=guarded(self._run), name="spanseal-signals", daemon=True)
                    self._thread.start()

    def emit(self, record: Record) -> None:
        """Take an event; beyond MOST_WAITING it is lost, counted and said once."""
        if self.events is None or self._closed:
            return
        if len(self._arrived) >= MOST_WAITING:
            self._lost(1)
            return
        self._arrived.append(record)
        self._bell.put(None)
        self.wake()

    def flush(self, timeout: float) -> bool:
        """Deliver what there is now; True if nothing is left waiting."""
        if not self._lock.acquire(timeout=max(0.0, timeout)):
            return False
        try:
            return self._guarded(numbers=True)
        finally:
            self._lock.release()

    def close(self, timeout: float) -> None:
        """Deliver a last time, as far as that goes in ``timeout`` seconds, and stop."""
        if self._closed:
            return
        self._closed = True
        last = threading.Thread(target=self.flush, args=(timeout,), daemon=True)  # a slow server holds up no exit
        last.start()
        last.join(timeout)
        self._bell.put(None)
        if not last.is_alive():
            for outlet in (self.metrics, self.events):
                if outlet is not None:
                    outlet.close()

    def after_fork(self) -> None:
        """The child tells of itself only, through connections and files of its own."""
        closed = self._closed
        self._begin()  # first of all: a thread that is not here may have had the locks
        self._closed = closed
        self.numbers.after_fork()
        for outlet in (self.metrics, self.events):
            with contextlib.suppress(OSError):  # a file that such a thread was closing
                if outlet is not None:
                    outlet.after_fork()

    def _run(self) -> None:
        otel_context.attach(otel_context.Context())
        due = time.monotonic() + self._interval
        while not self._closed:
            self._wait(due)
            if self._closed:
                return
            numbers = time.monotonic() >= due
            with self._lock:
                delivered = self._guarded(numbers=numbers)
            if numbers:
                due = time.monotonic() + self._interval
            if not delivered and not numbers:
                time.sleep(min(_PATIENCE, max(1.0, self._interval)))

    def _wait(self, due: float) -> None:
        """Until a moment after an event has come, or it is time for the numbers."""
        with contextlib.suppress(queue.Empty):
            self._bell.get(timeout=max(0.01, due - time.monotonic()))
            time.sleep(min(_GATHER, max(0.0, due - time.monotonic())))
            while not self._bell.empty():
                self._bell.get()

    def _guarded(self, *, numbers: bool) -> bool:
        try:
            return self._deliver(numbers=numbers)
        except Exception as error:  # noqa: BLE001 - whatever it was, the thread lives on
            self.complaints.say("fault", "telling metrics failed (%s: %s)", type(error).__name__, error)
            return False

    def _deliver(self, *, numbers: bool) -> bool:
        self._take()
        told = True
        if self.events is not None:
            told = self._send_waiting(self.events)
        if numbers and self.metrics is not None:
            found = self.numbers.collect()
            if found:
                scopes = [ScopeMetrics(SCOPE, found, semconv.SCHEMA_URL)]
                data = MetricsData([ResourceMetrics(self.resource, scopes, "")])
                delivered = self.metrics.deliver(_json(encode_metrics(data).to_dict())) != "later"
                if not delivered:
                    self.numbers.take_back()
                told = delivered and told
        return told

    def _take(self) -> None:
        """Encode what has come since."""
        while self._arrived:
            try:
                document = _json(encode_logs([self._arrived.popleft()]).to_dict())
            except Exception as error:  # noqa: BLE001 - one odd record must not end the thread
                self.complaints.say("encoding", "an event could not be encoded (%s)", type(error).__name__)
                continue
            self._waiting.append(document[len(_EVENTS_BEFORE) : -2])
        surplus = len(self._waiting) - MOST_WAITING
        for _ in range(surplus):
            self._waiting.popleft()
        if surplus > 0:
            self._lost(surplus)

    def _send_waiting(self, outlet: Outlet) -> bool:
        while self._waiting:
            batch, size = 0, 0
            for piece in self._waiting:
                size += len(piece)
                if batch and size > _BATCH_BYTES:
                    break
                batch += 1
            body = _EVENTS_BEFORE + b",".join(self._waiting[place] for place in range(batch)) + b"]}"
            if outlet.deliver(body) == "later":
                return False
            for _ in range(batch):
                self._waiting.popleft()
        return True

    def _lost(self, number: int) -> None:
        self.complaints.count("lost", number)
        self.complaints.say("lost events", "events are lost: more than %d wait for a server", MOST_WAITING)


def _json(document: Any) -> bytes:
    try:
        return orjson.dumps(document)
    except (TypeError, ValueError):  # a lone surrogate, or an integer beyond 64 bits
        return orjson.dumps(_mended(document))


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return mend_text(value)
    if isinstance(value, dict):
        return {mend_text(str(key)): _mended(item) for key, item in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list):
        return [_mended(item) for item in cast("list[Any]", value)]
    return str(value) if isinstance(value, int) and abs(value) >= 2**63 else value


def _look_after(courier: Courier) -> None:
    """Fresh after a fork; and delivered at the end of a worker of a process pool, which runs no ``atexit``."""
    call_in_child(courier.after_fork)
    multiprocessing.util.register_after_fork(courier, _deliver_at_end)
    _deliver_at_end(courier)


def _deliver_at_end(courier: Courier) -> None:
    """``multiprocessing`` forgets its finalisers in a child it has forked, so it is told again there."""
    multiprocessing.util.Finalize(None, _close, (weakref.ref(courier),), exitpriority=10)


def _close(weak: weakref.ref[Courier]) -> None:
    courier = weak()
    if courier is not None:
        courier.close(2.0)
