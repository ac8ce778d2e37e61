"""One HTTP attempt of a model call: collects the bytes as they come and knows how their reading ended.

The tee (``response_tee``) reports to it; the call (``call``, or ``rest`` where the call's span has ended before) reads
it. What a chunk costs does not depend on how many came before. May import guard and the siblings.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, Protocol, TypeAlias

from spanseal.effects import Clock
from spanseal.genai import semconv as sc
from spanseal.telemetry.capture.streams.once import Once
from spanseal.telemetry.capture.streams.pace import Pace
from spanseal.telemetry.capture.streams.reader import Reader
from spanseal.telemetry.guard import guarded

End: TypeAlias = Literal["complete", "partial", "failed", "abandoned", "held"]
"""complete: the whole answer was read. partial: closed early by the program, or cancelled. failed: the provider or the
wire broke it. abandoned: dropped without being closed, or its event loop ended first. held: neither read nor closed nor
dropped until the process ended or the watchdog came."""

_READERS: Final = frozenset({"openai._streaming", "ollama._client"})
"""The modules that read a body for the program: an exception that passed through them is not the program's own."""
_ENDS: Final = (KeyboardInterrupt, SystemExit)


class AttemptedCall(Protocol):
    """The call that an attempt belongs to (``call.ModelCall``, ``rest.Rest``)."""

    ambient: BaseException | None
    """What the program was handling already when the call returned."""
    reader: Reader
    """What the program reads the answer with."""

    def note(self, attempt: HttpAttempt, error: BaseException | None = None) -> object:
        """The attempt was answered, or failed without an answer."""
        ...

    def settle(self, error: BaseException | None = None) -> object:
        """The client's call returned or raised."""
        ...

    def body_over(self, attempt: HttpAttempt) -> object:
        """The reading has ended, for whatever reason; maybe in garbage collection."""
        ...

    def read_on(self, attempt: HttpAttempt) -> AttemptedCall:
        """Bytes come after the watchdog has ended the span: what takes them from here."""
        ...


class StreamAssembly(Protocol):
    """What puts a stream together (``assembly.Assembly``)."""

    def add(self, data: bytes) -> None:
        """The next bytes."""
        ...

    def over(self) -> Any:
        """No more bytes come."""
        ...


