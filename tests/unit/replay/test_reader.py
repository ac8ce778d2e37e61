"""Finding runs, and what a real agent did given back call by call."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.replay.recorded import TRACE, Span, calculator_run, lines

from spanseal.agent.build import VerifiableAgent
from spanseal.control.plane import ControlPlane
from spanseal.control.policies.max_steps import MaxStepsPolicy
from spanseal.errors import ProviderTimeoutError, ReplayError
from spanseal.genai import semconv as sc
from spanseal.genai.messages import LLMResponse, ToolCall, Usage
from spanseal.replay.reader import RunReader, replay_llm_calls
from spanseal.replay.run import Run
from spanseal.testing import Answer, ScriptedModel, capture_spans
from spanseal.verification.checks.not_empty import NotEmptyCheck
from spanseal.verification.pipeline import VerificationPipeline


def calculator(expression: str) -> str:
    """Evaluate an arithmetic expression."""
    return {"17 * 23": "391"}[expression]


def recorded(tmp_path: Path, answers: list[Answer], max_steps: int = 8) -> tuple[Run, ScriptedModel]:
    """A run of a real agent with a scripted model, exported and read back."""
    model = ScriptedModel(answers)
    agent = VerifiableAgent(
        model, tools=[calculator], name="calculator", instructions="Be exact.", temperature=0.0, seed=7,
        verification=VerificationPipeline([NotEmptyCheck()]), control=ControlPlane([MaxStepsPolicy(max_steps)]),
    )
    with capture_spans() as captured:
        agent.run("What is 17 * 23?")
    (tmp_path / "spans.jsonl").write_bytes(b"".join(line.rstrip(b"\n") + b"\n" for line in captured.lines()))
    (run,) = RunReader.open(tmp_path).runs()
    return run, model


WISH = ToolCall("c1", "calculator", '{"expression": "17 * 23"}')


def test_replay_equals_what_the_agent_did_message_by_message(tmp_path: Path) -> None:
    final = LLMResponse("391", "m", finish_reason="stop", usage=Usage(40, 3), prompt_tokens=40, completion_tokens=3)
    run, model = recorded(tmp_path, [WISH, "", final])
    calls = replay_llm_calls(run)
    assert [call.request for call in calls] == model.requests
    assert [call.messages for call in calls] == [request.messages for request in model.requests]
    assert [call.grade for call in calls] == ["exact"] * 3
    assert [(call.step, call.attempt) for call in calls] == [(1, 1), (2, 1), (2, 2)]
    assert [call.response.text for call in calls if call.response] == ["", "", "391"]
    assert calls[0].response is not None
    assert calls[0].response.tool_calls == (WISH,)
    assert calls[2].response is not None
    assert calls[2].response.usage == Usage(40, 3)
    assert all(call.latency_ms is not None and call.latency_ms > 0 for call in calls)
    assert calls[0].options["temperature"] == 0.0
    assert calls[0].options["seed"] == 7
    assert [tool.name for tool in calls[0].options["tools"]] == ["calculator"]
    assert (run.grade, run.outcome, run.agent) == ("complete", "completed", "calculator")
    assert [check.passed for check in run.checks].count(False) == 1


def test_a_recorded_call_can_be_sent_to_any_adapter(tmp_path: Path) -> None:
    run, _ = recorded(tmp_path, [WISH, "391"])
    other = ScriptedModel(["something else", "391"], model="other")
    with capture_spans():
        again = [other.chat(call.request) for call in replay_llm_calls(run)]
    assert [answer.text for answer in again] == ["something else", "391"]
    assert [request.messages for request in other.requests] == [call.messages for call in run.calls]


def test_a_failed_call_is_there_with_its_error_and_without_an_answer(tmp_path: Path) -> None:
    run, _ = recorded(tmp_path, [ProviderTimeoutError("no answer in 30 s")])
    (call,) = replay_llm_calls(run)
    assert call.response is None
    assert "Timeout" in call.error
    assert run.outcome == "failed"
    assert "Timeout" in run.error


def test_a_halted_run_tells_who_halted_it(tmp_path: Path) -> None:
    run, _ = recorded(tmp_path, [WISH, WISH, WISH], max_steps=1)
    assert run.outcome == "halted"
    (halt,) = [decision for decision in run.decisions if decision.decision == "halt"]
    assert halt.policy == "max_steps"
    assert halt.reason
    assert halt.error


def test_calls_that_cannot_be_sent_are_left_out(tmp_path: Path) -> None:
    spans = calculator_run()
    del spans[1].attributes["gen_ai.input.messages"]
    (tmp_path / "spans.jsonl").write_bytes(lines(spans))
    (run,) = RunReader.open(tmp_path).runs()
    assert run.replayable() == {"exact": 0, "semantic": 1, "no": 1}
    assert len(replay_llm_calls(run)) == 1


def two_runs(tmp_path: Path) -> RunReader:
    near = "4b4b4b4b" + "5c" * 12
    (tmp_path / "spans.jsonl").write_bytes(lines([*calculator_run(), *calculator_run(near, "f" * 32, shift=5000)]))
    return RunReader.open(tmp_path)


def test_a_run_by_its_id_its_trace_or_a_beginning_of_either(tmp_path: Path) -> None:
    reader = two_runs(tmp_path)
    for name in ("4b" * 16, "4B" * 16, "4b4b4b4b4b", TRACE, TRACE[:6]):
        assert reader.run(name).run_id == "4b" * 16
    assert reader.run("4b4b4b4b5").trace_id == "f" * 32


def test_a_path_is_a_source_too(tmp_path: Path) -> None:
    two_runs(tmp_path)
    assert RunReader(tmp_path).runs() == RunReader(str(tmp_path)).runs() == RunReader.open(tmp_path).runs()


def test_a_beginning_that_several_runs_have(tmp_path: Path) -> None:
    with pytest.raises(ReplayError, match="2 runs match '4b4b'") as caught:
        two_runs(tmp_path).run("4b4b")
    assert "4b" * 16 in str(caught.value)
    assert "4b4b4b4b" + "5c" * 12 in str(caught.value)


def test_an_id_that_no_run_has(tmp_path: Path) -> None:
    with pytest.raises(ReplayError, match="no run matches 'dead'") as caught:
        two_runs(tmp_path).run("dead")
    assert "4b" * 16 in str(caught.value)


def test_hostile_ids_are_escaped_in_the_error(tmp_path: Path) -> None:
    (tmp_path / "spans.jsonl").write_bytes(lines(calculator_run("\x1b[2J" * 4)))
    with pytest.raises(ReplayError) as caught:
        RunReader.open(tmp_path).run("nothing")
    assert "\x1b" not in str(caught.value)


def test_a_file_without_runs(tmp_path: Path) -> None:
    (tmp_path / "spans.jsonl").write_bytes(b"")
    reader = RunReader.open(tmp_path)
    assert (reader.runs(), reader.notes) == ((), ())
    with pytest.raises(ReplayError, match="none"):
        reader.run("a")


def test_an_agent_inside_an_agent_is_a_run_of_its_own(tmp_path: Path) -> None:
    inner = VerifiableAgent(ScriptedModel(["found it"]), name="search")

    def search(query: str) -> str:
        """Look something up."""
        return inner.run(query).answer

    model = ScriptedModel([ToolCall("c1", "search", '{"query": "x"}'), "done"])
    outer = VerifiableAgent(model, tools=[search], name="outer")
    with capture_spans() as captured:
        result = outer.run("find x")
    (tmp_path / "spans.jsonl").write_bytes(b"".join(line.rstrip(b"\n") + b"\n" for line in captured.lines()))
    reader = RunReader.open(tmp_path)
    first, second = reader.runs()
    assert (second.run_id, second.agent, first.agent) == (result.run_id, "outer", "search")
    assert (second.children, first.parent_run_id) == ((first.run_id,), second.run_id)
    assert [run.grade for run in reader.runs()] == ["complete", "complete"]
    assert [len(run.calls) for run in reader.runs()] == [1, 2]


def test_a_foreign_run_id_is_found_as_it_is_written(tmp_path: Path) -> None:
    names = ("Nightly-A", "nightly-a", "../../etc")
    spans = [
        Span(f"{at:016x}", "invoke_agent a", at, at + 1, trace=f"{at:032x}",
             attributes={sc.OPERATION_NAME: "invoke_agent", sc.RUN_ID: name})
        for at, name in enumerate(names, 1)
    ]  # fmt: skip
    (tmp_path / "spans.jsonl").write_bytes(lines(spans))
    reader = RunReader.open(tmp_path)
    assert reader.run("Nightly-A").run_id == "Nightly-A"
    assert reader.run("../").run_id == "../../etc"
    assert reader.run("nightly-a").run_id == "nightly-a"
    with pytest.raises(ReplayError, match="no run matches"):
        reader.run("N-")


def test_runs_that_claim_one_id_are_told_apart_by_their_traces(tmp_path: Path) -> None:
    attributes = {sc.OPERATION_NAME: "invoke_agent", sc.RUN_ID: "twice"}
    spans = [
        Span(f"{at:016x}", "invoke_agent a", at, at + 1, trace=f"{at:x}" * 32, attributes=attributes) for at in (1, 2)
    ]
    (tmp_path / "spans.jsonl").write_bytes(lines(spans))
    reader = RunReader.open(tmp_path)
    with pytest.raises(ReplayError, match="2 runs match 'twice'") as caught:
        reader.run("twice")
    for run in reader.runs():
        assert f"trace {run.trace_id}" in str(caught.value)
        assert reader.run(run.trace_id) is run
