"""Makes spans of every kind that we emit: six wire formats whole, streamed and failed, agents, tools, checks, gates.

Each scenario says which conditionally required attributes have their condition met, by kind of span.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from tests.unit.agent.support import broken, multiply
from tests.unit.conformance.wire import (
    TOOL,
    USER,
    answer,
    chat,
    client,
    refused,
    responses,
    rich_chat,
    rich_responses,
    streamed,
)
from tests.unit.telemetry.seams import bodies
from tests.unit.telemetry.wire_world import Answer, bare_client, whole

from spanseal.agent.build import VerifiableAgent
from spanseal.control.plane import ControlPlane
from spanseal.control.policies.max_steps import MaxStepsPolicy
from spanseal.errors import ProviderUnavailableError
from spanseal.genai.messages import LLMResponse, ToolCall, Usage
from spanseal.telemetry.active import activate, active
from spanseal.telemetry.capture.streams.open_calls import drain
from spanseal.telemetry.instrument import instrument
from spanseal.telemetry.run_span import run_span
from spanseal.telemetry.spans.tracer import tracer
from spanseal.testing import ScriptedModel
from spanseal.verification.check import VerificationCheck, VerificationResult
from spanseal.verification.checks.not_empty import NotEmptyCheck
from spanseal.verification.pipeline import VerificationPipeline

MODEL: Final = frozenset({"gen_ai.request.model", "server.port"})


@dataclass(frozen=True)
class Scenario:
    """``holds``: by kind of span, the attributes whose condition is met (of errors the span's status tells)."""

    name: str
    make: Callable[[], object]
    holds: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])


class Warns(VerificationCheck):
    """Fails as a warning."""

    severity = "warning"

    def check(self, response: LLMResponse) -> VerificationResult:
        return self.failed("too short")


class Breaks(VerificationCheck):
    """Is broken itself."""

    def check(self, response: LLMResponse) -> VerificationResult:
        raise OSError("no word list")


def _agent(*script: Any, **options: Any) -> VerifiableAgent:
    options.setdefault("verification", VerificationPipeline([NotEmptyCheck(), Warns()]))
    options.setdefault("control", ControlPlane([MaxStepsPolicy(3)]))
    return VerifiableAgent(ScriptedModel(script), tools=[multiply, broken], name="clerk", **options)


WISH = ToolCall("c1", "multiply", '{"a": 2, "b": 3}')
_IN_RUN = frozenset({"gen_ai.agent.name", "gen_ai.conversation.id"})
_AGENT: Final[Mapping[str, frozenset[str]]] = {
    "inference": frozenset({"gen_ai.request.model", "gen_ai.conversation.id"}), "execute_tool": _IN_RUN,
    "invoke_agent": _IN_RUN,
}


def _nested() -> None:
    with run_span("outer", description="asks", conversation_id="conv_1"), run_span("inner", description="x"):
        pass


def _cancelled() -> None:
    """A stream that is cancelled while it waits for more."""

    async def read() -> None:
        pieces = bodies.ANSWERS["/chat/completions"][1].splitlines(keepends=True)[:2]
        stalls = Answer(pieces=pieces, headers={"content-type": "text/event-stream"}, stall=True)
        made = instrument(bare_client("openai", [stalls], [], asynchronous=True))
        async for _ in await made.chat.completions.create(model="m", messages=USER, stream=True):
            pass

    async def main() -> None:
        task = asyncio.create_task(read())
        await asyncio.sleep(0.05)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    asyncio.run(main())


def _foreign_agent() -> None:
    """A root that is not ours: its manifest is a span of our own."""
    provider = active().provider
    assert provider is not None
    agent = {"gen_ai.operation.name": "invoke_agent"}
    with provider.get_tracer("other").start_as_current_span("invoke_agent", attributes=agent):
        tracer().start_span("step").end()


def _large_value() -> object:
    """A value over the size policy lies in spans of its own."""
    before = activate(replace(active(), max_value_bytes=1024))
    try:
        return chat(messages=[{"role": "user", "content": "x" * 5000}])
    finally:
        activate(before)


def _failing_model() -> object:
    return _agent(ProviderUnavailableError("down")).run("go", conversation_id="conv_1")


def _whole_run() -> object:
    """A run with everything that can be asked for."""
    used = Usage(9, 5, cache_read_tokens=4, cache_write_tokens=1, reasoning_tokens=2)
    said = LLMResponse("6", "m", 9, 5, finish_reason="stop", usage=used)
    agent = _agent(WISH, said, instructions="be brief", temperature=0.5, max_tokens=9, seed=1, stop=["END"])
    return agent.run("2 * 3?", conversation_id="conv_1")


def _with(kind: str, *more: str) -> Mapping[str, frozenset[str]]:
    return {kind: MODEL | set(more)}


def _ask_chat(made: Any) -> Any:
    return made.chat.completions.create(model="m", messages=USER)


