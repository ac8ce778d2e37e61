"""What a run leaves behind in files: whole, cancelled, and killed in the middle."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.agent.support import TinyModel, attributes, call, is_error, recorded

from spanseal.agent.build import VerifiableAgent
from spanseal.genai import semconv
from spanseal.genai.messages import ChatRequest, LLMResponse, ToolCall, Usage
from spanseal.records.otlp.parse import parse_line
from spanseal.telemetry.run_span import run_span
from spanseal.telemetry.spans.tracer import tracer
from spanseal.testing import ScriptedModel, capture_spans
from spanseal.tools.tool import tool

KILLED = """
import os, sys
from spanseal.agent.build import VerifiableAgent
from spanseal.genai.messages import ToolCall
from spanseal.telemetry.configure import configure
from spanseal.testing import ScriptedModel

def die() -> str:
    os._exit(9)

def live() -> str:
    return "alive"

configure("killed", export=sys.argv[1])
model = ScriptedModel([ToolCall("a", "live", "{}"), ToolCall("b", "die", "{}")])
VerifiableAgent(model, tools=[live, die], name="brave").run("?")
"""


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def test_every_model_call_is_a_numbered_chat_span_of_its_step() -> None:
    model = ScriptedModel([ToolCall("c1", "add", '{"a": 1, "b": 2}'), "", "3"])
    with capture_spans() as captured:
        result = VerifiableAgent(model, tools=[add], name="sums").run("1 + 2?")
    assert result.answer == "3"
    steps = {span.context.span_id: span for span in captured.named("step") if span.context is not None}
    chats = captured.named("chat")
    assert [attributes(chat)[semconv.LLM_ATTEMPT] for chat in chats] == [1, 1, 2]
    numbers = [attributes(steps[chat.parent.span_id])[semconv.STEP_NUMBER] for chat in chats if chat.parent is not None]
    assert numbers == [1, 2, 2]


def test_a_killed_process_leaves_the_record_up_to_the_last_step(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 9, done.stderr
    spans = [
        span for file in sorted(tmp_path.glob("*.jsonl")) for line in file.read_bytes().splitlines()
        for span in parse_line(line)
    ]
    names = [span.name for span in sorted(spans, key=lambda span: span.start)]
    assert names == [
        "step", "control before_model", "chat scripted", "control after_model", "control before_tool",
        "execute_tool live", "control after_tool",
        "control before_model", "chat scripted", "control after_model", "control before_tool",
    ], "the second step, its tool and the root never ended"
    assert all(span.attributes[semconv.AGENT_NAME] == "brave" for span in spans)
    assert len({str(span.attributes[semconv.RUN_ID]) for span in spans}) == 1


def test_a_cancelled_run_marks_its_spans_and_stays_cancelled() -> None:
    class Slow(TinyModel):
        async def achat(self, request: ChatRequest) -> LLMResponse:
            await asyncio.sleep(60)
            raise AssertionError("cancelled before")

    async def cancelled() -> None:
        task = asyncio.create_task(VerifiableAgent(Slow()).arun("?"))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    with recorded() as spans:
        asyncio.run(cancelled())
    for name in ("invoke_agent agent", "step"):
        assert is_error(spans.one(name))
        assert attributes(spans.one(name))[semconv.ERROR_TYPE] == "CancelledError"


def test_a_timeout_around_a_run_is_the_callers() -> None:
    async def slowly() -> str:
        await asyncio.sleep(60)
        return ""

    async def bounded() -> None:
        async with asyncio.timeout(0.01):
            await VerifiableAgent(TinyModel(call("slowly")), tools=[slowly]).arun("?")

    with recorded() as spans, pytest.raises(TimeoutError):
        asyncio.run(bounded())
    assert attributes(spans.one("execute_tool slowly"))[semconv.ERROR_TYPE] == "CancelledError"


def test_a_broken_provider_costs_spans_never_the_run() -> None:
    from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider

    from spanseal.telemetry.active import Active, activate

    class Poison(SpanProcessor):
        def on_start(self, span: Span, parent_context: object = None) -> None:
            raise OSError("no room")

        def on_end(self, span: ReadableSpan) -> None:
            raise OSError("no room")

    provider = TracerProvider()
    provider.add_span_processor(Poison())
    before = activate(Active(capture="full", provider=provider, configured=True))
    try:
        result = VerifiableAgent(TinyModel(call("add", a=1, b=2), "3"), tools=[add]).run("?")
    finally:
        activate(before)
    assert result.answer == "3"


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_an_agent_as_a_tool_is_a_run_of_its_own_that_names_its_parent(mode: str) -> None:
    inner = VerifiableAgent(ScriptedModel(["3"]), name="inner")

    def ask(question: str) -> str:
        return inner.run(question).answer

    async def aask(question: str) -> str:
        return (await inner.arun(question)).answer

    name = "ask" if mode == "sync" else "aask"
    model = ScriptedModel([ToolCall("c1", name, '{"question": "1 + 2?"}'), "three"])
    outer = VerifiableAgent(model, tools=[ask, aask], name="outer")
    with capture_spans() as captured:
        result = outer.run("?") if mode == "sync" else asyncio.run(outer.arun("?"))
    roots = {span.name: attributes(span) for span in captured.named("invoke_agent")}
    assert result.answer == "three"
    assert roots["invoke_agent inner"][semconv.RUN_PARENT_ID] == result.run_id
    assert len({str(root[semconv.RUN_ID]) for root in roots.values()}) == 2
    tool_span = captured.one(f"execute_tool {name}")
    inner_root = captured.one("invoke_agent inner")
    assert inner_root.parent is not None
    assert tool_span.context is not None
    assert inner_root.parent.span_id == tool_span.context.span_id


def test_a_conversation_id_is_on_every_model_call_and_tool_call_of_its_run_and_of_an_inner_agents() -> None:
    inner = VerifiableAgent(ScriptedModel(["3"]), name="inner")

    @tool
    def ask() -> str:
        """Ask another agent."""
        return inner.run("1 + 2?").answer

    async def stranger() -> str:
        with tracer().start_as_current_span("another library"):
            return ""

    calls = [ToolCall("c1", "ask", "{}"), ToolCall("c2", "stranger", "{}"), ToolCall("c3", "none", "{}")]
    agent = VerifiableAgent(ScriptedModel([calls, "3"]), tools=[ask, stranger])
    with capture_spans() as captured:
        asyncio.run(agent.arun("?", conversation_id="talk-7"))
        VerifiableAgent(ScriptedModel(["4"]), name="alone").run("?")
    told = {span.name: attributes(span).get(semconv.CONVERSATION_ID) for span in captured.spans}
    assert {name for name, found in told.items() if found == "talk-7"} == {
        "invoke_agent agent", "invoke_agent inner", "execute_tool ask", "execute_tool stranger",
        f"execute_tool {semconv.TOOL_NAME_UNKNOWN}",
    }
    chats = captured.named("chat")
    assert [attributes(chat).get(semconv.CONVERSATION_ID) for chat in chats] == ["talk-7", "talk-7", "talk-7", None]
    assert told["invoke_agent alone"] is None


def test_an_inner_run_may_belong_to_a_conversation_of_its_own() -> None:
    with capture_spans() as captured, run_span("outer", conversation_id="a"):
        with run_span("inner", conversation_id="b"):
            ScriptedModel(["x"]).complete("?")
        ScriptedModel(["y"]).complete("?")
    found = [attributes(span)[semconv.CONVERSATION_ID] for span in captured.named("chat")]
    assert found == ["b", "a"]


def test_the_root_tells_counts_of_providers_under_their_names_and_our_estimate_under_names_of_its_own() -> None:
    told = Usage(10, 5, reasoning_tokens=2, cache_read_tokens=4, cache_write_tokens=1)
    script = [
        LLMResponse("", "m", tool_calls=(ToolCall("c", "add", '{"a": 1, "b": 2}'),), usage=told),
        LLMResponse("", "m", tool_calls=(ToolCall("d", "add", '{"a": 1, "b": 2}'),), usage=Usage(20, 1, 0)),
        LLMResponse("three is the answer", "m"),
    ]
    with capture_spans(capture="off") as captured:
        result = VerifiableAgent(ScriptedModel(script), tools=[add]).run("1 + 2?")
        VerifiableAgent(ScriptedModel(["3"])).run("1 + 2?")
    partly, untold = (attributes(span) for span in captured.named("invoke_agent"))
    guessed = partly[semconv.USAGE_ESTIMATED_INPUT_TOKENS], partly[semconv.USAGE_ESTIMATED_OUTPUT_TOKENS]
    assert {key: count for key, count in partly.items() if key.startswith("gen_ai.usage.")} == {
        semconv.USAGE_INPUT_TOKENS: 30, semconv.USAGE_OUTPUT_TOKENS: 6, semconv.USAGE_REASONING_TOKENS: 2,
        semconv.USAGE_CACHE_READ_TOKENS: 4, semconv.USAGE_CACHE_WRITE_TOKENS: 1,
    }
    assert guessed[0] > 0
    assert guessed[1] == 4 + 5
    assert result.usage == Usage(30 + guessed[0], 6 + guessed[1], 2, 4, 1, estimated=True)
    assert not [key for key in untold if key.startswith("gen_ai.usage.")]
    assert untold[semconv.USAGE_ESTIMATED_OUTPUT_TOKENS] == 5
