"""Whole runs through the real loop: outcomes, spans, and the faults that must not come back."""

from __future__ import annotations

import asyncio
import json
from typing import Any, Literal

import pytest
from tests.unit.agent.support import TinyModel, attributes, broken, call, is_error, multiply, parent_of, recorded

from spanseal.agent.build import VerifiableAgent
from spanseal.agent.result import RunResult
from spanseal.control.action import Action, ModelCall, Seam
from spanseal.control.plane import ControlPlane
from spanseal.control.policies.tool_first import ToolFirstPolicy
from spanseal.control.policy import ControlPolicy, ControlResult
from spanseal.errors import ProviderTimeoutError, UsageError
from spanseal.genai import semconv
from spanseal.genai.messages import LLMResponse, Message
from spanseal.genai.state import AgentState
from spanseal.tools.tool import Tool
from spanseal.verification.checks.max_length import MaxLengthCheck
from spanseal.verification.checks.not_empty import NotEmptyCheck
from spanseal.verification.checks.valid_json import ValidJSONCheck
from spanseal.verification.pipeline import VerificationPipeline

Mode = Literal["sync", "async"]
both = pytest.mark.parametrize("mode", ["sync", "async"])


def run(agent: VerifiableAgent, question: str, mode: Mode = "sync", **options: Any) -> RunResult:
    if mode == "sync":
        return agent.run(question, **options)
    return asyncio.run(agent.arun(question, **options))


@both
def test_a_tool_call_and_an_answer(mode: Mode) -> None:
    model = TinyModel(call("multiply", a=17, b=23), "It is 391.")
    with recorded() as spans:
        result = run(VerifiableAgent(model, tools=[multiply], name="calculator"), "What is 17 * 23?", mode)
    assert (result.answer, result.outcome, result.steps, result.success) == ("It is 391.", "completed", 2, True)
    assert [(each.name, each.result, each.ok) for each in result.tool_calls] == [("multiply", "391", True)]
    assert (result.usage.input_tokens, result.usage.output_tokens) == (20, 10)
    assert [message.role for message in result.messages] == ["user", "assistant", "tool", "assistant"]
    assert model.requests[1].messages == result.messages[:3]
    assert spans.names == [
        "invoke_agent calculator", "step", "control before_model", "chat tiny", "control after_model",
        "control before_tool", "execute_tool multiply", "control after_tool", "step", "control before_model",
        "chat tiny", "control after_model", "verification answer", "control before_answer",
    ]
    root = spans.one("invoke_agent calculator")
    assert not is_error(root)
    assert attributes(root)[semconv.RUN_OUTCOME] == "completed"
    assert result.run_id
    for span in spans.spans:
        expected = {"invoke_agent calculator": "", "step": "invoke_agent calculator"}.get(span.name, "step")
        assert parent_of(span, spans.spans) == expected


@both
def test_a_refused_answer_is_asked_again_with_feedback_that_names_the_fault(mode: Mode) -> None:
    model = TinyModel("far too long an answer", "short")
    pipeline = VerificationPipeline([MaxLengthCheck(10)], name="house rules")
    with recorded() as spans:
        result = run(VerifiableAgent(model, verification=pipeline), "?", mode)
    assert (result.answer, result.steps) == ("short", 1)
    assert result.state.spending.refused_answers == 1
    feedback = model.requests[1].messages[-1]
    assert feedback.role == "user"
    assert "max_length: the answer has 22 characters; expected are at most 10" in feedback.text
    assert [is_error(span) for span in spans.all("verification house rules")] == [True, False]
    assert not is_error(spans.one("invoke_agent agent"))


@both
def test_exhausted_retries_fail_the_run_and_its_spans(mode: Mode) -> None:
    model = TinyModel("a", "b", "c")
    with recorded() as spans:
        result = run(VerifiableAgent(model, verification=VerificationPipeline([ValidJSONCheck()])), "?", mode)
    assert (result.outcome, result.answer, result.success) == ("failed", "", False)
    assert result.error_type == "verification_failed"
    assert "3 attempts: valid_json" in result.error
    assert is_error(spans.one("invoke_agent agent"))
    assert is_error(spans.one("step"))
    assert len(model.requests) == 3


