"""A stream put together while it is read is the same as one put together at its end, however it was cut."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanseal.genai.wire import wire_format
from spanseal.telemetry.capture.streams.assembly import Assembly, assembled, split

CHUNK = {"choices": [{"index": 0, "delta": {"content": "grüß "}}]}
SNIPPETS = (
    *(json.dumps(CHUNK, ensure_ascii=escaped).encode() for escaped in (True, False)),
    b'{"choices":[{"index":1,"delta":{"content":"\\ud800"},"logprobs":{"content":[{"logprob":NaN}]}}]}',
    b'{"created":123456789012345678901234567890}', b"[DONE]", b"[DONE] ", b"{broken", b"\xef\xbb\xbf", b"\xff", b"\xc3",
    b'{"message":{"role":"assistant","content":"a"},"done":false}', b'{"done":true,"eval_count":2}', b"null", b"",
)  # fmt: skip
SEPARATORS = (
    b"\n", b"\n\n", b"\r\n", b"\r\n\r\n", b"\r\r", b"\n\r\n", b"", b"\ndata: ", b"\nevent: x\n", b"\n: alive\n\n",
)  # fmt: skip


@st.composite
def streams(draw: st.DrawFn) -> list[bytes]:
    """A body in pieces, most of them long enough that several handfuls come together."""
    many = draw(st.lists(st.tuples(st.sampled_from((b"data: ", b"data:", b"")), st.sampled_from(SNIPPETS),
                                   st.sampled_from(SEPARATORS)), max_size=40))  # fmt: skip
    body = b"".join(part for parts in many for part in parts)
    step = draw(st.integers(1, 40))
    return [body[at : at + step] for at in range(0, len(body), step)]


@pytest.mark.parametrize("form", ["openai.chat", "openai.responses", "ollama.chat", "ollama.generate"])
@given(pieces=streams())
def test_the_same_however_it_comes(form: str, pieces: list[bytes]) -> None:
    wire = wire_format(form)
    assembly = Assembly(wire)
    for piece in pieces:
        assembly.add(piece)
    found = assembly.over()
    texts, tail = split(wire, b"".join(pieces))
    assert (found.texts, found.tail) == (texts, tail)
    assert repr(found.body) == repr(assembled(wire, texts))


def test_what_is_found_in_one_piece_is_told_of_the_whole() -> None:
    wire = wire_format("openai.chat")
    for wanted, clean in (("number 99", False), ("number 100", True)):
        assembly = Assembly(wire, lambda text, wanted=wanted: wanted in text)
        for number in range(100):
            assembly.add(b'data: {"id":"number %d"}\n\n' % number)
        found = assembly.over()
        assert (found.clean, len(found.texts)) == (clean, 100)
    assert not Assembly(wire).over().clean


def test_one_endless_event_costs_no_more_than_its_length() -> None:
    assembly = Assembly(wire_format("openai.chat"))
    assembly.add(b"data: ")
    began = time.thread_time()
    for _ in range(40_000):
        assembly.add(b"x" * 100)
    spent = time.thread_time() - began
    assembly.add(b"\n\n")
    assert assembly.over().texts == ["x" * 4_000_000]
    assert spent < 1  # looked through after each handful it would be ten billion bytes
