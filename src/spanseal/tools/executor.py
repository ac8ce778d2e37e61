"""Runs tool calls behind their gates, with the fault rule, each in an ``execute_tool`` span. Imports telemetry.

The model's mistake is told to the model at once and never retried. The world's mistake is tried again silently, as
often as the tool allows, then told as an error observation. Whatever a tool raises becomes an observation: an agent
does not die of a tool. KeyboardInterrupt and CancelledError pass, and so does a UsageError: the application is at
fault then.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import inspect
from collections.abc import Awaitable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opentelemetry.trace import Span

from spanseal.effects import Effects
from spanseal.errors import ModelFaultError, ToolFaultError, UsageError
from spanseal.genai import semconv
from spanseal.genai.messages import ToolCall
from spanseal.genai.plain_json import digest
from spanseal.genai.state import ToolOutcome
from spanseal.telemetry.active import active
from spanseal.telemetry.content.attributes import set_content
from spanseal.telemetry.run_context import current_conversation
from spanseal.telemetry.spans.failure import fail
from spanseal.telemetry.spans.inner import open_span, tell
from spanseal.tools.flow import Flow, Wait, adrive, drive
from spanseal.tools.gates import failure, input_gate, output_gate, unknown_tool
from spanseal.tools.tool import Tool


@dataclass(frozen=True, slots=True)
class CallContext:
    """What a running tool may know about its call; see :func:`current_call`.

    ``idempotency_key`` is the same for every attempt of one call and differs between calls and runs: hand it to
    services that recognise repeated requests. ``attempt`` counts from 1.
    """

    call_id: str
    idempotency_key: str
    attempt: int


_current: contextvars.ContextVar[CallContext | None] = contextvars.ContextVar("spanseal_tool_call", default=None)


def current_call() -> CallContext | None:
    """The call that is running this code, None outside of a tool.

    >>> current_call() is None
    True
    """
    return _current.get()


class ToolExecutor:
    """The tools of one agent. Raises :class:`UsageError` for two tools of one name."""

    def __init__(self, tools: Sequence[Tool] = (), effects: Effects | None = None) -> None:
        self.tools: dict[str, Tool] = {}
        self._effects = effects
        for tool in tools:
            if not isinstance(tool, Tool):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
                raise UsageError(f"tools: {tool!r} is no Tool; decorate the function with @tool")
            if tool.name in self.tools:
                raise UsageError(f"tools: two tools are named {tool.name!r}; give one of them another name")
            self.tools[tool.name] = tool

    def execute(self, call: ToolCall, run_id: str = "") -> ToolOutcome:
        """Run one call; never raises for the tool's or the model's sake."""
        return drive(self.flow(call, run_id))

    async def aexecute(self, call: ToolCall, run_id: str = "") -> ToolOutcome:
        """The same, awaitable; sync tools run in a worker thread."""
        return await adrive(self.flow(call, run_id))

    def flow(self, call: ToolCall, run_id: str = "", offered: Collection[str] | None = None) -> Flow[ToolOutcome]:
        """The call as a flow for either driver; with ``offered``, other tools do not exist for it.

        A name that no tool has is the model's invention, hence content: span name and ``gen_ai.tool.name`` say
        ``_OTHER`` then, the observation and the status message name it.
        """
        tools = {key: each for key, each in self.tools.items() if offered is None or key in offered}
        tool = tools.get(call.name)
        name = semconv.TOOL_NAME_UNKNOWN if tool is None else tool.name
        with open_span(f"{semconv.OP_EXECUTE_TOOL} {name}") as span:
            tell(span, {
                semconv.OPERATION_NAME: semconv.OP_EXECUTE_TOOL, semconv.TOOL_NAME: name,
                semconv.TOOL_TYPE: "function", semconv.TOOL_CALL_ID: call.id,
            })
            if conversation := current_conversation():
                tell(span, {semconv.CONVERSATION_ID: conversation})
            set_content(span, semconv.TOOL_CALL_ARGUMENTS, call.arguments)
            if tool is None:
                outcome = ToolOutcome(call, unknown_tool(call.name, tools), "model", semconv.ERROR_UNKNOWN_TOOL)
            else:
                set_content(span, semconv.TOOL_DESCRIPTION, tool.description)
                outcome = yield from self._called(tool, call, run_id, span)
            _record(span, outcome)
            return outcome

    def _called(self, tool: Tool, call: ToolCall, run_id: str, span: Span) -> Flow[ToolOutcome]:
        try:
            arguments = input_gate(tool, call)
        except ModelFaultError as error:
            return ToolOutcome(call, str(error), "model", semconv.ERROR_INVALID_ARGUMENTS)
        key = digest([run_id, call.id, call.name, call.arguments])
        set_content(span, semconv.TOOL_IDEMPOTENCY_KEY, key)
        attempt, delay = 1, tool.retry_delay
        while True:
            try:
                result = yield _wait(tool, arguments, CallContext(call.id, key, attempt))
                if inspect.isawaitable(result):  # a plain function that hands out a coroutine
                    result = yield Wait(None, functools.partial(_whole, result))
                return ToolOutcome(call, output_gate(tool, result), attempts=attempt)
            except ModelFaultError as error:
                return ToolOutcome(call, str(error), "model", type(error).__name__, attempt)
            except UsageError:
                raise  # the application's fault is neither the model's nor the world's
            except Exception as error:  # noqa: BLE001 - whatever a tool raises becomes an observation
                last = attempt >= tool.attempts
                if last or not isinstance(error, (*tool.transient, ToolFaultError)):
                    return ToolOutcome(call, failure(tool, error, attempt), "world", type(error).__name__, attempt)
            if delay:
                yield self._pause(delay)
            attempt, delay = attempt + 1, delay * 2

    def _pause(self, seconds: float) -> Wait:
        clock = (self._effects or active().effects).clock
        return Wait(lambda: clock.sleep(seconds), lambda: asyncio.sleep(seconds))


def _wait(tool: Tool, arguments: Mapping[str, Any], context: CallContext) -> Wait:
    def run() -> Any:
        token = _current.set(context)
        try:
            return tool.call(**arguments)
        finally:
            _current.reset(token)

    async def arun() -> Any:
        token = _current.set(context)
        try:
            return await tool.call(**arguments)
        finally:
            _current.reset(token)

    return Wait(None, arun) if tool.is_async else Wait(run, None)


async def _whole(started: Awaitable[Any]) -> Any:
    return await started


def _record(span: Span, outcome: ToolOutcome) -> None:
    set_content(span, semconv.TOOL_CALL_RESULT, outcome.result)
    tell(span, {semconv.TOOL_ATTEMPTS: outcome.attempts})
    if not outcome.ok:
        tell(span, {semconv.TOOL_FAULT: outcome.fault})
        fail(span, outcome.error_type, outcome.result)
