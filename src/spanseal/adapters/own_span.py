"""The chat span of a model that no instrumented client calls: an adapter of the user's own, a scripted model.

The same capture as on the wire, fed with the OpenAI bodies that say the same as the request and the answer. If an
instrumented client is called inside after all, it takes the span over and this class steps back.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager, nullcontext

from spanseal.genai import openai_chat
from spanseal.genai.messages import ChatRequest, LLMResponse
from spanseal.genai.wire_json import dumps
from spanseal.telemetry.capture.call import ModelCall, Target, begin, offering, reading_with
from spanseal.telemetry.capture.streams.http_attempt import HttpAttempt
from spanseal.telemetry.capture.streams.reader import Reader
from spanseal.telemetry.content.to_json import to_json
from spanseal.telemetry.guard import guarded


class OwnSpan:
    """One call's span; without ``enabled`` it does nothing. Nothing here raises.

    ``reader`` watches what the program reads a stream with; it is told to an instrumented client inside too.
    """

    def __init__(
        self, provider: str, request: ChatRequest, *, stream: bool, enabled: bool, reader: Reader | None = None
    ) -> None:
        self._stream = stream
        self._reader = reader or Reader()
        self._call: ModelCall | None = None
        self._attempt: HttpAttempt | None = None
        self._claims = 0
        self._texts: list[str] = []
        self._model = request.model
        if enabled:
            self._begin(provider, request)

    @guarded
    def _begin(self, provider: str, request: ChatRequest) -> None:
        self._call = begin(Target(openai_chat.FORMAT, provider), request.model, reader=self._reader)
        if self._call is None:
            return
        self._claims = self._call.claims
        self._attempt = self._call.attempt(_request_bytes(request, self._stream))
        if self._stream:
            self._attempt.answered(200, {"content-type": "application/json"}, stream=True)
            self._attempt.instead = self._partial
            self._call.settle()

    @contextmanager
    def offered(self) -> Generator[None]:
        """Inside, the span is the current one, and the first instrumented client that is called takes it over."""
        offer = nullcontext() if self._call is None else offering(self._call)  # an outer adapter's offer stays
        with offer, reading_with(self._reader) if self._stream else nullcontext():
            if self._attempt is not None:
                self._attempt.reading = True
            try:
                yield
            finally:
                if self._attempt is not None:
                    self._attempt.reading = False

    def piece(self, text: str) -> None:
        """A stream gave this text."""
        self._texts.append(text)
        if self._mine is not None and self._attempt is not None:
            self._attempt.chunk(b"")

    @guarded
    def answered(self, response: LLMResponse) -> None:
        """The model answered in full."""
        call = self._mine
        if call is None:
            return
        if self._attempt is not None:
            if not self._stream:
                self._attempt.answered(200, {"content-type": "application/json"}, stream=False)
            self._attempt.whole(_response_bytes(response))
        call.settle()

    @guarded
    def failed(self, error: BaseException) -> None:
        """The model raised."""
        call = self._mine
        if call is None:
            return
        if self._stream and self._attempt is not None:
            self._attempt.broke(error)
        else:
            call.settle(error)

    @guarded
    def stopped(self) -> None:
        """Nobody reads the stream on, maybe out of garbage collection."""
        if self._mine is not None and self._attempt is not None and self._attempt.end is None:
            self._attempt.closed()

    def _partial(self) -> bytes:
        """The answer so far, as a body; none before the first text."""
        if not self._texts:
            return b""
        return _response_bytes(LLMResponse("".join(self._texts), self._model, finish_reason="error"))

    @property
    def _mine(self) -> ModelCall | None:
        call = self._call
        return call if call is not None and call.claims == self._claims else None


def _request_bytes(request: ChatRequest, stream: bool) -> bytes:
    """The body that says the same as the request; what is not JSON in it is described, for the call may well work."""
    try:
        body = openai_chat.request_body(request, stream=stream)
    except Exception:  # noqa: BLE001 - values of odd types; the span tells the rest
        return b"{}"
    return _bytes(body)


def _response_bytes(response: LLMResponse) -> bytes:
    try:
        return _bytes(openai_chat.response_body(response))
    except Exception:  # noqa: BLE001 - likewise
        return b"{}"


def _bytes(body: object) -> bytes:
    try:
        return dumps(body)
    except (TypeError, ValueError):  # not JSON, NaN, a lone surrogate
        return to_json(body).encode()
