"""Estimates fill exactly the counts that the provider did not tell, from texts, and never claim to be counts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from spanseal.genai import semconv as sc
from spanseal.genai.messages import Message
from spanseal.genai.state import estimate_tokens
from spanseal.genai.wire import wire_format
from spanseal.telemetry.capture.estimate import estimated_usage, tokens_of

WORDS = "how much is 17 times 23?"


def sent(**body: Any) -> bytes:
    return json.dumps({"model": "m", **body}).encode()


def text(words: str) -> dict[str, Any]:
    return {"role": "assistant", "parts": [{"type": "text", "content": words}]}


def test_the_same_as_the_budgets_guess() -> None:
    request = sent(messages=[{"role": "user", "content": WORDS}])
    told = estimated_usage(wire_format("openai.chat"), request, {}, [text("391")])
    assert told[sc.USAGE_ESTIMATED_INPUT_TOKENS] == estimate_tokens((Message("user", WORDS),))
    assert told[sc.USAGE_ESTIMATED_OUTPUT_TOKENS] == 4 + 1
    assert len(told) == 2


@pytest.mark.parametrize("told", [(), (sc.USAGE_INPUT_TOKENS,), (sc.USAGE_INPUT_TOKENS, sc.USAGE_OUTPUT_TOKENS)])
def test_only_what_is_missing(told: tuple[str, ...]) -> None:
    request = sent(messages=[{"role": "user", "content": WORDS}])
    missing = estimated_usage(wire_format("ollama.chat"), request, dict.fromkeys(told, 0), [text("391")])
    assert len(missing) == 2 - len(told)  # 0 is told


@pytest.mark.parametrize(
    ("form", "body", "least"),
    [
        ("openai.embeddings", {"input": [WORDS, WORDS]}, 12),
        ("openai.embeddings", {"input": [[1, 2, 3], [4] * 9]}, 12),
        ("openai.responses", {"input": WORDS}, 6),
        ("ollama.generate", {"prompt": WORDS}, 6),
    ],
)
def test_other_endpoints(form: str, body: dict[str, Any], least: int) -> None:
    told = estimated_usage(wire_format(form), sent(**body), {}, [])
    assert told[sc.USAGE_ESTIMATED_INPUT_TOKENS] >= least
    assert (sc.USAGE_ESTIMATED_OUTPUT_TOKENS in told) == (form != "openai.embeddings")


def test_tools_count_and_pictures_do_not() -> None:
    tool: dict[str, Any] = {"type": "function", "function": {"name": "add", "description": "x" * 400}}
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 4000}}
    plain = [{"role": "user", "content": [{"type": "text", "text": WORDS}]}]
    seen = [{"role": "user", "content": [{"type": "text", "text": WORDS}, picture]}]
    chat = wire_format("openai.chat")

    def asked(**body: Any) -> int:
        return estimated_usage(chat, sent(**body), {}, [])[sc.USAGE_ESTIMATED_INPUT_TOKENS]

    assert asked(messages=plain, tools=[tool]) > asked(messages=plain) + 100
    assert asked(messages=seen) <= asked(messages=plain) + 10


def test_no_json_was_sent() -> None:
    assert estimated_usage(wire_format("openai.chat"), b"x" * 40, {}, [])[sc.USAGE_ESTIMATED_INPUT_TOKENS] == 10


def test_calls_and_results_count() -> None:
    call = {"type": "tool_call", "id": "c" * 400, "name": "add", "arguments": {"a": 1}}
    result = {"type": "tool_call_response", "id": "c1", "response": "x" * 40}
    assert tokens_of([{"role": "assistant", "parts": [call]}]) == 4 + 3
    assert tokens_of([{"role": "tool", "parts": [result]}]) == 4 + 10
