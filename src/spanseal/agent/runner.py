"""Drives the step machine: carries out its commands, in spans, and hands back what came of them. Imports telemetry.

One flow serves the sync and the async driver. A provider's error ends the run as *failed*; any other exception, and
KeyboardInterrupt or CancelledError, passes unchanged through spans that are marked. Every span is handed on when it
ends, so a crash leaves the record up to the last step.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from opentelemetry.trace import Span

from spanseal.agent.commands import (
    Answered,
    AskGate,
    CallFailed,
    CallModel,
    Checked,
    Command,
    Decided,
    Event,
    Finish,
    RunChecks,
    ToolDone,
)
from spanseal.agent.loop import LoopConfig, LoopState, Move, advance, begin
from spanseal.agent.result import RunResult
from spanseal.control.gate import pass_gate
from spanseal.control.plane import ControlPlane
from spanseal.errors import ProviderError
from spanseal.genai import semconv
from spanseal.genai.chat_model import ChatModel
from spanseal.genai.messages import Message
from spanseal.genai.semconv_messages import messages_to_semconv
from spanseal.telemetry.active import active
from spanseal.telemetry.content.attributes import set_content
from spanseal.telemetry.guard import guarded
from spanseal.telemetry.run_context import attempt
from spanseal.telemetry.run_span import RunSpan, run_span
from spanseal.telemetry.spans.failure import fail
from spanseal.telemetry.spans.inner import open_span, tell
from spanseal.tools.executor import ToolExecutor
from spanseal.tools.flow import Flow, Wait
from spanseal.verification.pipeline import VerificationPipeline

SYSTEM = ("system", "developer")


@dataclass(frozen=True, slots=True)
class Runner:
    """Everything that one agent's runs share. ``answers`` are the user's checks."""

    name: str
    description: str
    model: ChatModel
    config: LoopConfig
    executor: ToolExecutor
    plane: ControlPlane
    answers: VerificationPipeline

    def flow(
        self, messages: tuple[Message, ...], conversation_id: str = "", metadata: Mapping[str, Any] | None = None
    ) -> Flow[RunResult]:
        """One run as a flow for either driver."""
        system = [message for message in messages if message.role in SYSTEM]
        opened = run_span(
            self.name, description=self.description, conversation_id=conversation_id,
            instructions=[part for turn in messages_to_semconv(system) for part in turn["parts"]],
            input_messages=messages_to_semconv([message for message in messages if message.role not in SYSTEM]),
            request=replace(self.config.base, tools=self.config.tools),
        )
        with opened as run:
            state, command = begin(self.config, messages, dict(metadata or {}))
            while not isinstance(command, Finish):
                state, command = yield from self._step(state, command, run.run_id)
            _close(run, state, command, {name or self.model.model for name in state.models})
        return RunResult(
            answer=command.answer, outcome=command.outcome, stop_reason=command.stop_reason, run_id=run.run_id,
            trace_id=run.trace_id, steps=state.model_steps, usage=state.agent.spending.usage, state=state.agent,
            error_type=command.error_type, escalation=command.escalation,
        )

    def _step(self, state: LoopState, command: Command, run_id: str) -> Flow[Move]:
        number = state.agent.step_number
        with open_span(semconv.SPAN_STEP) as span:
            tell(span, {semconv.STEP_NUMBER: number})
            while not isinstance(command, Finish) and state.agent.step_number == number:
                event = yield from self._carry_out(state, command, run_id)
                state, command = advance(self.config, state, event)
            _close_step(span, state, number, command)
        return state, command

    def _carry_out(self, state: LoopState, command: Command, run_id: str) -> Flow[Event]:
        match command:
            case AskGate(action):
                return Decided(pass_gate(self.plane, state.agent, action))
            case CallModel():
                return (yield from self._call_model(command))
            case RunChecks(kind, response, checks):
                pipeline = VerificationPipeline(checks, name="form") if kind == "form" else self.answers
                report = yield Wait(lambda: pipeline.run(response), lambda: pipeline.arun(response))
                return Checked(report)
            case Finish():
                raise ValueError("the run is over")
            case _:
                outcome = yield from self.executor.flow(command.call, run_id, command.offered)
                return ToolDone(outcome)

    def _call_model(self, command: CallModel) -> Flow[Event]:
        model, request = self.model, command.request
        try:
            with attempt(command.attempt):
                response = yield Wait(lambda: model.chat(request), lambda: model.achat(request))
        except ProviderError as error:
            return CallFailed(type(error).__name__, str(error))
        return Answered(response)


@guarded
def _close_step(span: Span, state: LoopState, number: int, command: Command) -> None:
    if isinstance(command, Finish) and command.error_type:
        fail(span, command.error_type, command.stop_reason)
    if span.is_recording() and active().capture == "full":
        at_end = replace(state.agent, step_number=number)
        set_content(span, semconv.STATE_DIGEST, at_end.digest())


def _close(run: RunSpan, state: LoopState, end: Finish, models: Collection[str]) -> None:
    """Set what the root tells; a reason in words may quote content, so without capture only its kind is told."""
    output, spent, last = None, state.agent.spending, state.agent.last_response
    reason = last.finish_reason if last else ""
    if end.outcome == "completed":
        turns = messages_to_semconv([Message("assistant", end.answer)])
        output = [turn | {"finish_reason": reason or "stop"} for turn in turns]
    words = end.stop_reason if active().capture == "full" else end.error_type or end.outcome
    run.finish(
        end.outcome, words, output_messages=output, usage=spent.reported, estimate=spent.guessed,
        error_type=end.error_type, message=end.stop_reason, model="".join(models) if len(models) == 1 else "",
        finish_reasons=(reason,) if reason else (),
    )
