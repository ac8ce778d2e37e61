"""A run recorded without content: nothing of what people and models wrote is in it, and it can be sealed and proved.

And one with large values: sealed, verified and read back from the store.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.unit.telemetry.wire_world import Answer, bare_client, whole

from spanseal import OpenAIAdapter, VerifiableAgent, instrument, tool
from spanseal.agent.result import RunResult
from spanseal.control.plane import ControlPlane
from spanseal.control.policy import ControlPolicy, ControlResult
from spanseal.genai import semconv as sc
from spanseal.records.replay_read import OFF
from spanseal.replay.reader import RunReader, replay_llm_calls
from spanseal.telemetry.configure import configure, shutdown
from spanseal.verification.check import VerificationCheck, VerificationResult
from spanseal.verification.pipeline import VerificationPipeline

Typed = Callable[..., tuple[int, str, str]]
CANARY = "kanarienvogel"


class Rejecting(VerificationCheck):
    """Refuses the first answer, and says why with words of the answer."""

    name = "rejecting"

    def __init__(self) -> None:
        self.seen = 0

    def check(self, response: Any) -> VerificationResult:
        self.seen += 1
        return VerificationResult(self.seen > 1, self.name, f"not good: {response.text}")


class Talking(ControlPolicy):
    """Allows everything, with a reason that quotes the action."""

    seams = frozenset(("before_model", "after_model", "before_tool", "after_tool", "before_answer"))

    def decide(self, seam: Any, state: Any, action: Any) -> ControlResult:
        del seam, state
        return self.allow(f"it is {action.to_json()}")


@tool
def lookup(word: str) -> str:
    """Look a word up."""
    if "bad" in word:
        raise ValueError(f"cannot look up {word}")
    return f"found {word}"


def calling(name: str, arguments: Mapping[str, Any]) -> Answer:
    function = {"name": name, "arguments": json.dumps(arguments)}
    call = {"id": f"call_{len(name)}", "type": "function", "function": function}
    message = {"role": "assistant", "content": f"let me see, {CANARY}", "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    return Answer(body={"id": "r", "model": "m-1", "choices": [choice]})


def run_agent(folder: Path, capture: Any) -> RunResult:
    answers = [
        calling(f"{CANARY}_tool", {"word": CANARY}),
        calling("lookup", {"wrong": CANARY}),
        calling("lookup", {"word": f"bad {CANARY}"}),
        calling("lookup", {"word": CANARY}),
        whole("openai", f"first {CANARY}"),
        whole("openai", f"then {CANARY}"),
    ]
    configure("t", export=folder, capture=capture)
    try:
        adapter = OpenAIAdapter(model="m", client=bare_client("openai", answers, []))
        agent = VerifiableAgent(
            adapter, tools=[lookup], verification=VerificationPipeline([Rejecting()]),
            control=ControlPlane([Talking()]), name="a", instructions=f"You know {CANARY}", stop=[f"stop {CANARY}"],
        )
        result = agent.run(f"What is {CANARY}?")
        refused = Answer(status=400, body={"error": {"message": f"no {CANARY} here", "code": "bad"}})
        nonsense = Answer(status=200, body=f"{CANARY} is no JSON object")
        broken = instrument(bare_client("openai", [refused, nonsense], []))
        for _ in range(2):
            with pytest.raises(Exception, match=r".*"):
                broken.chat.completions.create(model="m", messages=[{"role": "user", "content": CANARY}]).choices[0].x  # noqa: B018
        return result
    finally:
        shutdown()


def test_nothing_that_anybody_wrote_is_in_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    result = run_agent(tmp_path / "spans", "off")
    assert CANARY in result.answer
    for file in (tmp_path / "spans").rglob("*"):
        assert file.is_dir() or CANARY.encode() not in file.read_bytes(), file
    assert CANARY not in caplog.text
    run = RunReader.open(tmp_path / "spans").runs()[-1]
    assert (run.grade, run.outcome) == ("complete", "completed")
    assert [call.replayable for call in run.calls] == ["no"] * 6
    assert {call.replay_reason for call in run.calls} == {OFF}
    assert replay_llm_calls(run) == ()
    assert [use.fault for use in run.tools] == ["model", "model", "world", ""]
    assert [check.passed for check in run.checks].count(False) == 1


def test_sizes_and_salted_digests_are_always_there(tmp_path: Path) -> None:
    run_agent(tmp_path / "spans", "off")
    spans = list(RunReader.open(tmp_path / "spans").source.spans())
    by_operation: dict[str, list[Mapping[str, Any]]] = {}
    for span in spans:
        by_operation.setdefault(span.name.split()[0], []).append(span.attributes)
    for chat in by_operation["chat"]:
        assert len(str(chat[sc.LLM_REQUEST_DIGEST])) == 32
        assert sc.LLM_REQUEST_SHA256 not in chat
        assert len(str(chat[sc.LLM_RESPONSE_DIGEST])) == 32
        assert isinstance(chat[sc.LLM_RESPONSE_BYTES], int)
    for use in by_operation["execute_tool"]:
        for key in (sc.TOOL_CALL_ARGUMENTS, sc.TOOL_CALL_RESULT):
            assert isinstance(use[sc.BYTES_OF + key], int)
            assert len(str(use[sc.DIGEST_OF + key])) == 32
    for check in by_operation["verification"]:
        assert len(str(check[sc.DIGEST_OF + sc.VERIFICATION_INPUT])) == 32
    gates = [gate[sc.DIGEST_OF + sc.CONTROL_ACTION_DIGEST] for gate in by_operation["control"]]
    assert all(len(str(digest)) == 32 for digest in gates)


def test_equal_inputs_of_one_run_are_seen_to_be_equal_and_those_of_two_runs_are_not(tmp_path: Path) -> None:
    runs: list[list[Any]] = []
    for number in range(2):
        run_agent(tmp_path / f"spans{number}", "off")
        spans = RunReader.open(tmp_path / f"spans{number}").source.spans()
        key = sc.DIGEST_OF + sc.TOOL_CALL_ARGUMENTS
        runs.append([span.attributes[key] for span in spans if key in span.attributes])
    assert [len(digests) for digests in runs] == [4, 4]
    assert [len(set(digests)) for digests in runs] == [3, 3]  # the invented tool and the real one got the same
    assert not set(runs[0]) & set(runs[1])


def test_it_is_sealed_and_proved_and_says_that_it_cannot_be_replayed(type_line: Typed, tmp_path: Path) -> None:
    run_id = run_agent(tmp_path / "spans", "off").run_id
    assert type_line("keygen keys --origin example.com/a")[0] == 0
    assert type_line("seal spans --store store --keys keys")[0] == 0
    code, out, _ = type_line("verify store --trust keys/trust --json")
    assert (code, json.loads(out)["verdict"]) == (0, "ok")
    code, out, _ = type_line(f"show store {run_id}")
    assert code == 0
    assert CANARY not in out
    assert "capture was off" in out
    code, out, _ = type_line("runs store --json")
    (listed,) = [run for run in json.loads(out) if run["run_id"] == run_id]
    assert listed["replayable"] == {"exact": 0, "semantic": 0, "no": 6}


def test_large_values_are_sealed_verified_and_read_back(
    type_line: Typed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPANSEAL_MAX_VALUE_BYTES", "1024")
    run_id = run_agent(tmp_path / "spans", "full").run_id
    assert list((tmp_path / "spans" / "values" / run_id).glob("*.jsonl"))
    assert type_line("keygen keys --origin example.com/a")[0] == 0
    assert type_line("seal spans --store store --keys keys")[0] == 0
    assert type_line("seal spans --store store --keys keys")[1].count("sealed 0 spans") == 1
    assert type_line("verify store --trust keys/trust")[0] == 0
    run = RunReader.open(tmp_path / "store").run(run_id)
    assert (run.grade, {call.replayable for call in run.calls}) == ("complete", {"exact"})
    assert not run.notes
    (tmp_path / "keys" / "content").rename(tmp_path / "gone")
    (tmp_path / "keys" / "content").mkdir()
    run = RunReader.open(tmp_path / "store", unverified=True).run(run_id)
    assert {call.replayable for call in run.calls} == {"no"}
    assert not any(b"kanarienvogel" in file.read_bytes() for file in (tmp_path / "store").rglob("*") if file.is_file())
