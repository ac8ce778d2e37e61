"""The fault rule: the model's mistakes are told at once, the world's are tried again, nothing raises."""

from __future__ import annotations

import asyncio
import json
import threading
from decimal import Decimal
from typing import Any, Literal

import pytest
from tests.unit.agent.support import attributes, call, is_error, recorded

from spanseal.effects import Effects
from spanseal.errors import ModelFaultError, ToolFaultError, UsageError
from spanseal.genai import semconv
from spanseal.genai.messages import ToolCall
from spanseal.genai.state import ToolOutcome
from spanseal.testing import ScriptedTool
from spanseal.tools.executor import CallContext, ToolExecutor, current_call
from spanseal.tools.tool import tool

Mode = Literal["sync", "async"]
both = pytest.mark.parametrize("mode", ["sync", "async"])
kinds = pytest.mark.parametrize("is_async", [False, True])


def execute(executor: ToolExecutor, wish: ToolCall, mode: Mode, run_id: str = "") -> ToolOutcome:
    return executor.execute(wish, run_id) if mode == "sync" else asyncio.run(executor.aexecute(wish, run_id))


@both
@kinds
def test_the_trajectory_after_an_absorbed_fault_equals_the_happy_one(mode: Mode, is_async: bool) -> None:
    happy = ScriptedTool("rates", [{"eur": 1.1}], is_async=is_async)
    shaky = ScriptedTool("rates", [ToolFaultError("busy"), TimeoutError(), {"eur": 1.1}], is_async=is_async)
    outcomes: list[ToolOutcome] = []
    with recorded() as spans:
        for scripted in (happy, shaky):
            outcomes.append(execute(ToolExecutor([scripted.tool]), call("rates"), mode))
    assert [outcome.result for outcome in outcomes] == ['{"eur": 1.1}'] * 2
    assert [outcome.attempts for outcome in outcomes] == [1, 3]
    assert all(outcome.ok for outcome in outcomes)
    assert not any(is_error(span) for span in spans.all("execute_tool rates"))


@both
@kinds
def test_an_exhausted_world_fault_is_a_structured_observation(mode: Mode, is_async: bool) -> None:
    scripted = ScriptedTool("rates", [ConnectionError("refused")], is_async=is_async)
    with recorded() as spans:
        outcome = execute(ToolExecutor([scripted.tool]), call("rates"), mode)
    assert (outcome.fault, outcome.error_type, outcome.attempts, len(scripted.calls)) == (
        "world", "ConnectionError", 3, 3
    )
    assert json.loads(outcome.result) == {
        "error": {"tool": "rates", "type": "ConnectionError", "message": "refused", "attempts": 3}
    }
    span = spans.one("execute_tool rates")
    assert is_error(span)
    assert attributes(span)[semconv.TOOL_FAULT] == "world"
    assert attributes(span)[semconv.ERROR_TYPE] == "ConnectionError"
    assert attributes(span)[semconv.TOOL_ATTEMPTS] == 3


@both
@pytest.mark.parametrize("error", [ValueError("odd"), StopIteration("end"), AssertionError(), RecursionError("deep")])
def test_any_other_exception_is_an_observation_without_retry(mode: Mode, error: Exception) -> None:
    for is_async in (False, True) if not isinstance(error, StopIteration) else (False,):
        scripted = ScriptedTool("t", [error], is_async=is_async)
        outcome = execute(ToolExecutor([scripted.tool]), call("t"), mode)
        assert (outcome.fault, outcome.error_type, len(scripted.calls)) == ("world", type(error).__name__, 1)


@both
def test_what_a_tool_calls_the_models_fault_is_told_and_not_retried(mode: Mode) -> None:
    scripted = ScriptedTool("t", [ModelFaultError("no such city; known are Ulm and Bern")])
    outcome = execute(ToolExecutor([scripted.tool]), call("t"), mode)
    assert (outcome.fault, outcome.result, len(scripted.calls)) == (
        "model", "no such city; known are Ulm and Bern", 1
    )


@both
def test_the_models_mistakes_never_reach_the_tool(mode: Mode) -> None:
    scripted = ScriptedTool("t", ["x"], parameters={
        "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False,
    })
    executor = ToolExecutor([scripted.tool])
    for wish, error in (
        (call("u", n=1), "unknown_tool"), (call("t"), "invalid_arguments"), (call("t", n="1"), "invalid_arguments"),
        (call("t", n=1, m=2), "invalid_arguments"), (ToolCall("1", "t", "n=1"), "invalid_arguments"),
    ):
        outcome = execute(executor, wish, mode)
        assert (outcome.fault, outcome.error_type, outcome.attempts) == ("model", error, 0)
    assert scripted.calls == []


@both
def test_a_malformed_payload_is_the_worlds_fault_and_tried_again(mode: Mode) -> None:
    returns = {"type": "object", "required": ["eur"]}
    shaky = ScriptedTool("rates", [{}, "<html>", {"eur": 1}], returns=returns)
    outcome = execute(ToolExecutor([shaky.tool]), call("rates"), mode)
    assert (outcome.result, outcome.attempts) == ('{"eur": 1}', 3)
    hopeless = ScriptedTool("rates", [{}], returns=returns)
    outcome = execute(ToolExecutor([hopeless.tool]), call("rates"), mode)
    assert (outcome.fault, outcome.error_type) == ("world", "ToolFaultError")
    assert "'eur' is missing" in outcome.result


