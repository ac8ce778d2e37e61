"""Stream chunks of many servers, put together to one body."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from hypothesis import given, strategies

from spanseal.genai import openai_chat

st: Any = strategies


def assembled(*deltas: Any, **last: Any) -> dict[str, Any]:
    stream = openai_chat.StreamAssembler()
    for delta in deltas:
        stream.feed({"id": "r", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}]})
    stream.feed({"choices": [], **last})
    return stream.body()


def message(*deltas: Any) -> dict[str, Any]:
    return assembled(*deltas)["choices"][0]["message"]


@given(text=st.text(max_size=40), cuts=st.lists(st.integers(0, 40), max_size=5))
def test_text_in_any_pieces(text: str, cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(text)]
    pieces = [text[a:b] for a, b in pairwise(edges)]
    stream = openai_chat.StreamAssembler()
    chunks = [stream.feed({"choices": [{"index": 0, "delta": {"content": piece}}]}) for piece in pieces]
    assert "".join(chunk.text for chunk in chunks if chunk) == text
    assert openai_chat.parse_response(stream.body()).text == text


def test_usage_comes_in_a_chunk_without_choices() -> None:
    body = assembled({"content": "x"}, usage={"prompt_tokens": 3, "completion_tokens": 1})
    assert openai_chat.parse_response(body).usage.input_tokens == 3
    assert body["object"] == "chat.completion"


def test_reasoning_fields() -> None:
    for name in ("reasoning_content", "reasoning"):
        body = assembled({name: "h"}, {name: "m", "content": None}, {"content": "x"})
        got = openai_chat.parse_response(body)
        assert (got.reasoning, got.text) == ("hm", "x")


def test_parallel_calls_by_index() -> None:
    def call(index: int, **more: Any) -> dict[str, Any]:
        return {"tool_calls": [{"index": index, **more}]}

    calls = message(
        call(0, id="a", type="function", function={"name": "f", "arguments": ""}),
        call(1, id="b", type="function", function={"name": "g", "arguments": '{"y"'}),
        call(0, function={"arguments": "{}"}),
        call(1, function={"arguments": ":1}"}),
    )["tool_calls"]
    assert [(c["id"], c["function"]["name"], c["function"]["arguments"]) for c in calls] == [
        ("a", "f", "{}"),
        ("b", "g", '{"y":1}'),
    ]
    assert "index" not in calls[0]


def test_servers_that_send_index_zero_always_or_none() -> None:
    whole = [{"id": c, "function": {"name": c, "arguments": "{}"}} for c in "ab"]
    zero = message(*({"tool_calls": [{"index": 0, **call}]} for call in whole))["tool_calls"]
    none = message(*({"tool_calls": [call]} for call in whole))["tool_calls"]
    at_once = message({"tool_calls": whole})["tool_calls"]
    assert [c["id"] for c in zero] == [c["id"] for c in none] == [c["id"] for c in at_once] == ["a", "b"]


def test_choices_stay_apart_and_unknown_fields_stay() -> None:
    stream = openai_chat.StreamAssembler()
    for index in (1, 0, 1):
        delta = {"content": str(index), "annotations": [{"n": index}], "audio": {"id": "a", "seen": index}}
        stream.feed({"x_new": 7, "choices": [{"index": index, "delta": delta, "logprobs": {"content": [index]}}]})
    body = stream.body()
    assert [c["message"]["content"] for c in body["choices"]] == ["0", "11"]
    assert body["choices"][1]["message"]["annotations"] == [{"n": 1}, {"n": 1}]
    assert body["choices"][1]["message"]["audio"] == {"id": "a", "seen": 1}
    assert body["choices"][1]["logprobs"] == {"content": [1, 1]}
    assert body["x_new"] == 7


def test_sound_that_comes_in_pieces_is_whole_again() -> None:
    stream = openai_chat.StreamAssembler()
    pieces: list[dict[str, Any]] = [
        {"role": "assistant", "audio": {"id": "a1", "transcript": "Hel"}}, {"audio": {"data": "AAAA"}},
        {"audio": {"data": "BBBB", "transcript": "lo"}}, {"audio": {"expires_at": 7}},
    ]  # fmt: skip
    for delta in pieces:
        stream.feed({"choices": [{"index": 0, "delta": delta}]})
    body = stream.body()
    audio = {"id": "a1", "transcript": "Hello", "data": "AAAABBBB", "expires_at": 7}
    assert body["choices"][0]["message"]["audio"] == audio
    assert openai_chat.parse_response(body).text == "Hello"
    assert openai_chat.output_messages(body)[0]["parts"] == [
        {"type": "blob", "modality": "audio", "content": "AAAABBBB"}, {"type": "text", "content": "Hello"},
    ]  # fmt: skip


def test_sound_that_is_answered_to_is_named() -> None:
    body = {"messages": [{"role": "assistant", "content": None, "audio": {"id": "a1"}}]}
    parts = openai_chat.input_messages(body)[0]["parts"]
    assert parts == [{"type": "file", "modality": "audio", "file_id": "a1"}]


def test_a_null_where_others_send_nothing_costs_no_answer() -> None:
    stream = openai_chat.StreamAssembler()
    for text in ("he", "y"):
        delta = {"role": "assistant", "content": text, "tool_calls": None, "function_call": None, "audio": None}
        stream.feed({"choices": [{"index": 0, "delta": delta, "logprobs": None}], "usage": None})
    body = stream.body()
    assert openai_chat.parse_response(body).text == "hey"
    assert openai_chat.output_messages(body)[0]["parts"] == [{"type": "text", "content": "hey"}]