@both
def test_a_provider_error_ends_the_run_as_failed_with_a_record(mode: Mode) -> None:
    model = TinyModel(ProviderTimeoutError("no answer in 30 s"))
    with recorded() as spans:
        result = run(VerifiableAgent(model), "?", mode)
    assert (result.outcome, result.error_type) == ("failed", "ProviderTimeoutError")
    assert "no answer in 30 s" in result.error
    root = spans.one("invoke_agent agent")
    assert is_error(root)
    assert attributes(root)[semconv.ERROR_TYPE] == "ProviderTimeoutError"


@both
@pytest.mark.parametrize("error", [KeyboardInterrupt(), ZeroDivisionError("a bug"), asyncio.CancelledError()])
def test_foreign_exceptions_pass_unchanged_and_mark_the_spans(mode: Mode, error: BaseException) -> None:
    model = TinyModel(error)
    with recorded() as spans:
        with pytest.raises(type(error)) as caught:
            run_passing(VerifiableAgent(model), mode)
        if not isinstance(error, asyncio.CancelledError):
            assert caught.value is error
        names = {span.name: span for span in spans.spans}
    assert is_error(names["invoke_agent agent"])
    assert is_error(names["step"])
    assert attributes(names["step"])[semconv.ERROR_TYPE] == type(error).__name__


def run_passing(agent: VerifiableAgent, mode: Mode) -> None:
    """Without asyncio.run's own handling of KeyboardInterrupt."""
    if mode == "sync":
        agent.run("?")
        return
    try:
        agent.arun("?").send(None)
    except StopIteration as stop:  # pragma: no cover - the model raises
        raise AssertionError from stop


def test_the_hard_bound_holds_without_any_policy() -> None:
    model = TinyModel(*[call("multiply", a=1, b=1)] * 9)
    result = VerifiableAgent(model, tools=[multiply], max_steps=4).run("?")
    assert (result.outcome, result.steps, result.error_type) == ("halted", 4, "step_limit")


@both
def test_the_model_that_invents_a_tool_is_told_what_exists(mode: Mode) -> None:
    model = TinyModel(call("divide", a=1), call("multiply", a="x"), "fine")
    with recorded() as spans:
        result = run(VerifiableAgent(model, tools=[multiply]), "?", mode)
    first, second = result.tool_calls
    assert (first.fault, first.attempts) == ("model", 0)
    assert "no tool named 'divide'" in first.result
    assert "Available tools: multiply" in first.result
    assert "$: 'b' is missing" in second.result
    assert "$.a: expected integer, got string" in second.result
    assert attributes(spans.one("execute_tool _OTHER"))[semconv.TOOL_FAULT] == "model"
    assert result.steps == 3


@both
def test_the_json_protocol_end_to_end(mode: Mode) -> None:
    model = TinyModel(
        "Let me think: 17 * 23",
        '{"action": "multiply", "input": {"a": 17, "b": 23}}',
        '{"action": "final_answer", "input": {"answer": "391"}}',
    )
    agent = VerifiableAgent(
        model, tools=[multiply], protocol="json", enforce_schema="on_retry", instructions="Be brief.",
        verification=VerificationPipeline([NotEmptyCheck()], name="answers"),
    )
    with recorded() as spans:
        result = run(agent, "What is 17 * 23?", mode)
    assert (result.answer, result.steps) == ("391", 2)
    assert [request.response_format is None for request in model.requests] == [True, False, True]
    system = model.requests[0].messages[0]
    assert system.role == "system"
    assert system.text.startswith("Be brief.")
    assert "- multiply: Multiply two numbers." in system.text
    assert model.requests[2].messages[-1] == Message("user", "Result of multiply: 391")
    assert [is_error(span) for span in spans.all("verification form")] == [True, False, False]
    assert len(spans.all("verification answers")) == 1


