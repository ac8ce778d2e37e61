"""A provider whose spans raise costs the record, never the run; a policy's impossible change halts it."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from opentelemetry.trace import NonRecordingSpan, SpanContext, StatusCode, Tracer, TracerProvider
from tests.unit.telemetry.wire_world import bare_client, whole

from spanseal.adapters.openai import OpenAIAdapter
from spanseal.agent.build import VerifiableAgent
from spanseal.control.action import Action, Seam
from spanseal.control.plane import ControlPlane
from spanseal.control.policies.tool_allow_list import ToolAllowListPolicy
from spanseal.control.policy import ControlPolicy, ControlResult
from spanseal.genai.chat_model import ChatModel
from spanseal.genai.messages import ToolCall
from spanseal.genai.state import AgentState
from spanseal.telemetry.active import Active, activate
from spanseal.testing.capture_spans import capture_spans
from spanseal.testing.scripted_model import ScriptedModel
from spanseal.tools.tool import tool
from spanseal.verification.checks.forbidden_phrase import ForbiddenPhraseCheck
from spanseal.verification.pipeline import VerificationPipeline

METHODS = ("set_attribute", "set_attributes", "add_event", "set_status", "end", "is_recording", "get_span_context")


class Raising(NonRecordingSpan):
    """A span of somebody else's, with one method that raises."""

    broken: str = ""

    def is_recording(self) -> bool:
        return True

    def __getattribute__(self, name: str) -> Any:
        found = object.__getattribute__(self, name)
        return _raise if name == object.__getattribute__(self, "broken") else found


def _raise(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("broken span")


def provider(broken: str) -> TracerProvider:
    class Spans(Tracer):
        def start_span(self, *args: Any, **kwargs: Any) -> Any:
            span = Raising(SpanContext(1, 2, is_remote=False))
            span.broken = broken
            return span

        start_as_current_span: Any = None

    class Provider(TracerProvider):
        def get_tracer(self, *args: Any, **kwargs: Any) -> Tracer:
            return Spans()

    return Provider()


@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b


def _scripted() -> ChatModel:
    return ScriptedModel([ToolCall("c", "add", '{"a": 1, "b": 2}'), "bad", "done"])


def _client() -> ChatModel:
    return OpenAIAdapter("m", client=bare_client("openai", [whole("openai", "bad"), whole("openai", "done")], []))


@pytest.mark.parametrize("model", [_scripted, _client])
@pytest.mark.parametrize("broken", METHODS)
def test_no_span_of_a_foreign_provider_ends_a_run(broken: str, model: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)
    agent = VerifiableAgent(
        model(), tools=[add], verification=VerificationPipeline([ForbiddenPhraseCheck(["bad"])]),
        control=ControlPlane([ToolAllowListPolicy(["add"])]),
    )
    before = activate(Active(capture="full", provider=provider(broken)))
    try:
        result = agent.run("q")
    finally:
        activate(before)
    assert (result.outcome, result.answer) == ("completed", "done")


class Cyclic(ControlPolicy):
    seams: frozenset[Seam] = frozenset({"before_tool"})

    def decide(self, seam: Seam, state: AgentState, action: Action) -> ControlResult:
        arguments: dict[str, Any] = {}
        arguments["a"] = arguments
        return self.modify("round and round", arguments=arguments)


def test_a_modification_that_cannot_be_applied_halts_and_is_marked() -> None:
    with capture_spans() as captured:
        result = VerifiableAgent(_scripted(), tools=[add], control=ControlPlane([Cyclic()])).run("q")
    assert (result.outcome, result.tool_calls) == ("halted", ())
    assert "cyclic at before_tool: the modification cannot be applied" in result.stop_reason
    assert captured.one("control before_tool").status.status_code is StatusCode.ERROR
