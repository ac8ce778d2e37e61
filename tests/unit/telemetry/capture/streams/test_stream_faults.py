"""Every way a server or the wire can break a stream × client × blocking or not × adapter: one span, all its facts."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast

import httpx
import httpx2
import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode
from tests.unit.telemetry.stream_ways import CHAT, Flow, Way, flowing
from tests.unit.telemetry.wire_world import Answer, attributes_of, event, line, piece, stream

from spanseal.genai import semconv as sc

GREETING: Final = "grüß"


@dataclass(frozen=True)
class Cell:
    """What a server sends, and what the span must say; each may depend on whose client it is."""

    answers: Callable[[str], Sequence[Answer]]
    end: str = "failed"
    text: str = "hello"
    error: dict[str, str] | str = ""
    chunks: dict[str, int] | int = 2
    attempts: Sequence[int] = (200,)
    raises: bool = True


def lost(kind: str) -> Exception:
    return (httpx if kind == "ollama" else httpx2).RemoteProtocolError("peer closed connection")


def cut(kind: str, *more: bytes) -> list[Answer]:
    answer = stream(kind, done=False, fault=lost(kind))
    return [replace(answer, pieces=[*answer.pieces, *more])]


def followed_by(kind: str, last: str) -> list[Answer]:
    answer = stream(kind, done=False)
    return [replace(answer, pieces=[*answer.pieces, framed(kind, last)])]


def framed(kind: str, text: str) -> bytes:
    return text.encode() + b"\n" if kind == "ollama" else b"data: " + text.encode() + b"\n\n"


def within_a_character(kind: str) -> list[Answer]:
    data = piece(kind, "?").replace(b"?", GREETING.encode())
    at = data.index("ß".encode())
    return cut(kind, data[: at + 1])


def refused_first(kind: str, status: int) -> list[Answer]:
    headers = {"retry-after": "0", "retry-after-ms": "1"}
    return [Answer(status, body={"error": {"message": "not now"}}, headers=headers), stream(kind)]


def packed(kind: str, *, whole: bool) -> list[Answer]:
    plain = stream(kind)
    noise = [piece(kind, "") for _ in range(40)]
    data = gzip.compress(b"".join([*stream(kind, done=False).pieces, *noise, *plain.pieces[2:]]), 1)
    headers = {**plain.headers, "content-encoding": "gzip"}
    if whole:
        return [Answer(pieces=[data[:40], data[40:]], headers=headers)]
    return [Answer(pieces=[data[:40], data[40:-30]], headers=headers, fault=lost(kind))]


class Slow(list[bytes]):
    """Pieces of which the first takes its time."""

    def __iter__(self) -> Iterator[bytes]:
        time.sleep(0.05)
        return super().__iter__()


def slow(kind: str) -> list[Answer]:
    plain = stream(kind)
    return [replace(plain, pieces=Slow(plain.pieces))]


def counted(kind: str) -> list[Answer]:
    plain = stream(kind)
    told: dict[str, Any] = {"choices": [], "usage": {"prompt_tokens": 7, "completion_tokens": 2}}
    nothing = {"role": "assistant", "content": ""}
    done = {"model": "m", "message": nothing, "done": True, "prompt_eval_count": 7, "eval_count": 2}
    last = [line(done)] if kind == "ollama" else [event(told), b"data: [DONE]\n\n"]
    return [replace(plain, pieces=[*plain.pieces[: 2 if kind == "ollama" else 3], *last])]


ALL: Final = {"openai": 4, "ollama": 3}
ERRORS: Final = {"openai": '{"error": {"message": "overloaded"}}', "ollama": '{"error": "overloaded"}'}
JSON_ERROR: Final = {"openai": "JSONDecodeError", "ollama": "JSONDecodeError"}
REMOTE: Final = "RemoteProtocolError"
CELLS: Final = {
    "cut": Cell(cut, error=REMOTE),
    "cut within a chunk": Cell(lambda kind: cut(kind, piece(kind, "half")[:30]), error=REMOTE, chunks=3),
    "cut within a character": Cell(within_a_character, error=REMOTE, chunks=3),
    "ends without an end mark": Cell(
        lambda kind: [stream(kind, done=False)], error=sc.ERROR_MALFORMED_RESPONSE, raises=False
    ),
    "error event": Cell(
        lambda kind: followed_by(kind, ERRORS[kind]),
        error={"openai": "APIError", "ollama": "ResponseError"}, chunks=3,
    ),
    "malformed JSON": Cell(lambda kind: followed_by(kind, "{broken"), error=JSON_ERROR, chunks=3),
    "slow first byte": Cell(slow, "complete", chunks=ALL, raises=False),
    "counts told": Cell(counted, "complete", chunks=ALL | {"openai": 5}, raises=False),
    "gzip": Cell(lambda kind: packed(kind, whole=True), "complete", chunks={"openai": 44, "ollama": 43}, raises=False),
    "429 then a stream": Cell(
        lambda kind: refused_first(kind, 429), "complete", chunks=ALL, raises=False, attempts=(429, 200)
    ),
    "500 then a stream": Cell(
        lambda kind: refused_first(kind, 500), "complete", chunks=ALL, raises=False, attempts=(500, 200)
    ),
}  # fmt: skip

TABLE: Final = [  # Ollama's client does not try again
    (way, name) for way in CHAT for name, cell in CELLS.items() if way.server == "openai" or len(cell.attempts) == 1
]


def of(value: Any, kind: str) -> Any:
    return cast("dict[str, Any]", value)[kind] if isinstance(value, dict) else value


async def read(flow: Flow) -> Exception | None:
    try:
        await flow.start()
        await flow.rest()
    except Exception as error:
        return error
    finally:
        await flow.drop()
    return None


def told_by(way: Way, answers: Sequence[Answer]) -> tuple[ReadableSpan, Exception | None]:
    more = {"max_retries": 2} if way.server == "openai" else {}
    with flowing(way, *answers, **more) as (here, flow):
        raised = asyncio.run(read(flow))
        return here.span(), raised


@pytest.mark.parametrize(("way", "name"), TABLE, ids=str)
def test_broken(way: Way, name: str) -> None:
    cell, kind = CELLS[name], way.server
    span, raised = told_by(way, cell.answers(kind))
    found = attributes_of(span)
    assert found[sc.LLM_STREAM_END] == cell.end
    assert found[sc.LLM_STREAM_CHUNKS] == of(cell.chunks, kind)
    chunks = json.loads(found[sc.LLM_RESPONSE_BODY])
    assert len(chunks) == of(cell.chunks, kind)
    assert text_of(found) == cell.text
    assert found.get(sc.ERROR_TYPE, "") == of(cell.error, kind)
    assert span.status.status_code is (StatusCode.ERROR if cell.error else StatusCode.UNSET)
    assert (raised is not None) == (cell.raises or (bool(cell.error) and way.via == "adapter"))
    assert [dict(event.attributes or {})[sc.HTTP_STATUS] for event in span.events] == list(cell.attempts)
    estimated = sc.USAGE_ESTIMATED_OUTPUT_TOKENS in found, sc.USAGE_ESTIMATED_INPUT_TOKENS in found
    assert estimated == ((False, False) if name == "counts told" else (True, True))
    assert found.get(sc.USAGE_OUTPUT_TOKENS) == (2 if name == "counts told" else None)
    assert found[sc.RESPONSE_TIME_TO_FIRST_CHUNK] > (0.05 if name == "slow first byte" else 0)
    assert found.get(sc.LLM_RESPONSE_TAIL, "") == ("c3" if name == "cut within a character" else "")
    if name == "cut within a character":
        assert chunks[-1].endswith("grü")


def text_of(found: dict[str, Any]) -> str:
    messages = json.loads(found.get(sc.OUTPUT_MESSAGES, "[]"))
    return "".join(part["content"] for message in messages for part in message["parts"])


@pytest.mark.parametrize("way", CHAT, ids=str)
def test_a_packed_stream_that_was_cut(way: Way) -> None:
    span, raised = told_by(way, packed(way.server, whole=False))
    found = attributes_of(span)
    assert raised is not None
    assert (found[sc.LLM_STREAM_END], found[sc.ERROR_TYPE]) == ("failed", REMOTE)
    assert found[sc.LLM_STREAM_CHUNKS] > 2
    assert text_of(found) == "hello"


@pytest.mark.parametrize("way", CHAT, ids=str)
def test_what_cannot_be_unpacked_is_said(way: Way) -> None:
    plain = stream(way.server)
    answer = replace(plain, headers={**plain.headers, "content-encoding": "x-odd"})  # which the clients pass over
    span, _ = told_by(way, [answer])
    found = attributes_of(span)
    blind = way.server == "openai" and not way.asynchronous  # it closes at an end mark that we cannot see
    assert found[sc.LLM_STREAM_END] == ("partial" if blind else "complete")
    assert "x-odd" in found[sc.LLM_RESPONSE_UNRECORDED]
    assert sc.LLM_RESPONSE_BODY not in found
    assert found[sc.LLM_RESPONSE_BYTES] == sum(map(len, plain.pieces))


@pytest.mark.parametrize("way", CHAT, ids=str)
def test_a_page_instead_of_a_stream(way: Way) -> None:
    page = Answer(pieces=[b"<html>", b"hello</html>"], headers={"content-type": "text/html"})
    span, raised = told_by(way, [page])
    found = attributes_of(span)
    assert found[sc.LLM_STREAM_END] == "failed"
    assert found[sc.LLM_RESPONSE_BODY] == "<html>hello</html>"
    assert sc.LLM_STREAM_CHUNKS not in found
    assert span.status.status_code is StatusCode.ERROR
    if way.server == "openai":  # the client finds no event in it and thinks that all is well
        assert found[sc.ERROR_TYPE] == sc.ERROR_MALFORMED_RESPONSE
        assert (raised is None) == (way.via == "client")
    else:
        assert raised is not None


@pytest.mark.parametrize("status", [429, 500])
@pytest.mark.parametrize("way", [way for way in CHAT if way.server == "ollama"], ids=str)
def test_refused_by_ollama(way: Way, status: int) -> None:
    span, raised = told_by(way, refused_first("ollama", status))
    found = attributes_of(span)
    assert raised is not None
    assert found[sc.ERROR_TYPE] == str(status)
    assert json.loads(found[sc.LLM_RESPONSE_BODY]) == {"error": {"message": "not now"}}
    assert sc.USAGE_ESTIMATED_INPUT_TOKENS not in found
