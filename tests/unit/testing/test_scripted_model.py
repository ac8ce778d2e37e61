"""The scripted model answers as told and leaves the same spans as a real one."""

from __future__ import annotations

import asyncio
import json

import pytest
from tests.unit.telemetry.wire_world import attributes_of, recording

from spanseal.errors import RateLimitedError, UsageError
from spanseal.genai import semconv as sc
from spanseal.genai.messages import ChatRequest, LLMResponse, ToolCall
from spanseal.records.replay_read import rebuild
from spanseal.testing import ScriptedModel


def shout(request: ChatRequest) -> str:
    return request.messages[-1].text.upper()


def test_answers_in_order() -> None:
    call = ToolCall("c1", "add", '{"a":1}')
    model = ScriptedModel(["one", call, [call, call], LLMResponse("four", "m"), shout, RateLimitedError("wait")])
    assert model.complete("a").text == "one"
    got = model.complete("b")
    assert (got.tool_calls, got.finish_reason) == ((call,), "tool_call")
    assert len(model.complete("c").tool_calls) == 2
    assert model.complete("d").text == "four"
    assert model.complete("loud").text == "LOUD"
    with pytest.raises(RateLimitedError):
        model.complete("f")
    with pytest.raises(UsageError, match="has 6 answers, this is question 7"):
        model.complete("g")
    assert [request.messages[-1].text for request in model.requests] == ["a", "b", "c", "d", "loud", "f", "g"]


def test_spans_like_a_real_one() -> None:
    async def main() -> str:
        return (await ScriptedModel([ToolCall("c1", "add", '{"a":1}')]).acomplete("hi")).finish_reason

    with recording() as exporter:
        assert asyncio.run(main()) == "tool_call"
        (span,) = exporter.get_finished_spans()
    found = attributes_of(span)
    assert found[sc.LLM_FORMAT] == "openai.chat"
    assert rebuild(found).grade == "exact"
    assert json.loads(found[sc.LLM_RESPONSE_BODY])["choices"][0]["finish_reason"] == "tool_calls"
    assert json.loads(found[sc.OUTPUT_MESSAGES])[0]["parts"][0]["arguments"] == {"a": 1}


def test_stream() -> None:
    chunks = list(ScriptedModel(["hello"]).stream("hi"))
    assert chunks[-1].response is not None
    assert "".join(chunk.text for chunk in chunks) == "hello"
