"""The faults of the framework that this one grew from, each by name: none may come back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.unit.agent.support import (
    Recorder,
    TinyModel,
    attributes,
    broken,
    call,
    is_error,
    multiply,
    parent_of,
    recorded,
)

from spanseal.agent.build import VerifiableAgent
from spanseal.agent.result import RunResult
from spanseal.control.plane import ControlPlane
from spanseal.control.policies.max_steps import MaxStepsPolicy
from spanseal.control.policies.token_budget import TokenBudgetPolicy
from spanseal.control.policies.tool_allow_list import ToolAllowListPolicy
from spanseal.control.policy import ControlPolicy, ControlResult
from spanseal.demo.calculator import CalculatorError, calculate
from spanseal.errors import ProviderUnavailableError
from spanseal.genai import semconv
from spanseal.genai.messages import ChatRequest, LLMResponse, ToolResult
from spanseal.genai.state import AgentState
from spanseal.verification.checks.max_length import MaxLengthCheck
from spanseal.verification.checks.valid_json import ValidJSONCheck
from spanseal.verification.pipeline import VerificationPipeline


def test_original_fault_answer_without_text_counted_as_success() -> None:
    result = VerifiableAgent(TinyModel("", "  ", "\n"), max_retries=2).run("?")
    assert (result.outcome, result.success) == ("failed", False)
    assert "answer_present" in result.stop_reason


def test_original_fault_empty_answer_is_retried_first() -> None:
    model = TinyModel("", "391")
    assert VerifiableAgent(model).run("?").answer == "391"
    assert [message.role for message in model.requests[1].messages] == ["user", "user"]


@pytest.mark.parametrize("allowed", [1, 2, 3])
def test_original_fault_step_count_off_by_one(allowed: int) -> None:
    model = TinyModel(*[call("multiply", a=1, b=1)] * 9)
    agent = VerifiableAgent(model, tools=[multiply], control=ControlPlane([MaxStepsPolicy(allowed)]))
    result = agent.run("?")
    assert (result.outcome, result.steps, len(model.requests)) == ("halted", allowed, allowed)
    assert result.stop_reason == f"max_steps at before_model: all {allowed} steps are used"


def test_original_fault_failed_tool_shown_as_success() -> None:
    with recorded() as spans:
        result = VerifiableAgent(TinyModel(call("broken"), "sorry"), tools=[broken]).run("?")
    (outcome,) = result.tool_calls
    assert (outcome.fault, outcome.error_type) == ("world", "RuntimeError")
    assert json.loads(outcome.result)["error"] == {
        "tool": "broken", "type": "RuntimeError", "message": "no paper", "attempts": 1
    }
    assert result.messages[2].parts[0] == ToolResult("c1", outcome.result, "broken")
    assert is_error(spans.one("execute_tool broken"))
    assert result.success


def test_original_fault_halted_runs_shown_ok() -> None:
    with recorded() as spans:
        VerifiableAgent(TinyModel("x"), control=ControlPlane([TokenBudgetPolicy(1)])).run("?")
    assert is_error(spans.one("invoke_agent agent"))
    assert is_error(spans.one("control before_model"))
    assert is_error(spans.one("step"))


def test_original_fault_the_budget_sees_no_retry() -> None:
    long = LLMResponse("no json", "tiny", 400, 100)
    model = TinyModel(long, long, long)
    agent = VerifiableAgent(
        model, verification=VerificationPipeline([ValidJSONCheck()]),
        control=ControlPlane([TokenBudgetPolicy(1200, answer_reserve=50)]), max_retries=5,
    )
    result = agent.run("?")
    assert (result.outcome, len(model.requests)) == ("halted", 3)
    assert result.state.total_tokens == 1500


def test_original_fault_a_warning_fails_the_step() -> None:
    pipeline = VerificationPipeline([MaxLengthCheck(1, severity="warning")])
    result = VerifiableAgent(TinyModel("long"), verification=pipeline).run("?")
    assert result.answer == "long"


def test_original_fault_a_json_list_crashes_the_loop() -> None:
    model = TinyModel("[1, 2]", '{"action": "final_answer", "input": {"answer": "ok"}}')
    result = VerifiableAgent(model, tools=[multiply], protocol="json").run("?")
    assert result.answer == "ok"
    assert "it is a JSON array; expected is one JSON object" in model.requests[1].messages[-1].text
    listed = VerifiableAgent(TinyModel("[1, 2]"), verification=VerificationPipeline([ValidJSONCheck()])).run("?")
    assert listed.answer == "[1, 2]"


def test_original_fault_asyncio_mixes_up_parents() -> None:
    class Echo(TinyModel):
        async def achat(self, request: Any) -> LLMResponse:
            await asyncio.sleep(0)
            return LLMResponse(request.messages[-1].text, "tiny")

    async def all_at_once() -> list[RunResult]:
        agent = VerifiableAgent(Echo())
        return list(await asyncio.gather(*(agent.arun(str(n)) for n in range(20))))

    with recorded() as spans:
        results = asyncio.run(all_at_once())
    assert [result.answer for result in results] == [str(n) for n in range(20)]
    check_parents(spans, results)


def check_parents(spans: Recorder, results: Sequence[RunResult]) -> None:
    steps = spans.all("step")
    assert all(parent_of(step, spans.spans) == "invoke_agent agent" for step in steps)
    assert len({step.context.trace_id for step in steps if step.context is not None}) == len(results)
    assert len({result.run_id for result in results}) == len(results)


def test_original_fault_threads_mix_up_parents() -> None:
    class Echo(TinyModel):
        def chat(self, request: ChatRequest) -> LLMResponse:
            return LLMResponse(request.messages[-1].text, "tiny")

    agent = VerifiableAgent(Echo())
    with recorded() as spans, ThreadPoolExecutor(8) as pool:
        results = list(pool.map(agent.run, map(str, range(20))))
    assert [result.answer for result in results] == [str(n) for n in range(20)]
    check_parents(spans, results)


def test_original_fault_ids_that_are_no_w3c_ids() -> None:
    with recorded() as spans:
        result = VerifiableAgent(TinyModel("x")).run("?")
    (context,) = [span.context for span in spans.all("invoke_agent agent")]
    assert context is not None
    assert result.trace_id == f"{context.trace_id:032x}"
    assert len(result.run_id) == 32


def test_original_fault_an_http_error_ends_the_run_without_a_record() -> None:
    with recorded() as spans:
        result = VerifiableAgent(TinyModel(ProviderUnavailableError("connection refused"))).run("?")
    assert result.error == "the model call failed: ProviderUnavailableError: connection refused"
    assert attributes(spans.one("invoke_agent agent"))[semconv.RUN_OUTCOME] == "failed"


def test_original_fault_failed_runs_shown_ok() -> None:
    with recorded() as spans:
        VerifiableAgent(TinyModel(""), max_retries=0).run("?")
    for name in ("invoke_agent agent", "step", "verification answer"):
        assert is_error(spans.one(name))


def test_original_fault_modify_does_nothing() -> None:
    class Cool(ControlPolicy):
        def evaluate(self, state: AgentState) -> ControlResult:
            return self.modify("calm down", temperature=0.1)

    model = TinyModel("x")
    VerifiableAgent(model, temperature=0.9, control=ControlPlane([Cool()])).run("?")
    assert model.requests[0].temperature == 0.1


def test_original_fault_escalate_does_nothing() -> None:
    class Ask(ControlPolicy):
        def evaluate(self, state: AgentState) -> ControlResult:
            return self.escalate("a person must see this")

    model = TinyModel("x")
    result = VerifiableAgent(model, control=ControlPlane([Ask()])).run("?")
    assert (result.outcome, model.requests) == ("escalated", [])


def test_original_fault_tools_run_ungated() -> None:
    ran: list[str] = []

    def erase() -> str:
        ran.append("erased")
        return "done"

    policy = ToolAllowListPolicy(["multiply"])
    result = VerifiableAgent(TinyModel(call("erase")), tools=[erase], control=ControlPlane([policy])).run("?")
    assert (result.outcome, ran) == ("halted", [])


def test_original_fault_the_calculator_evaluates_code() -> None:
    with pytest.raises(CalculatorError):
        calculate("__import__('os').getpid()")