def test_a_tool_that_must_not_act_twice_is_called_once() -> None:
    once = ScriptedTool("pay", [TimeoutError("unknown outcome")], attempts=1)
    assert ToolExecutor([once.tool]).execute(call("pay")).attempts == 1
    assert len(once.calls) == 1


@both
def test_retries_wait_twice_as_long_each_time(mode: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    class Watch:
        def time_ns(self) -> int:
            return 0

        def monotonic(self) -> float:
            return 0.0

        def sleep(self, seconds: float) -> None:
            waited.append(seconds)

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("spanseal.tools.executor.asyncio.sleep", sleep)
    scripted = ScriptedTool("t", [TimeoutError()], retry_delay=0.5)
    execute(ToolExecutor([scripted.tool], Effects(clock=Watch())), call("t"), mode)
    assert waited == [0.5, 1.0]


def test_long_results_are_cut_and_say_so() -> None:
    scripted = ScriptedTool("t", ["x" * 100], max_result_chars=10)
    result = ToolExecutor([scripted.tool]).execute(call("t")).result
    assert result == "xxxxxxxxxx… [cut: the first 10 of 100 characters]"


@pytest.mark.parametrize(("value", "text"), [
    ("a", "a"), (None, "null"), (Decimal("1.5"), '"1.5"'), ({1: {2}}, '{"1": [2]}'), (float("nan"), '"NaN"'),
    (("ä",), '["ä"]'),
])
def test_results_become_text(value: Any, text: str) -> None:
    assert ToolExecutor([ScriptedTool("t", [value]).tool]).execute(call("t")).result == text


@both
def test_a_plain_function_may_hand_out_a_coroutine(mode: Mode) -> None:
    async def later() -> str:
        return "waited for"

    executor = ToolExecutor([ScriptedTool("t", [lambda: later()]).tool])
    assert execute(executor, call("t"), mode).result == "waited for"


@both
def test_an_error_without_words_is_an_observation_too(mode: Mode) -> None:
    class MuteError(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    with recorded() as spans:
        outcome = execute(ToolExecutor([ScriptedTool("t", [MuteError()]).tool]), call("t"), mode)
    assert (outcome.error_type, json.loads(outcome.result)["error"]["message"]) == ("MuteError", "")
    assert is_error(spans.one("execute_tool t"))


def test_a_result_whose_text_fails_is_named_by_its_type() -> None:
    class Hostile:
        def __str__(self) -> str:
            raise RuntimeError("no words")

    outcome = ToolExecutor([ScriptedTool("t", [Hostile()]).tool]).execute(call("t"))
    assert outcome.ok
    assert json.loads(outcome.result) == f"<{__name__}.{Hostile.__qualname__}>"


@both
@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_what_is_no_error_passes_and_marks_the_span(mode: Mode, error: BaseException) -> None:
    executor = ToolExecutor([ScriptedTool("t", [error], is_async=True).tool])

    def step() -> object:
        return executor.execute(call("t")) if mode == "sync" else executor.aexecute(call("t")).send(None)

    with recorded() as spans, pytest.raises(type(error)) as caught:
        step()
    assert caught.value is error
    assert attributes(spans.one("execute_tool t"))[semconv.ERROR_TYPE] == type(error).__name__


@both
def test_a_tool_knows_its_call_and_its_key_is_stable_over_attempts(mode: Mode) -> None:
    seen: list[CallContext | None] = []

    def note() -> str:
        seen.append(current_call())
        if len(seen) == 1:
            raise TimeoutError
        return "ok"

    executor = ToolExecutor([tool(note)])
    for run_id in ("r1", "r1", "r2"):
        execute(executor, call("note"), mode, run_id)
    found = [context for context in seen if context is not None]
    assert [context.attempt for context in found] == [1, 2, 1, 1]
    keys = [context.idempotency_key for context in found]
    assert keys[0] == keys[1] == keys[2] != keys[3]
    assert current_call() is None


def test_async_runs_sync_tools_beside_the_event_loop() -> None:
    threads: list[int] = []

    def where() -> str:
        threads.append(threading.get_ident())
        return ""

    asyncio.run(ToolExecutor([tool(where)]).aexecute(call("where")))
    assert threads != [threading.get_ident()]


def test_an_async_tool_in_a_running_loop_says_what_to_do() -> None:
    async def inside() -> ToolOutcome:
        return ToolExecutor([ScriptedTool("t", [1], is_async=True).tool]).execute(call("t"))

    with pytest.raises(UsageError, match=r"use arun\(\) instead of run\(\)"):
        asyncio.run(inside())


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match="two tools are named 't'"):
        ToolExecutor([ScriptedTool("t", [1]).tool, ScriptedTool("t", [2]).tool])
