"""JSON at the wire: the clients' own bytes, exact numbers, event streams in any pieces."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from openai._utils._json import openapi_dumps  # pyright: ignore[reportPrivateUsage] - it is what the client sends
from tests.unit.genai.json_values import any_text, json_values, st

from spanseal.errors import UsageError
from spanseal.genai.sse import decode_events, decode_lines
from spanseal.genai.wire import wire_format
from spanseal.genai.wire_json import as_int, as_number, dumps, loads, render, thaw

values = json_values(any_text)


@given(value=values)
def test_same_bytes_as_the_openai_client(value: Any) -> None:
    try:
        expected = openapi_dumps(value)
    except UnicodeEncodeError:
        with pytest.raises(ValueError, match="surrogates"):
            dumps(value)
        return
    assert dumps(value) == expected


@given(value=values)
def test_rendered_text_reads_back_exactly(value: Any) -> None:
    text = render(value)
    text.encode()
    assert json.dumps(loads(text)) == json.dumps(value)


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "[" * 100_000, "{", ""])
def test_what_is_not_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        loads(text)


def test_numbers_of_a_wrong_kind_are_absent() -> None:
    assert (as_int(2**63), as_int(2**63 - 1), as_int("5"), as_int(1.0)) == (None, 2**63 - 1, None, None)
    assert (as_number(10**400), as_number(True), as_number(3)) == (None, None, 3.0)
    assert thaw({"a": ({"b": 1},)}) == {"a": [{"b": 1}]}


@given(
    events=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=9)),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_events(events: list[str], end: str) -> None:
    data = "".join(f": note{end}event: x{end}data: {text}{end}{end}" for text in events).encode()
    assert decode_events(data) == (events, "")


def test_events_that_are_cut() -> None:
    assert decode_events(b"data: a\n\ndata: b") == (["a"], "data: b")
    assert decode_events(b"data: a\ndata: b\n\n") == (["a\nb"], "")
    assert decode_events(b"data: a\n\ndata: b\n") == (["a"], "data: b")
    assert decode_events(b"") == ([], "")
    assert decode_lines(b'{"a":1}\r\n\n{"b":2}') == (['{"a":1}'], '{"b":2}')


def test_unknown_format() -> None:
    with pytest.raises(UsageError, match=r"ollama\.chat, .*openai\.chat"):
        wire_format("x")
