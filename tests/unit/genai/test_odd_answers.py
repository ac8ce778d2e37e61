"""Answers that are JSON and otherwise anything: what is read from them may be little, but nothing raises."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, strategies

from spanseal.errors import MalformedResponseError
from spanseal.genai.wire import wire_format
from spanseal.genai.wire_json import render

st: Any = strategies
KEYS = [
    "choices", "index", "delta", "message", "content", "tool_calls", "function", "arguments", "name", "id", "type",
    "role", "audio", "data", "transcript", "logprobs", "usage", "prompt_tokens", "completion_tokens", "error",
    "response", "output", "item", "output_index", "content_index", "part", "summary", "text", "refusal", "done",
    "eval_count", "thinking", "images", "status", "annotation", "command", "command_index", "action", "finish_reason",
    "input",
]  # fmt: skip
KINDS = [
    "response.output_text.delta", "response.output_item.added", "response.content_part.added", "response.completed",
    "response.function_call_arguments.delta", "response.output_text.annotation.added", "response.created", "error",
    "response.shell_call_command.delta", "response.shell_call_output_content.delta",
    "response.reasoning_summary_part.added",
]  # fmt: skip
WORDS = st.sampled_from(["", "a", "tool"])
LEAF = st.none() | st.booleans() | st.integers(-1, 3) | st.just(2**70) | st.floats(0, 2) | WORDS


def nested(inner: Any) -> Any:
    return st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)


VALUE = st.recursive(LEAF, nested, max_leaves=12)
EVENT = st.dictionaries(st.sampled_from(KEYS), VALUE, max_size=5)
DELTA = st.dictionaries(st.sampled_from(["content", "tool_calls", "audio", "refusal"]), st.none() | VALUE, max_size=3)
CHOICE = st.fixed_dictionaries({"index": LEAF, "delta": DELTA})
CHUNKS = st.lists(
    EVENT
    | st.fixed_dictionaries({"type": st.sampled_from(KINDS) | VALUE, "delta": VALUE, "response": VALUE, "item": VALUE})
    | st.fixed_dictionaries({"choices": st.lists(CHOICE, max_size=2)}),
    min_size=1, max_size=4,
)  # fmt: skip
FORMATS = ["openai.chat", "openai.responses", "openai.embeddings", "ollama.chat", "ollama.generate", "ollama.embed"]


@pytest.mark.parametrize("form", FORMATS)
@given(chunks=CHUNKS)
def test_nothing_raises(form: str, chunks: list[dict[str, Any]]) -> None:
    wire = wire_format(form)
    stream = wire.StreamAssembler()
    for chunk in chunks:
        stream.feed(chunk)
    for body in (stream.body(), chunks[0]):
        render(wire.output_messages(body))
        wire.response_attributes(body)
        wire.fault_of(body)
        wire.cut_short([], body)
        with suppress(MalformedResponseError):
            wire.parse_response(body)
