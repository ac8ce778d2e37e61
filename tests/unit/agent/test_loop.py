"""The pure machine: it always ends within its bound, whatever the model, the policies and the tools do."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanseal.agent.commands import (
    Answered,
    AskGate,
    CallFailed,
    CallModel,
    Checked,
    Decided,
    Event,
    Finish,
    RunChecks,
    RunTool,
    ToolDone,
)
from spanseal.agent.loop import LoopConfig, LoopState, advance, begin
from spanseal.agent.protocols import JSONProtocol, NativeProtocol
from spanseal.control.plane import PlaneDecision
from spanseal.control.policy import ControlDecision
from spanseal.genai.messages import ChatRequest, LLMResponse, Message, ToolCall, ToolResult, ToolSpec, Usage
from spanseal.genai.state import ToolOutcome
from spanseal.verification.check import VerificationReport, VerificationResult

QUESTION = (Message("user", "?"),)
BASE = ChatRequest("m", ())
FAILED = VerificationReport((VerificationResult(False, "check", "no"),))

calls = st.builds(ToolCall, st.sampled_from(["", "a", "b"]), st.sampled_from(["add", "nope"]),
                  st.sampled_from(["{}", "[", '{"a": 1}', ""]))
texts = st.sampled_from([
    "", "x", "[1]", '{"action": "add", "input": {}}', '{"action": "final_answer", "input": {"answer": "x"}}',
])
responses = st.builds(
    LLMResponse, texts, st.just("m"), tool_calls=st.lists(calls, max_size=3).map(tuple),
    usage=st.builds(Usage, st.none() | st.integers(0, 9), st.none() | st.integers(0, 9)),
)
configs = st.builds(
    LoopConfig, st.just(BASE), st.just((ToolSpec("add"),)),
    st.sampled_from([NativeProtocol(), JSONProtocol("on_retry")]),
    max_retries=st.integers(0, 3), max_steps=st.integers(1, 4), verify=st.sampled_from(["answers", "all"]),
)


@st.composite
def events(draw: st.DrawFn, state: LoopState) -> Event:
    """Anything that may answer the machine's command, the bad more often than in life."""
    match state.waiting:
        case AskGate(action):
            rare = [ControlDecision.HALT, ControlDecision.ESCALATE]
            stop = draw(st.sampled_from([ControlDecision.ALLOW] * 30 + rare))
            return Decided(PlaneDecision(stop, action.seam, action, "p", "r"))
        case CallModel():
            return draw(st.one_of(*[st.builds(Answered, responses)] * 20, st.just(CallFailed("Error", "down"))))
        case RunChecks(response=response):
            return Checked(FAILED if not response.text or draw(st.booleans()) else form_verdict(state, response))
        case RunTool(call):
            fault = draw(st.sampled_from(["", "model", "world"]))
            return ToolDone(ToolOutcome(call, "r", fault))
        case Finish():
            raise AssertionError("over")


def form_verdict(state: LoopState, response: LLMResponse) -> VerificationReport:
    if isinstance(state.waiting, RunChecks) and state.waiting.kind == "form":
        return VerificationReport(tuple(check.check(response) for check in state.waiting.checks))
    return VerificationReport()


@given(configs, st.data())
def test_the_machine_always_ends_within_its_bound(config: LoopConfig, data: st.DataObject) -> None:
    state, command = begin(config, QUESTION)
    bound = config.max_steps * ((config.max_retries + 1) * 5 + 3 * 3) + 1
    model_calls, moves, seen = 0, 0, state.agent
    while not isinstance(command, Finish):
        event = data.draw(events(state))
        model_calls += isinstance(event, Answered | CallFailed)
        state, command = advance(config, state, event)
        moves += 1
        assert moves <= bound
        assert state.agent.messages[:len(seen.messages)] == seen.messages, "the history only grows"
        assert state.agent.tool_calls[:len(seen.tool_calls)] == seen.tool_calls
        assert state.agent.step_number - seen.step_number in (0, 1)
        seen = state.agent
    assert model_calls <= config.max_steps * (config.max_retries + 1)
    assert state.model_steps <= config.max_steps
    assert (command.outcome == "completed") == bool(command.answer.strip())
    if command.outcome == "completed":
        check_every_wish_has_its_result(state)


def check_every_wish_has_its_result(state: LoopState) -> None:
    open_ids: list[str] = []
    for message in state.agent.messages:
        for part in message.parts:
            if isinstance(part, ToolCall):
                open_ids.append(part.id)
            elif isinstance(part, ToolResult):
                assert part.id in open_ids
                open_ids.remove(part.id)
    assert not open_ids


def test_an_event_that_answers_nothing_is_refused() -> None:
    state, _ = begin(LoopConfig(BASE), QUESTION)
    with pytest.raises(ValueError, match="Answered does not answer AskGate"):
        advance(LoopConfig(BASE), state, Answered(LLMResponse("x", "m")))


def test_missing_counts_are_estimated_and_marked() -> None:
    state, command = begin(LoopConfig(BASE), (Message("user", "x" * 40),))
    assert isinstance(command, AskGate)
    allowed = PlaneDecision(ControlDecision.ALLOW, "before_model", command.action)
    state, _ = advance(LoopConfig(BASE), state, Decided(allowed))
    state, _ = advance(LoopConfig(BASE), state, Answered(LLMResponse("y" * 8, "m")))
    assert (state.agent.spending.input_tokens, state.agent.spending.output_tokens) == (14, 6)
    assert state.agent.spending.usage.estimated