def test_the_enforced_schema_admits_only_actions_that_exist() -> None:
    from spanseal.verification.json_schema import problems
    from spanseal.verification.json_schema_form import check_schema

    model = TinyModel('{"action": "final_answer", "answer": "ok"}')
    assert VerifiableAgent(model, tools=[multiply], protocol="json", enforce_schema="always").run("?").answer == "ok"
    schema = model.requests[0].response_format
    assert schema is not None
    check_schema(schema)
    good: list[Any] = [
        {"action": "multiply", "input": {"a": 1, "b": 2}}, {"action": "final_answer", "input": {"answer": "x"}}
    ]
    bad: list[Any] = [{"action": "divide", "input": {}}, {"action": "multiply", "input": {"a": 1}}, []]
    assert not any(problems(value, schema) for value in good)
    assert all(problems(value, schema) for value in bad)


@both
@pytest.mark.parametrize("protocol", ["native", "json"])
def test_an_answer_before_any_tool_is_refused_where_a_tool_is_required(protocol: Any, mode: Mode) -> None:
    script: list[Any] = ["400", call("multiply", a=17, b=23), "391"]
    if protocol == "json":
        script = [
            '{"action": "final_answer", "input": {"answer": "400"}}',
            '{"action": "multiply", "input": {"a": 17, "b": 23}}',
            '{"action": "final_answer", "input": {"answer": "391"}}',
        ]
    model = TinyModel(*script)
    agent = VerifiableAgent(
        model, tools=[multiply], protocol=protocol, control=ControlPlane([ToolFirstPolicy()]),
        enforce_schema="on_retry" if protocol == "json" else "never",
    )
    result = run(agent, "?", mode)
    assert (result.answer, result.steps, result.state.spending.refused_answers) == ("391", 2, 1)
    assert "multiply" in model.requests[1].messages[-1].text
    if protocol == "json":
        schema = model.requests[1].response_format
        assert schema is not None
        assert [choice["properties"]["action"]["const"] for choice in schema["anyOf"]] == ["multiply"]
        assert all(not request.tools and request.tool_choice is None for request in model.requests)
    else:
        assert [request.tool_choice for request in model.requests] == ["required", "required", None]


@both
@pytest.mark.parametrize("protocol", ["native", "json"])
def test_a_tool_that_control_takes_away_cannot_be_called(protocol: Any, mode: Mode) -> None:
    class Without(ControlPolicy):
        def decide(self, seam: Seam, state: AgentState, action: Action) -> ControlResult:
            if isinstance(action, ModelCall) and len(action.request.tools) == 2:
                return self.modify("not today", tools=action.request.tools[:1])
            return self.allow()

    script: list[Any] = [call("broken"), "fine"]
    if protocol == "json":
        script = ['{"action": "broken"}', '{"action": "final_answer", "answer": "fine"}']
    model = TinyModel(*script)
    agent = VerifiableAgent(
        model, tools=[multiply, broken], protocol=protocol, control=ControlPlane([Without()]),
        enforce_schema="always" if protocol == "json" else "never",
    )
    result = run(agent, "?", mode)
    assert (result.answer, result.tool_calls[0].fault, result.tool_calls[0].attempts) == ("fine", "model", 0)
    assert "Available tools: multiply." in result.tool_calls[0].result


def test_verify_all_sees_tool_calls_too_and_answers_each_wish_of_a_refused_response() -> None:
    wish = call("multiply", a=1, b=2)
    model = TinyModel(wish, LLMResponse("thinking", "t", tool_calls=(wish,)), "2")
    agent = VerifiableAgent(
        model, tools=[multiply], verify="all", verification=VerificationPipeline([NotEmptyCheck()])
    )
    result = agent.run("?")
    assert result.answer == "2"
    assert [message.role for message in model.requests[1].messages] == ["user", "assistant", "tool", "user"]
    assert len(result.tool_calls) == 1


@both
def test_several_wishes_in_one_turn_run_in_order(mode: Mode) -> None:
    model = TinyModel([call("multiply", "", a=2, b=3), call("multiply", "", a=4, b=5)], "done")
    result = run(VerifiableAgent(model, tools=[multiply]), "?", mode)
    assert [each.result for each in result.tool_calls] == ["6", "20"]
    assert [each.call.id for each in result.tool_calls] == ["call_1_0", "call_1_1"]