class HttpAttempt:
    """The bytes of one attempt. ``end`` is None while it is under way; ``error`` what broke it.

    ``reads`` counts the chunks, ``reading`` says that the program waits for one now. ``instead`` gives a body where no
    bytes pass (an adapter of the user's own). ``told`` is how many texts of the stream a span has told already.
    ``pace`` hears when chunks come. ``refused`` says that the client could not read what came.
    ``assembly`` puts the stream together while it is read.
    """

    def __init__(self, call: AttemptedCall, number: int, clock: Clock) -> None:
        self.call = call
        self.number = number
        self.status: int | None = None
        self.stream = False
        self.first: float | None = None
        self.last_ns = 0
        self.end: End | None = None
        self.error: BaseException | None = None
        self.reads = 0
        self.reading = False
        self.refused = False
        self.instead: Callable[[], bytes] | None = None
        self.told = 0
        self.encoding = ""
        self.content_type = ""
        self.pace: Pace | None = None
        self.assembly: StreamAssembly | None = None
        self._body = bytearray()
        self._undecided = Once()
        self._clock = clock

    def answered(self, status: int, headers: Mapping[str, str], *, stream: bool) -> None:
        """The head of an answer is there; ``stream`` says that the caller reads the body itself."""
        self.status = status
        self.stream = stream
        self.encoding = headers.get("content-encoding", "")
        self.content_type = headers.get("content-type", "")

    @guarded
    def whole(self, data: bytes) -> None:
        """The body was there before anyone read it (a transport in process)."""
        if self.end is None:
            self._body = bytearray(data)
            self.assembly = None
            self.encoding = ""  # such a body is decoded already
            self._over(sc.STREAM_COMPLETE)

    @guarded
    def chunk(self, data: bytes) -> None:
        """The next bytes of the body."""
        if self.end == sc.STREAM_HELD:
            self.read_on()
        now = self._clock.monotonic()
        if self.first is None and not _only_comments(data):
            self.first = now
        if self.first is not None and self.pace is not None:
            self.pace.chunk(now)
        self.last_ns = self._clock.time_ns()
        self.reads += 1
        self._body += data
        if self.assembly is not None:
            self._assemble(self.assembly, data)

    @guarded
    def _assemble(self, assembly: StreamAssembly, data: bytes) -> None:
        self.assembly = None  # and again when this went well
        assembly.add(data)
        self.assembly = assembly

    @guarded
    def eof(self) -> None:
        """The body was read to its end."""
        self._over(sc.STREAM_COMPLETE)

    @guarded
    def broke(self, error: BaseException) -> None:
        """Reading the body raised ``error``. (After the end mark that is no fault: the record looks for the mark.)"""
        if isinstance(error, GeneratorExit):
            self._over(self._stopped())
            return
        self._over(sc.STREAM_PARTIAL if _is_stop(error) else sc.STREAM_FAILED, error)

    @guarded
    def closed(self) -> None:
        """The body was closed before its end; whoever closed it may be handling an exception."""
        error = sys.exc_info()[1]
        if error is None or error is self.call.ambient:
            self._over(sc.STREAM_PARTIAL)
        elif isinstance(error, GeneratorExit):
            self._over(self._stopped())
        elif _is_stop(error):
            self._over(sc.STREAM_PARTIAL, None if isinstance(error, _ENDS) else error)
        elif _raised_by_client(error):
            self.refused = self.end is None
            self._over(sc.STREAM_FAILED, error)
        else:
            self._over(sc.STREAM_PARTIAL)

    @guarded
    def dropped(self) -> None:
        """Nobody will read the rest: called from garbage collection."""
        self._over(sc.STREAM_ABANDONED)

    def hold(self) -> None:
        """Nobody has read for long, or the process ends. Tells the call nothing: it is the caller."""
        if self._undecided.first():
            self.end = sc.STREAM_HELD

    @guarded
    def read_on(self) -> None:
        """The program goes on with a body whose span has ended as held."""
        self.call = self.call.read_on(self)
        self.end = None
        self._undecided = Once()

    @property
    def plain_stream(self) -> bool:
        """Whether the head of the answer promises a stream that needs no decoding."""
        kind = self.content_type
        streams = self.stream and (self.status or 0) < 400 and self.encoding in ("", "identity")
        return streams and ("event-stream" in kind or "ndjson" in kind)

    @property
    def raw(self) -> bytes:
        """The bytes so far, as they came."""
        if not self._body and self.instead is not None:
            return self.instead()
        return bytes(self._body)

    def _stopped(self) -> End:
        closed = self.call.reader.held and not _loop_is_ending()
        return sc.STREAM_PARTIAL if closed else sc.STREAM_ABANDONED

    def _over(self, end: End, error: BaseException | None = None) -> None:
        if self._undecided.first():
            self.end, self.error = end, error
            self.call.body_over(self)


def _only_comments(data: bytes) -> bool:
    """Blank lines and comments of an event stream, by which servers keep a connection alive: nothing was told yet."""
    return bool(data) and all(not line or line.startswith(b":") for line in data.splitlines())


def _loop_is_ending() -> bool:
    """Whether the running loop closes all its generators now: those that the program still holds, too."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return False
    return getattr(loop, "_asyncgens_shutdown_called", False)


def _is_stop(error: BaseException) -> bool:
    """Whether somebody wants an end, which is no fault: asyncio, trio, gevent and signals stop code by what is no
    ``Exception``, ``concurrent.futures`` by one of the same name as asyncio's."""
    return not isinstance(error, Exception) or type(error).__name__ == "CancelledError"


def _raised_by_client(error: BaseException) -> bool:
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__") in _READERS:
            return True
        trace = trace.tb_next
    return False
