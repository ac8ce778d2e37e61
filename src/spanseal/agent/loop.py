"""The step machine of an agent: from a state and an event to the next state and command. Pure, no effect inside.

Per step: control(before_model) → model → control(after_model) → form check (JSON protocol) → per tool call:
control(before_tool) → tool behind its gates → control(after_tool); or, for a final answer: checks →
control(before_answer) → the end. A refused response is retried in the same step, through the same seams, with
feedback, at most ``max_retries`` times. The run ends after ``max_steps`` steps whatever the model and the policies do.

The user's checks see final answers (``verify="answers"``) or every response (``"all"``); that an answer has text is
always checked first. The history keeps refused answers too.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from spanseal.agent.commands import (
    Answered,
    AskGate,
    CallFailed,
    CallModel,
    Checked,
    Command,
    Decided,
    Escalation,
    Event,
    Finish,
    RunChecks,
    RunTool,
    ToolDone,
)
from spanseal.agent.memory import FullHistory, MemoryView
from spanseal.agent.protocols import ActionProtocol, NativeProtocol, Reading, possible_tools
from spanseal.agent.turns import numbered, parsed_arguments, refused_turns
from spanseal.control.action import FinalAnswer, ModelAnswer, ModelCall, ToolAnswer, ToolUse, action_digest
from spanseal.control.plane import PlaneDecision
from spanseal.control.policy import ControlDecision
from spanseal.genai import semconv
from spanseal.genai.messages import ChatRequest, LLMResponse, Message, ToolSpec
from spanseal.genai.state import AgentState
from spanseal.verification.check import VerificationReport

NOTHING = Reading()


@dataclass(frozen=True, slots=True)
class LoopConfig:
    """What does not change during a run. ``base`` carries model and options of every request."""

    base: ChatRequest
    tools: tuple[ToolSpec, ...] = ()
    protocol: ActionProtocol = field(default_factory=NativeProtocol)
    max_retries: int = 2
    max_steps: int = 20
    verify: Literal["answers", "all"] = "answers"
    memory: MemoryView = field(default_factory=FullHistory)


@dataclass(frozen=True, slots=True)
class LoopState:
    """The agent's state and where in the step the machine is; ``waiting`` is the command not yet answered.

    ``allowed`` is the request as control let it pass: the tools that this call offers are those in it.
    ``model_steps`` counts steps in which the model was asked: a step that control stops before that is none.
    ``models`` are those that requests named so far, "" the adapter's own.
    """

    agent: AgentState
    waiting: Command
    attempt: int = 1
    model_steps: int = 0
    allowed: ChatRequest | None = None
    response: LLMResponse | None = None
    reading: Reading = NOTHING
    models: frozenset[str] = frozenset()


Move: TypeAlias = tuple[LoopState, Command]


def begin(config: LoopConfig, messages: tuple[Message, ...], metadata: dict[str, Any] | None = None) -> Move:
    """The first state and command of a run with this history."""
    agent = AgentState(messages=messages, metadata=metadata or {})
    return _open_step(config, LoopState(agent, Finish("failed", "not begun")))


def advance(config: LoopConfig, state: LoopState, event: Event) -> Move:
    """The next state and command. Raises ValueError for an event that does not answer ``state.waiting``."""
    match state.waiting, event:
        case AskGate(), Decided(decision):
            return _decided(config, state, decision)
        case CallModel(request=request), Answered(response):
            return _answered(state, request, response)
        case CallModel(), CallFailed(error_type, message):
            return _ask(state, Finish("failed", f"the model call failed: {error_type}: {message}", error_type))
        case RunChecks(kind=kind), Checked(report):
            return _checked(config, state, kind, report)
        case RunTool(), ToolDone(outcome):
            agent = replace(state.agent, tool_calls=(*state.agent.tool_calls, outcome), spending=replace(
                state.agent.spending, tool_calls=state.agent.spending.tool_calls + 1))
            answer = ToolAnswer(outcome.call, outcome.result, outcome.fault)
            return _ask(replace(state, agent=agent), AskGate(answer))
        case _:
            raise ValueError(f"{type(event).__name__} does not answer {type(state.waiting).__name__}")


def _ask(state: LoopState, command: Command) -> Move:
    return replace(state, waiting=command), command


def _open_step(config: LoopConfig, state: LoopState) -> Move:
    if state.agent.step_number >= config.max_steps:
        reason = f"the hard bound of {config.max_steps} steps is reached"
        return _ask(state, Finish("halted", reason, semconv.ERROR_STEP_LIMIT))
    return _ask_model(config, replace(state, agent=state.agent.next_step(), attempt=1))


def _ask_model(config: LoopConfig, state: LoopState) -> Move:
    request = replace(config.base, messages=config.memory.view(state.agent.messages), tools=config.tools)
    return _ask(state, AskGate(ModelCall(request, state.attempt)))


def _decided(config: LoopConfig, state: LoopState, decision: PlaneDecision) -> Move:
    if not decision.goes_on:
        return _stopped(state, decision)
    match decision.action:
        case ModelCall(request=request):
            sent = config.protocol.sent(request, state.attempt)
            agent = replace(state.agent, spending=state.agent.spending.reserving(sent))
            asked = state.models | {sent.model}
            state = replace(state, agent=agent, model_steps=agent.step_number, allowed=request, models=asked)
            return _ask(state, CallModel(sent, state.attempt))
        case ModelAnswer(response=response):
            return _check_form(config, state, numbered(response, state.agent.step_number, state.agent.messages))
        case ToolUse(call=call):
            offered = possible_tools(state.allowed) if state.allowed else ()
            return _ask(state, RunTool(call, tuple(tool.name for tool in offered)))
        case ToolAnswer(call=call, result=result):
            agent = state.agent.adding(config.protocol.observed(call, result))
            return _next_call(config, replace(state, agent=replace(agent, pending=agent.pending[1:])))
        case FinalAnswer(answer=answer):
            return _ask(state, Finish("completed", "answered", answer=answer))


def _stopped(state: LoopState, decision: PlaneDecision) -> Move:
    reason = f"{decision.policy} at {decision.seam}: {decision.reason}"
    if decision.decision is ControlDecision.HALT:
        return _ask(state, Finish("halted", reason, semconv.ERROR_HALTED))
    digest = action_digest(decision.action)
    held = Escalation(decision.seam, decision.action.to_json(), digest, decision.policy, decision.reason)
    return _ask(state, Finish("escalated", reason, escalation=held))


def _answered(state: LoopState, request: ChatRequest, response: LLMResponse) -> Move:
    spending = state.agent.spending.with_answer(response, request.messages)
    response = numbered(response, state.agent.step_number, state.agent.messages)
    agent = replace(state.agent, last_response=response, spending=spending)
    return _ask(replace(state, agent=agent), AskGate(ModelAnswer(response)))


def _check_form(config: LoopConfig, state: LoopState, response: LLMResponse) -> Move:
    state = replace(state, response=response, agent=replace(state.agent, last_response=response))
    checks = config.protocol.checks(state.allowed or config.base)
    if checks:
        return _ask(state, RunChecks("form", response, checks))
    return _read(config, state, response)


def _read(config: LoopConfig, state: LoopState, response: LLMResponse) -> Move:
    reading = config.protocol.read(response, state.agent.step_number)
    state = replace(state, reading=reading)
    if not reading.calls:
        return _ask(state, RunChecks("answer", replace(response, text=reading.answer)))
    if config.verify == "all":
        return _ask(state, RunChecks("answer", response))
    return _accepted(config, state, response)


def _checked(config: LoopConfig, state: LoopState, kind: str, report: VerificationReport) -> Move:
    response = state.response
    assert response is not None
    if not report.passed:
        return _refused(config, state, response, report)
    return _read(config, state, response) if kind == "form" else _accepted(config, state, response)


def _accepted(config: LoopConfig, state: LoopState, response: LLMResponse) -> Move:
    agent = state.agent.adding(config.protocol.asked(response))
    state = replace(state, agent=replace(agent, pending=state.reading.calls))
    if state.reading.calls:
        return _next_call(config, state)
    return _ask(state, AskGate(FinalAnswer(state.reading.answer)))


def _next_call(config: LoopConfig, state: LoopState) -> Move:
    if not state.agent.pending:
        return _open_step(config, state)
    call = state.agent.pending[0]
    return _ask(state, AskGate(ToolUse(call, parsed_arguments(call))))


def _refused(config: LoopConfig, state: LoopState, response: LLMResponse, report: VerificationReport) -> Move:
    spending = state.agent.spending
    spending = replace(spending, refused_answers=spending.refused_answers + 1)
    last = state.attempt > config.max_retries
    turns = refused_turns(config.protocol.asked(response), "" if last else report.feedback())
    agent = replace(state.agent.adding(*turns), spending=spending)
    state = replace(state, agent=agent)
    if last:
        tries = f"{state.attempt} attempts" if state.attempt > 1 else "1 attempt"
        reason = f"no acceptable answer in {tries}: {report.reason}"
        return _ask(state, Finish("failed", reason, semconv.ERROR_VERIFICATION_FAILED))
    return _ask_model(config, replace(state, attempt=state.attempt + 1))