def test_attempts_are_numbered_for_the_chat_spans() -> None:
    from spanseal.telemetry.run_context import current_attempt

    seen: list[int] = []

    class Noting(TinyModel):
        def chat(self, request: Any) -> LLMResponse:
            seen.append(current_attempt())
            return super().chat(request)

    VerifiableAgent(Noting("", "", "x")).run("?")
    assert seen == [1, 2, 3]


def test_nothing_of_the_content_leaves_with_capture_off() -> None:
    secret = "swordfish"

    def opened(**_: Any) -> str:
        raise OSError(secret)

    failing = Tool("open", "", {"type": "object"}, call=opened)
    model = TinyModel(call("open", key=secret), call(secret), secret, secret, secret)
    agent = VerifiableAgent(
        model, tools=[failing], verification=VerificationPipeline([MaxLengthCheck(1)]), instructions=secret,
    )
    with recorded("off") as spans:
        assert agent.run(secret).outcome == "failed"
    assert len(spans.spans) > 10
    assert all(secret not in span.to_json() for span in spans.spans)


def test_content_is_there_with_capture_full() -> None:
    with recorded() as spans:
        VerifiableAgent(TinyModel(call("multiply", a=2, b=3), "6"), tools=[multiply]).run("two times three")
    tool_span = attributes(spans.one("execute_tool multiply"))
    assert json.loads(tool_span[semconv.TOOL_CALL_ARGUMENTS]) == {"a": 2, "b": 3}
    assert tool_span[semconv.TOOL_CALL_RESULT] == "6"
    assert len(tool_span[semconv.TOOL_IDEMPOTENCY_KEY]) == 64
    root = attributes(spans.one("invoke_agent agent"))
    assert json.loads(root[semconv.INPUT_MESSAGES])[0]["parts"] == [{"type": "text", "content": "two times three"}]
    assert json.loads(root[semconv.OUTPUT_MESSAGES])[0]["finish_reason"] == "stop"
    assert all(len(attributes(step)[semconv.STATE_DIGEST]) == 64 for step in spans.all("step"))


@pytest.mark.parametrize("options", [
    {"max_retries": -1}, {"max_steps": 0}, {"protocol": "xml"}, {"enforce_schema": "always"}, {"verify": "none"},
    {"tools": [multiply, multiply]}, {"protocol": "json", "enforce_schema": "often"},
])
def test_impossible_arguments_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UsageError):
        VerifiableAgent(TinyModel(), **options)


def test_an_empty_question_is_refused() -> None:
    with pytest.raises(UsageError, match="question is empty"):
        VerifiableAgent(TinyModel()).run("")


def test_tokens_are_reserved_before_a_call_and_settled_by_its_answer() -> None:
    seen: list[int] = []

    class Watch(ControlPolicy):
        seams = frozenset({"before_model", "after_model"})

        def decide(self, seam: Seam, state: AgentState, action: Action) -> ControlResult:
            seen.append(state.spending.reserved_tokens)
            return self.allow()

    result = VerifiableAgent(TinyModel("x"), max_tokens=50, control=ControlPlane([Watch()])).run("a" * 40)
    assert (seen, result.state.spending.reserved_tokens) == ([0, 0], 0)
    failed = VerifiableAgent(TinyModel(ProviderTimeoutError("late")), max_tokens=50).run("a" * 40)
    assert failed.state.spending.reserved_tokens == 14 + 50
    assert failed.usage.input_tokens == 0


@pytest.mark.parametrize("choice", ["none", "multiply"])
def test_a_tool_choice_by_control_is_held_whatever_the_provider_does(choice: str) -> None:
    class Choose(ControlPolicy):
        def decide(self, seam: Seam, state: AgentState, action: Action) -> ControlResult:
            return self.allow() if state.tool_calls else self.modify("only that", tool_choice=choice)

    model = TinyModel([call("broken", "a"), call("multiply", "b", a=1, b=2)], "done")
    agent = VerifiableAgent(model, tools=[multiply, broken], control=ControlPlane([Choose()]))
    result = agent.run("?")
    ran = [outcome.attempts for outcome in result.tool_calls]
    assert ran == {"none": [0, 0], "multiply": [0, 1]}[choice]
