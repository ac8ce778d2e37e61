"""The agent that users make: a model, tools, checks and policies put together with good defaults.

The shortest useful agent::

    from spanseal import OpenAIAdapter, VerifiableAgent, tool

    @tool
    def add(a: int, b: int) -> int: ...

    print(VerifiableAgent(OpenAIAdapter(model="gpt-5"), tools=[add]).run("What is 2 + 3?").answer)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from spanseal.adapters.own_model import as_adapter
from spanseal.agent.form_checks import AnswerPresentCheck
from spanseal.agent.json_action import FINAL_ANSWER
from spanseal.agent.loop import LoopConfig
from spanseal.agent.memory import FullHistory, MemoryView
from spanseal.agent.protocols import ActionProtocol, EnforceSchema, JSONProtocol, NativeProtocol
from spanseal.agent.result import RunResult
from spanseal.agent.runner import Runner
from spanseal.control.plane import ControlPlane
from spanseal.effects import Effects
from spanseal.errors import UsageError
from spanseal.genai.chat_model import ChatModel
from spanseal.genai.messages import ChatRequest, Message, Text, ToolSpec, conversation
from spanseal.settings import Value
from spanseal.tools.executor import ToolExecutor
from spanseal.tools.flow import adrive, drive
from spanseal.tools.tool import Tool, tool
from spanseal.verification.pipeline import VerificationPipeline

ProtocolName = Literal["native", "json"]


class VerifiableAgent:
    """An agent whose every step is a span, every answer checked, every seam under control.

    ``tools`` are :class:`Tool` values or annotated functions. ``verification`` sees final answers
    (``verify="answers"``) or every response (``"all"``); that an answer has text is always checked. A refused
    response is asked again, with feedback, at most ``max_retries`` times a step. ``max_steps`` is a hard bound
    beneath all policies. ``protocol`` is ``native`` (the provider's tool calls) or ``json`` (one JSON action a
    turn, ``enforce_schema`` never, on_retry or always). ``temperature``, ``max_tokens``, ``seed``, ``stop`` and
    ``model`` hold for every call unless a policy changes them.

    >>> from spanseal.testing.scripted_model import ScriptedModel
    >>> VerifiableAgent(ScriptedModel(["It is 391."])).run("What is 17 * 23?").answer
    'It is 391.'

    Raises :class:`UsageError` for impossible arguments. An agent holds no state of a run: one may serve many
    threads and tasks.
    """

    def __init__(
        self, adapter: ChatModel, *, tools: Sequence[Tool | Callable[..., Any]] = (),
        verification: VerificationPipeline | None = None, control: ControlPlane | None = None,
        name: str = "agent", instructions: str = "", description: str = "",
        protocol: ProtocolName | ActionProtocol = "native", enforce_schema: EnforceSchema = "never",
        verify: Literal["answers", "all"] = "answers", max_retries: int = 2, max_steps: int = 20,
        model: str = "", temperature: float | None = None, max_tokens: int | None = None, seed: int | None = None,
        stop: Sequence[str] = (), memory: MemoryView | None = None, effects: Effects | None = None,
    ) -> None:
        _refuse_misfits(adapter, verification, control, tools)
        _refuse_other_than_texts(name=name, instructions=instructions, description=description, model=model)
        max_retries = Value(max_retries, "VerifiableAgent(max_retries=…)").at_least(0)
        max_steps = Value(max_steps, "VerifiableAgent(max_steps=…)").at_least(1)
        if verify not in ("answers", "all"):
            raise UsageError(f"VerifiableAgent: verify is 'answers' or 'all', not {verify!r}")
        executor = ToolExecutor([each if isinstance(each, Tool) else tool(each) for each in tools], effects)
        specs = tuple(each.spec for each in executor.tools.values())
        spoken = _protocol(protocol, specs, enforce_schema)
        base = ChatRequest(model, (), temperature=temperature, max_tokens=max_tokens, seed=seed,
                           stop=(stop,) if isinstance(stop, str) else tuple(stop))
        config = LoopConfig(base, specs, spoken, max_retries, max_steps, verify, memory or FullHistory())
        answers = (verification or VerificationPipeline(name="answer")).having(AnswerPresentCheck())
        self.name = name
        self._system = spoken.system(instructions, specs)
        self._runner = Runner(
            name, description, as_adapter(adapter), config, executor, control or ControlPlane(),
            answers,
        )

    def run(
        self, question: str | Sequence[Message], *, conversation_id: str = "",
        metadata: Mapping[str, Any] | None = None,
    ) -> RunResult:
        """Answer ``question`` (or go on from messages whose last one is the question).

        ``metadata`` is the application's own, for policies to read. Raises what the caller or a bug raised; what the
        model, its provider or a tool did wrong is in the result.
        """
        return drive(self._runner.flow(self._messages(question), conversation_id, _checked(metadata)))

    async def arun(
        self, question: str | Sequence[Message], *, conversation_id: str = "",
        metadata: Mapping[str, Any] | None = None,
    ) -> RunResult:
        """The same, awaitable; cancelling it stops at the next await and marks the spans."""
        return await adrive(self._runner.flow(self._messages(question), conversation_id, _checked(metadata)))

    def _messages(self, question: str | Sequence[Message]) -> tuple[Message, ...]:
        asked = conversation(question, "VerifiableAgent.run")
        parts = [part for message in asked for part in message.parts]
        if not any(not isinstance(part, Text) or part.content.strip() for part in parts):
            raise UsageError("VerifiableAgent.run: the question is empty")
        return (Message("system", self._system), *asked) if self._system else asked


def _refuse_misfits(adapter: object, verification: object, control: object, tools: object) -> None:
    if not isinstance(adapter, ChatModel) or isinstance(adapter, type):
        given = adapter.__name__ if isinstance(adapter, type) else type(adapter).__name__
        raise UsageError(f"VerifiableAgent: {given} is no adapter; give OpenAIAdapter(…), OllamaAdapter(…) or your own")
    if not isinstance(verification, VerificationPipeline | None):
        raise UsageError("VerifiableAgent: verification is a VerificationPipeline([…])")
    if not isinstance(control, ControlPlane | None):
        raise UsageError("VerifiableAgent: control is a ControlPlane([…])")
    if isinstance(tools, str) or not isinstance(tools, Sequence):
        raise UsageError(f"VerifiableAgent: tools is a list of tools or functions, not {type(tools).__name__}")


def _refuse_other_than_texts(**given: object) -> None:
    for argument, value in given.items():
        if not isinstance(value, str):
            raise UsageError(f"VerifiableAgent: {argument} is a text, not {type(value).__name__}")


def _checked(metadata: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if not isinstance(metadata, Mapping | None):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        raise UsageError(f"VerifiableAgent.run: metadata is a mapping, not {type(metadata).__name__}")
    return metadata


def _protocol(
    protocol: ProtocolName | ActionProtocol, tools: tuple[ToolSpec, ...], enforce_schema: EnforceSchema
) -> ActionProtocol:
    if enforce_schema not in ("never", "on_retry", "always"):
        raise UsageError(f"VerifiableAgent: enforce_schema is never, on_retry or always, not {enforce_schema!r}")
    if protocol == "json":
        if any(spec.name == FINAL_ANSWER for spec in tools):
            raise UsageError(f"VerifiableAgent: with the JSON protocol no tool can be named {FINAL_ANSWER!r}")
        return JSONProtocol(enforce_schema)
    if enforce_schema != "never":
        raise UsageError("VerifiableAgent: enforce_schema belongs to protocol='json'")
    if protocol == "native":
        return NativeProtocol()
    if not isinstance(protocol, ActionProtocol):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        raise UsageError(f"VerifiableAgent: protocol is 'native' or 'json', not {protocol!r}")
    return protocol