def _ask_stream(made: Any) -> Any:
    return made.chat.completions.create(model="m", messages=USER, stream=True, stream_options={"include_usage": True})


_OPENAI, _OLLAMA = "inference of openai", "inference"
_ASKED = (
    "gen_ai.output.type", "gen_ai.request.choice.count", "gen_ai.request.seed", "gen_ai.request.top_k",
    "openai.request.service_tier", "openai.response.service_tier",
)
_RESPONSES = (
    "gen_ai.output.type", "gen_ai.conversation.id", "gen_ai.prompt.name", "gen_ai.prompt.version",
    "openai.request.service_tier", "openai.response.service_tier",
)
_OPTIONS: dict[str, Any] = {
    "num_predict": 5, "seed": 1, "top_k": 3, "temperature": 0.1, "top_p": 0.9, "stop": ["END"],
    "frequency_penalty": 0.1, "presence_penalty": 0.2,
}
SCENARIOS: Final = (
    Scenario("chat", lambda: chat(), _with(_OPENAI, "openai.response.service_tier")),
    Scenario("chat, everything asked", rich_chat, _with(_OPENAI, *_ASKED)),
    Scenario(
        "chat, streamed", streamed("openai", _ask_stream, "/chat/completions"), _with(_OPENAI, "gen_ai.request.stream")
    ),
    Scenario("chat, cancelled", _cancelled, _with(_OPENAI, "gen_ai.request.stream")),
    Scenario("large value", _large_value, _with(_OPENAI, "openai.response.service_tier")),
    Scenario("foreign agent", _foreign_agent),
    Scenario("chat, refused", refused("openai", _ask_chat, Answer(status=429, body={"error": {}})), _with(_OPENAI)),
    Scenario("chat, no server", refused("openai", _ask_chat, Answer(refuse=OSError("no route"))), _with(_OPENAI)),
    Scenario("responses", responses, _with(_OPENAI, "openai.response.service_tier")),
    Scenario("responses, everything asked", rich_responses, _with(_OPENAI, *_RESPONSES)),
    Scenario(
        "responses, streamed",
        streamed("openai", lambda made: made.responses.create(model="m", input="hi", stream=True), "/responses"),
        _with(_OPENAI, "gen_ai.request.stream"),
    ),
    Scenario(
        "embeddings",
        lambda: client("openai", answer("/v1/embeddings")).embeddings.create(model="m", input="a", dimensions=2),
        _with("embeddings"),
    ),
    Scenario(
        "embeddings, refused",
        refused("openai", lambda made: made.embeddings.create(model="m", input="a"), Answer(status=500, body={})),
        _with("embeddings"),
    ),
    Scenario("ollama chat", lambda: client("ollama", whole("ollama", prompt_eval_count=3, eval_count=2)).chat(
        "m", USER, options=_OPTIONS, format="json", tools=[TOOL], think="low"
    ), _with(_OLLAMA, "gen_ai.output.type", "gen_ai.request.seed", "gen_ai.request.top_k")),
    Scenario(
        "ollama chat, streamed", streamed("ollama", lambda made: made.chat("m", USER, stream=True), "/api/chat"),
        _with(_OLLAMA, "gen_ai.request.stream"),
    ),
    Scenario(
        "ollama generate",
        lambda: client("ollama", Answer(body={"model": "m", "response": "x", "done": True})).generate(
            "m", "hi", system="be brief", images=["AAAA"], options=_OPTIONS
        ),
        _with(_OLLAMA, "gen_ai.request.seed", "gen_ai.request.top_k"),
    ),
    Scenario(
        "ollama embed", lambda: client("ollama", answer("/api/embed")).embed("m", "a", dimensions=2),
        _with("embeddings"),
    ),
    Scenario("agent", _whole_run, {
        **_AGENT, "inference": _AGENT["inference"] | {"gen_ai.request.seed"},
        "invoke_agent": _AGENT["invoke_agent"] | {"gen_ai.request.seed"},
    }),
    Scenario(
        "agent whose tool fails",
        lambda: _agent(ToolCall("c1", "broken", "{}"), ToolCall("c2", "nothing", "{}"), "no").run(
            "print", conversation_id="conv_1"
        ),
        _AGENT,
    ),
    Scenario(
        "agent that is halted", lambda: _agent(WISH, WISH, WISH, WISH, WISH).run("go", conversation_id="conv_1"), _AGENT
    ),
    Scenario("agent whose model fails", _failing_model, _AGENT),
    Scenario("nested runs", _nested, {"invoke_agent": _IN_RUN | {"gen_ai.agent.description"}}),
    Scenario("broken check", lambda: VerificationPipeline([Breaks()]).run(LLMResponse("x", "m", response_id="r1"))),
)


def produced(scenario: Scenario) -> None:
    """Run it to its last span."""
    scenario.make()
    drain(5.0)
