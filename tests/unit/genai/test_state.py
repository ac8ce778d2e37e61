"""States and their digests: equal for equal runs, whatever clocks and ids say."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanseal.genai.messages import LLMResponse, Media, Message, Other, Reasoning, Text, ToolCall, ToolResult, Usage
from spanseal.genai.plain_json import canonical, digest, plain
from spanseal.genai.state import AgentState, Spending, ToolOutcome, estimate_tokens


def state(call_id: str = "call_1", latency: float = 1.0, result: str = "391") -> AgentState:
    wish = ToolCall(call_id, "multiply", '{"a": 17}')
    return AgentState(
        step_number=2,
        messages=(
            Message("user", "?"), Message("assistant", (wish,)), Message("tool", (ToolResult(call_id, result),)),
        ),
        last_response=LLMResponse("", "m", latency_ms=latency, response_id=f"resp-{latency}"),
        tool_calls=(ToolOutcome(wish, result),),
        metadata={"at": latency},
    )


def test_the_digest_leaves_out_clocks_and_ids() -> None:
    assert state().digest() == state("call_9f3", latency=77.0).digest()


@pytest.mark.parametrize("other", [
    state(result="392"), replace(state(), step_number=3), state().adding(Message("user", "more")),
    replace(state(), pending=(ToolCall("x", "y", ""),)), replace(state(), tool_calls=()),
])
def test_the_digest_holds_what_happened(other: AgentState) -> None:
    assert other.digest() != state().digest()


def test_crossed_results_differ_though_ids_do_not_count() -> None:
    def crossed(first: str, second: str) -> AgentState:
        wishes = Message("assistant", (ToolCall("a", "t", ""), ToolCall("b", "t", "")))
        results = (Message("tool", (ToolResult(first, "1"),)), Message("tool", (ToolResult(second, "2"),)))
        return AgentState(messages=(wishes, *results))

    assert crossed("a", "b").digest() != crossed("b", "a").digest()


def test_spending_counts_what_the_provider_told_and_marks_what_it_did_not() -> None:
    sent = (Message("user", "x" * 40),)
    told = Spending().with_answer(LLMResponse("a", "m", usage=Usage(7, 3)), sent)
    assert (told.input_tokens, told.output_tokens, told.model_calls, told.estimated) == (7, 3, 1, False)
    counted = told.with_answer(LLMResponse("a", "m", prompt_tokens=5, completion_tokens=2), sent)
    assert (counted.tokens, counted.estimated) == (17, False)
    guessed = counted.with_answer(LLMResponse("y" * 8, "m"), sent)
    assert (guessed.tokens, guessed.estimated, guessed.usage.estimated) == (17 + 14 + 6, True, True)
    assert (guessed.reported, guessed.guessed) == (Usage(12, 5), Usage(14, 6, estimated=True))
    assert counted.guessed is None
    zero = Spending().with_answer(LLMResponse("a", "m", usage=Usage(0, 0)), sent)
    assert (zero.tokens, zero.estimated) == (0, False)


def test_spending_sums_every_kind_of_count_where_it_was_told() -> None:
    sent = (Message("user", "?"),)
    spent = Spending().with_answer(LLMResponse("a", "m", usage=Usage(7, 3, reasoning_tokens=2)), sent)
    spent = spent.with_answer(LLMResponse("a", "m", usage=Usage(8, 4, 1, cache_read_tokens=6)), sent)
    spent = spent.with_answer(LLMResponse("a", "m", usage=Usage(1, 1, reasoning_tokens=-5)), sent)
    assert spent.usage == spent.reported == Usage(16, 8, 3, 6, None)
    marked = Spending().with_answer(LLMResponse("a", "m", usage=Usage(9, 9, estimated=True)), sent)
    assert (marked.reported, marked.guessed) == (Usage(), Usage(9, 9, estimated=True))


def test_every_kind_of_part_counts_for_the_estimate() -> None:
    parts = (Text("abcd"), ToolCall("1", "abcd", "abcd"), ToolResult("1", "abcd"), Reasoning("abcd"), Media("image"),
             Other({"a": 1}))
    assert estimate_tokens((Message("user", parts),)) == 4 + 5


class Shade(Enum):
    DARK = 1


def test_values_become_plain_json() -> None:
    parts = (Text("a"), ToolCall("1", "n", "{}"), ToolResult("1", "r"), Reasoning("t"), Other({"type": "odd"}))
    assert [part["type"] for part in plain(Message("user", parts))["content"]] == [
        "text", "tool_call", "tool_call_response", "reasoning", "odd"
    ]
    assert plain({1: (Shade.DARK, b"\x01", {2, 1}, float("inf"), object())}) == {
        "1": [1, "01", [1, 2], "inf", "<object>"]
    }
    assert canonical("\ud800") == '"\\ud800"'


@given(st.dictionaries(st.text(max_size=3), st.integers(), max_size=4))
def test_the_order_of_keys_does_not_count(value: dict[str, int]) -> None:
    assert digest(value) == digest(dict(reversed(value.items())))


def test_a_state_made_of_lists_grows_like_any_other() -> None:
    given: Any = [Message("user", "?")]
    assert AgentState(1, given, None, (), {}).adding(Message("user", "!")).messages == (*given, Message("user", "!"))
