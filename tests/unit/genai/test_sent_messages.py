"""What is written at once is what the wire format would make, for messages as odd as they come."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanseal.genai.sent_messages import sent_messages
from spanseal.genai.wire import wire_format
from spanseal.genai.wire_json import dumps, render
from spanseal.records.replay_record import bytes_of, join, parse_params, split

TEXT = st.text(max_size=9)
CONTENT: Any = TEXT | st.none() | st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": TEXT}), max_size=2)
ROLE = st.sampled_from(["user", "system", "assistant", "developer", "tool", "odd", "", 1, None])
MESSAGE: Any = st.one_of(
    st.fixed_dictionaries({"role": ROLE, "content": CONTENT}),
    st.fixed_dictionaries({"content": TEXT, "role": ROLE}),
    st.fixed_dictionaries({"role": ROLE, "content": TEXT, "name": TEXT}),
    st.dictionaries(st.sampled_from(["role", "content", "x"]), TEXT | st.integers(-9, 9), max_size=2),
)
FORMATS = ["openai.chat", "openai.responses", "openai.embeddings", "ollama.chat", "ollama.generate", "ollama.embed"]


@pytest.mark.parametrize("name", FORMATS)
@given(messages=st.lists(MESSAGE, max_size=5))
def test_texts_are_those_of_the_wire_format(name: str, messages: list[Any]) -> None:
    wire = wire_format(name)
    body = {"messages": messages, "input": messages, "prompt": "p"}
    values, texts = sent_messages(wire, body)
    made = wire.input_messages(body)
    assert texts == [render(value) for value in made]
    assert all(value in (None, one) for value, one in zip(values, made, strict=True))


@given(st.lists(MESSAGE, max_size=5))
def test_a_split_with_plain_messages_gives_the_bytes_back(messages: list[Any]) -> None:
    wire = wire_format("openai.chat")
    body = {"model": "m", "messages": messages}
    raw = dumps(body)
    values, _ = sent_messages(wire, body)
    record = split(raw, body, values, [])
    assert not record.body
    assert bytes_of(join(parse_params(record.params), wire.input_messages(body), []), record.sha256) == raw


def test_a_text_that_has_no_utf8_is_written_as_the_format_would() -> None:
    odd = {"messages": [{"role": "user", "content": "a\ud800"}, {"role": "user", "content": "b"}, "no message"]}
    wire = wire_format("openai.chat")
    values, texts = sent_messages(wire, odd)
    assert [value is None for value in values] == [False, True, False]
    assert texts == [render(value) for value in wire.input_messages(odd)]
