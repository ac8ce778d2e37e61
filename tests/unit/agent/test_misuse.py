"""What a new user gets wrong is refused where it is given, in words; what a model writes never ends a run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, cast

import openai
import pytest

from spanseal.agent.build import VerifiableAgent
from spanseal.agent.result import RunResult
from spanseal.control.action import Action, FinalAnswer, Seam
from spanseal.control.plane import ControlPlane
from spanseal.control.policies.max_steps import MaxStepsPolicy
from spanseal.control.policies.token_budget import TokenBudgetPolicy
from spanseal.control.policies.tool_allow_list import ToolAllowListPolicy
from spanseal.control.policy import ControlPolicy, ControlResult
from spanseal.errors import UsageError
from spanseal.genai.messages import ChatRequest, Chunk, LLMResponse, Message, ToolCall, Usage
from spanseal.genai.state import AgentState
from spanseal.testing.capture_spans import capture_spans
from spanseal.testing.scripted_model import ScriptedModel
from spanseal.tools.executor import current_call
from spanseal.tools.tool import tool
from spanseal.verification.checks.forbidden_phrase import ForbiddenPhraseCheck
from spanseal.verification.checks.max_length import MaxLengthCheck
from spanseal.verification.checks.not_empty import NotEmptyCheck
from spanseal.verification.pipeline import VerificationPipeline

ANY: Any = cast("Any", None)


@tool
def half(number: float) -> float:
    """Half of a number."""
    return number / 2


@tool
def echo(text: str) -> str:
    """Say it again."""
    return text


def agent(*answers: Any, **options: Any) -> VerifiableAgent:
    return VerifiableAgent(ScriptedModel(answers), **options)


MISUSES: list[tuple[Callable[[], object], str]] = [
    (lambda: VerifiableAgent(ANY), "NoneType is no adapter"),
    (lambda: VerifiableAgent(cast("Any", openai.OpenAI(api_key="x"))), "OpenAI is no adapter"),
    (lambda: VerifiableAgent(cast("Any", ScriptedModel)), "ScriptedModel is no adapter"),
    (lambda: agent(verification=[NotEmptyCheck()]), "verification is a VerificationPipeline"),
    (lambda: agent(control=[MaxStepsPolicy()]), "control is a ControlPlane"),
    (lambda: agent(tools=half), "tools is a list"), (lambda: agent(tools="half"), "tools is a list"),
    (lambda: agent(tools=["half"]), "is no function"), (lambda: agent(protocol=5), "protocol is"),
    (lambda: agent(name=None), "name is a text"), (lambda: agent(instructions=None), "instructions is a text"),
    (lambda: agent(max_retries="many"), r"max_retries=…\): 'many'"), (lambda: agent(max_steps=None), "max_steps"),
    (lambda: agent("x").run([cast("Any", {"role": "user", "content": "x"})]), "item 0 is a dict"),
    (lambda: agent("x").run(ANY), "not NoneType"), (lambda: agent("x").run(" \n"), "empty"),
    (lambda: agent("x").run("q", metadata=cast("Any", [1])), "metadata is a mapping"),
    (lambda: VerificationPipeline(cast("Any", NotEmptyCheck())), "checks is a list"),
    (lambda: ControlPlane(cast("Any", MaxStepsPolicy())), "policies is a list"),
    (lambda: MaxStepsPolicy(cast("Any", "few")), "MaxStepsPolicy.*'few'"),
    (lambda: TokenBudgetPolicy(cast("Any", "few")), "TokenBudgetPolicy.*'few'"),
    (lambda: MaxLengthCheck(cast("Any", None)), "MaxLengthCheck.*None"),
    (lambda: ToolAllowListPolicy(ANY), "names is a list"), (lambda: ForbiddenPhraseCheck(ANY), "phrases is a list"),
    (lambda: ForbiddenPhraseCheck(cast("Any", [5])), "phrases is a list"),
]


@pytest.mark.parametrize(("misuse", "words"), MISUSES)
def test_a_misuse_is_refused_where_it_is_made(misuse: Callable[[], object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        misuse()


def test_one_message_and_one_stop_text_will_do() -> None:
    model = ScriptedModel(["391"])
    assert VerifiableAgent(model, stop="END").run(cast("Any", Message("user", "q"))).answer == "391"
    assert model.requests[0].stop == ("END",)


@pytest.mark.parametrize("arguments", [
    '{"number": 1e999}', '{"number": -1e999}', '{"number": NaN}', '{"number": "\\ud800"}', '{"\\ud800": 1}',
    '{"number": ' + "9" * 5000 + "}", "[" * 100_000, "\ud800", '{"number": 1, "number": 2}',
])
def test_no_arguments_of_a_model_end_the_run(arguments: str) -> None:
    for run in (_run, _arun):
        result = run(agent(ToolCall("c", "half", arguments), "done", tools=[half]))
        assert result.success
        assert result.tool_calls[0].fault == "model"


def test_a_lone_surrogate_goes_through_a_tool_and_back() -> None:
    result = agent(ToolCall("c", "echo", '{"text": "\\ud800"}'), "done", tools=[echo]).run("q")
    assert result.success
    assert result.tool_calls[0].result == "\ud800"


def test_calls_of_servers_that_count_anew_in_each_answer_are_different_calls() -> None:
    keys: list[str] = []

    @tool
    def remember() -> str:
        """Remember the key of the call."""
        call = current_call()
        assert call is not None
        keys.append(call.idempotency_key)
        return "ok"

    again = ToolCall("call_0", "remember", "{}")
    result = agent(again, again, again, "done", tools=[remember]).run("q")
    assert len(set(keys)) == 3
    ids = [call.id for message in result.messages for call in message.tool_calls]
    assert len(set(ids)) == 3


class Blank(ControlPolicy):
    seams: frozenset[Seam] = frozenset({"before_answer"})

    def decide(self, seam: Seam, state: AgentState, action: Action) -> ControlResult:
        assert isinstance(action, FinalAnswer)
        return self.modify("nothing to say", answer=" ")


def test_no_policy_makes_a_completed_run_without_an_answer() -> None:
    result = agent("391", control=ControlPlane([Blank()])).run("q")
    assert (result.outcome, result.answer) == ("halted", "")
    assert "without text" in result.stop_reason


def test_negative_counts_give_no_budget_back() -> None:
    counted = LLMResponse("", "m", usage=Usage(-1000, -1000))
    result = agent(counted, LLMResponse("391", "m", usage=Usage(5, 5))).run("q")
    assert result.success
    assert min(result.usage.input_tokens or 0, result.usage.output_tokens or 0) > 0


def _run(made: VerifiableAgent) -> RunResult:
    return made.run("q")


def _arun(made: VerifiableAgent) -> RunResult:
    return asyncio.run(made.arun("q"))


class Plain:
    """A model that follows the protocol without extending any class of ours."""

    provider, model = "own", "plain-1"

    def chat(self, request: ChatRequest) -> LLMResponse:
        return LLMResponse("391", request.model)

    async def achat(self, request: ChatRequest) -> LLMResponse:
        return self.chat(request)

    def chat_stream(self, request: ChatRequest) -> Iterator[Chunk]:
        yield Chunk("391", response=self.chat(request))

    async def achat_stream(self, request: ChatRequest) -> AsyncIterator[Chunk]:
        yield Chunk("391", response=self.chat(request))


def test_a_model_of_ones_own_class_has_its_spans_too() -> None:
    with capture_spans() as captured:
        for run in (_run, _arun):
            assert run(VerifiableAgent(Plain())).answer == "391"
    assert [span.name for span in captured.named("chat")] == ["chat plain-1"] * 2
