"""All that a program can see of a call, as plain values to compare: result or exception, wire, waits, what is left."""

from __future__ import annotations

import contextlib
import gc
import re
import time
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, cast

import anyio
import httpx
import httpx2
import openai
import pytest
from pydantic import BaseModel
from tests.unit.telemetry.seams.programs import Way, run

_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_RESPONSE = (
    "status_code", "is_closed", "is_stream_consumed", "num_bytes_downloaded", "http_version", "reason_phrase",
    "encoding", "charset_encoding", "default_encoding", "is_error", "has_redirect_location", "url", "history",
)
_ANSWER = ("status_code", "is_closed", "retries_taken", "request_id", "method", "url", "http_version", "_is_sse_stream")
_ERROR = ("status_code", "request_id", "body", "code", "param", "type", "message", "error", "response", "request")


@dataclass
class Seen:
    """One run of one program."""

    outcome: Any
    log: list[Any]
    waits: list[float]
    left: Any


def observe(way: Way, client: Any, log: list[Any], *, asynchronous: bool) -> Seen:
    """Run the program once and tell everything it sees."""
    with _still() as waits, _young():
        try:
            outcome = ("returned", plain(run(way.run, client, asynchronous=asynchronous)))
        except BaseException as error:
            outcome = ("raised", plain(error))
            _drop(error.__traceback__)
    return Seen(outcome, log, waits, _left(client))


def differences(ours: Any, bare: Any, at: str = "") -> list[str]:
    """Where two seen things differ, each as one line."""
    pairs: list[tuple[Any, Any, Any]] = []
    if isinstance(ours, dict) and isinstance(bare, dict):
        one, other = cast("dict[str, Any]", ours), cast("dict[str, Any]", bare)
        pairs = [(key, one.get(key), other.get(key)) for key in sorted(one.keys() | other.keys(), key=str)]
    elif isinstance(ours, list | tuple) and isinstance(bare, list | tuple):
        first, second = list(cast("list[Any]", ours)), list(cast("list[Any]", bare))
        if len(first) == len(second):
            pairs = [(number, *pair) for number, pair in enumerate(zip(first, second, strict=True))]
    if pairs:
        return [line for key, one, other in pairs for line in differences(one, other, f"{at}.{key}")]
    return [] if ours == bare else [f"{at}: {ours!r:.200} instead of {bare!r:.200}"]


def _drop(trace: TracebackType | None) -> None:
    """Let go of what the frames of a failed program hold, so that both runs drop their bodies now."""
    while trace is not None:
        with contextlib.suppress(RuntimeError):
            trace.tb_frame.clear()
        trace = trace.tb_next


@contextlib.contextmanager
def _young() -> Generator[None]:
    """What the program dropped is collected at the end; only what it made itself is looked at, which is quick."""
    gc.disable()
    try:
        yield
        gc.collect(0)
    finally:
        gc.enable()


def _left(client: Any) -> Any:
    http: Any = client._client
    return _names(client), _names(http), http.is_closed, str(http._state), plain(dict(http.cookies))


def _names(value: Any) -> list[str]:
    held: dict[str, Any] = value.__dict__
    return sorted(held)


@contextlib.contextmanager
def _still() -> Generator[list[float]]:
    """No waiting, no chance: what the client would wait before retries is kept."""
    waits: list[float] = []

    async def asleep(seconds: float) -> None:
        waits.append(seconds)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(time, "sleep", waits.append)
        patched.setattr(anyio, "sleep", asleep)
        patched.setattr("openai._base_client.random", lambda: 0.5)
        yield waits


def plain(given: object, depth: int = 0) -> Any:
    """The value in lists, tuples, dicts and strings; addresses of objects left out."""
    value: Any = given
    if depth > 12 or value is None or isinstance(value, str | bytes | int | float | bool):
        return value
    name = f"{type(value).__module__}.{type(value).__qualname__}"
    if isinstance(value, BaseException):
        return name, _error(value, depth)
    if isinstance(value, BaseModel):
        return name, plain(value.model_dump(warnings=False), depth + 1), getattr(value, "_request_id", None)
    if isinstance(value, httpx.Response | httpx2.Response):
        return name, _response(value, depth)
    if isinstance(value, httpx.Request | httpx2.Request):
        return name, value.method, str(value.url), value.headers.raw, repr(value)
    if isinstance(value, openai.APIResponse | openai.AsyncAPIResponse) or name.endswith("LegacyAPIResponse"):
        shown = {key: plain(getattr(cast("Any", value), key, "none"), depth + 1) for key in _ANSWER}
        return name, shown, plain(value.http_response, depth + 1), type(value.elapsed).__name__ if _over(value) else ""
    if isinstance(value, Mapping):
        return name, {key: plain(each, depth + 1) for key, each in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple | set):
        return name, [plain(each, depth + 1) for each in cast("list[Any]", value)]
    return name, _ADDRESS.sub("", repr(value))


def _over(answer: Any) -> bool:
    return answer.http_response.is_closed and hasattr(answer.http_response, "_elapsed")


def _response(value: Any, depth: int) -> Any:
    shown = {key: plain(getattr(value, key), depth + 1) for key in _RESPONSE}
    shown["content"] = getattr(value, "_content", "unread")
    shown["headers"] = value.headers.raw
    shown["elapsed"] = hasattr(value, "_elapsed")
    shown["extensions"] = sorted(value.extensions)
    shown["request"] = plain(value.request, depth + 1)
    shown["attributes"] = [name for name in _names(value) if name != "_decoder"]
    shown["stream"] = type(value.stream).__name__
    shown["repr"] = repr(value)
    return shown


def _error(value: BaseException, depth: int) -> Any:
    shown = {key: plain(getattr(value, key, "none"), depth + 1) for key in _ERROR}
    chain = plain(value.__cause__, depth + 1), plain(value.__context__, depth + 1), value.__suppress_context__
    return str(value), _ADDRESS.sub("", repr(value)), plain(value.args, depth + 1), shown, chain
