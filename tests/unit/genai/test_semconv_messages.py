"""Messages to the conventions' JSON and back."""

from __future__ import annotations

from typing import Any

from hypothesis import given, strategies

from spanseal.genai.messages import Media, Message, Other, Reasoning, Text, ToolCall, ToolResult
from spanseal.genai.semconv_messages import messages_from_semconv, messages_to_semconv

st: Any = strategies
texts: Any = st.text(max_size=12)
ARGUMENTS = ['{"a":1}', '{"a":10000000000000000000000}', "{bad", "", "[1]", "5"]
parts: Any = st.one_of(
    st.builds(Text, texts),
    st.builds(Reasoning, texts),
    st.builds(ToolResult, texts, texts),
    st.builds(ToolCall, texts, texts, st.sampled_from(ARGUMENTS)),
    st.builds(Media, st.just("image"), data=st.just("AAAA"), mime_type=texts),
    st.builds(Media, st.just("video"), uri=texts.map("u{}".format)),
    st.just(Other({"type": "new", "x": [1, None]})),
)
many: Any = st.lists(parts, min_size=2, max_size=4).map(tuple)
messages: Any = st.lists(st.builds(Message, texts, many | texts, texts), max_size=4).map(tuple)


@given(talk=messages)
def test_there_and_back(talk: tuple[Message, ...]) -> None:
    back = messages_from_semconv(messages_to_semconv(talk))
    assert [(m.role, m.name, m.parts) for m in back] == [(m.role, m.name, m.parts) for m in talk]


def test_arguments_are_the_parsed_object() -> None:
    (message,) = messages_to_semconv([Message("assistant", (ToolCall("c", "f", '{"a": [1, null]}'),))])
    assert message["parts"] == [{"type": "tool_call", "name": "f", "id": "c", "arguments": {"a": [1, None]}}]


def test_dialects_of_others_are_read() -> None:
    value = [
        {
            "role": "user",
            "parts": [
                {"type": "tool_call_response", "id": "c", "result": {"x": 1}, "name": "f"},
                {"type": "thinking", "content": "hm"},
                "no object",
                {"type": "text", "content": 5},
            ],
        },
        "no object",
    ]
    (message,) = messages_from_semconv(value)
    assert message.parts[:2] == (ToolResult("c", '{"x":1}', "f"), Reasoning("hm"))
    assert all(isinstance(part, Other) for part in message.parts[2:])
