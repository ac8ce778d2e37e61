"""One HTTP attempt of a model call: collects the bytes as they come and knows how they ended.

The tee (``response_tee``) reports to it; the call (``call``) reads it. May import guard, decode_body, the wire's JSON.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Final, Literal, Protocol, TypeAlias

from spanseal.effects import Clock
from spanseal.genai.wire_json import loads_fast
from spanseal.telemetry.capture.decode_body import decoded
from spanseal.telemetry.guard import guarded

End: TypeAlias = Literal["complete", "partial", "failed", "abandoned"]
"""complete: read to the end. partial: closed early, or cancelled. failed: the provider or the wire broke it.
abandoned: dropped without being closed, or the process ended."""

_READERS: Final = frozenset({"openai._streaming", "ollama._client"})
"""The modules that read a body for the program: an exception that passed through them is not the program's own."""
_STOPS: Final = (KeyboardInterrupt, SystemExit)


class AttemptedCall(Protocol):
    """The call that an attempt belongs to (``call.ModelCall``)."""

    ambient: BaseException | None
    """What the program was handling already when the call returned."""

    def note(self, attempt: HttpAttempt, error: BaseException | None = None) -> object:
        """The attempt was answered, or failed without an answer."""
        ...

    def settle(self, error: BaseException | None = None) -> object:
        """The client's call returned or raised."""
        ...

    def body_over(self, attempt: HttpAttempt) -> object:
        """The body was read or closed."""
        ...

    def body_dropped(self, attempt: HttpAttempt) -> object:
        """The body was dropped, maybe by garbage collection: only queue."""
        ...


class HttpAttempt:
    """The bytes of one attempt. ``end`` is None while it is under way; ``error`` what broke it."""

    def __init__(self, call: AttemptedCall, number: int, clock: Clock) -> None:
        self.call = call
        self.number = number
        self.status: int | None = None
        self.stream = False
        self.chunks: list[bytes] = []
        self.first: float | None = None
        self.last_ns = 0
        self.end: End | None = None
        self.error: BaseException | None = None
        self._encoding = ""
        self._type = ""
        self._clock = clock

    def answered(self, status: int, headers: Mapping[str, str], *, stream: bool) -> None:
        """The head of an answer is there; ``stream`` says that the caller reads the body itself."""
        self.status = status
        self.stream = stream
        self._encoding = headers.get("content-encoding", "")
        self._type = headers.get("content-type", "")

    @guarded
    def whole(self, data: bytes) -> None:
        """The body was there before anyone read it (a transport in process)."""
        if self.end is None:
            self.chunks = [data]
            self._encoding = ""  # such a body is decoded already
            self._over("complete", None, self.call.body_over)

    @guarded
    def chunk(self, data: bytes) -> None:
        """The next bytes of the body."""
        if self.first is None:
            self.first = self._clock.monotonic()
        self.last_ns = self._clock.time_ns()
        self.chunks.append(data)

    @guarded
    def eof(self) -> None:
        """The body was read to its end."""
        self._over("complete", None, self.call.body_over)

    @guarded
    def broke(self, error: BaseException) -> None:
        """Reading the body raised ``error``."""
        if self._saw_done():  # the client drains what follows the answer, and gives up on it when it likes
            self._over("complete", None, self.call.body_over)
            return
        stopped = isinstance(error, _STOPS) or type(error).__name__ == "CancelledError"
        self._over("partial" if stopped else "failed", error, self.call.body_over)

    @guarded
    def closed(self) -> None:
        """The body was closed before its end; whoever closed it may be handling an exception.

        A ``GeneratorExit`` may come out of garbage collection, in the middle of anything: then only queue.
        """
        error = sys.exc_info()[1]
        if error is None or error is self.call.ambient:
            self._over("complete" if self._saw_done() else "partial", None, self.call.body_over)
        elif isinstance(error, GeneratorExit):
            self._over("abandoned", None, self.call.body_dropped)
        elif _raised_by_client(error):
            self._over("failed", error, self.call.body_over)
        else:
            cancelled = type(error).__name__ == "CancelledError"
            self._over("partial", error if cancelled else None, self.call.body_over)

    @guarded
    def dropped(self) -> None:
        """Nobody will read the rest: called from garbage collection, so only queue."""
        self._over("abandoned", None, self.call.body_dropped)

    def settled_end(self) -> End:
        """How it ended, with the end mark of an event stream taken into account."""
        if self.end == "abandoned" and self._saw_done():
            return "complete"
        return self.end or "abandoned"

    def body(self) -> bytes | None:
        """The body so far, decoded; None where its encoding is not known."""
        return decoded(b"".join(self.chunks), self._encoding)

    @property
    def is_event_stream(self) -> bool:
        """Whether the answer really is a stream; an error page or plain JSON is not, though a stream was asked for.

        Some servers call a stream ``application/json``: then it is one unless the body is one JSON document.
        """
        if not self.stream or "text/html" in self._type or (self.status or 0) >= 400:
            return False
        if "application/json" not in self._type:
            return True
        body = self.body()
        return bool(body) and not _is_json(body)

    def _saw_done(self) -> bool:
        body = self.body() if self.stream else None
        return body is not None and b"[DONE]" in body[-64:]

    def _over(self, end: End, error: BaseException | None, tell: Callable[[HttpAttempt], object]) -> None:
        if self.end is None:
            self.end, self.error = end, error
            tell(self)


def _is_json(body: bytes | None) -> bool:
    try:
        loads_fast(body or b"")
    except ValueError:
        return False
    return True


def _raised_by_client(error: BaseException) -> bool:
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_globals.get("__name__") in _READERS:
            return True
        trace = trace.tb_next
    return False
