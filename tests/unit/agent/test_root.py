"""What the root of a run tells of its requests and answers (semantic conventions, ``invoke_agent``)."""

from __future__ import annotations

import json
from typing import Any

from tests.unit.agent.support import attributes

from spanseal.agent.build import VerifiableAgent
from spanseal.control.action import Action, ModelCall, Seam
from spanseal.control.plane import ControlPlane
from spanseal.control.policy import ControlPolicy, ControlResult
from spanseal.errors import ProviderUnavailableError
from spanseal.genai import semconv
from spanseal.genai.messages import LLMResponse, ToolCall
from spanseal.genai.state import AgentState
from spanseal.telemetry.active import Capture
from spanseal.testing import ScriptedModel, capture_spans
from spanseal.tools.tool import tool

WISH = ToolCall("c", "add", '{"a": 1, "b": 2}')


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class OtherModelForAnswers(ControlPolicy):
    """The second step asks a model of its own."""

    def decide(self, seam: Seam, state: AgentState, action: Action) -> ControlResult:
        if isinstance(action, ModelCall) and state.step_number == 2 and action.request.model != "big":
            return self.modify("harder", model="big")
        return self.allow()


def root_of(script: list[Any], capture: Capture = "full", **options: Any) -> dict[str, Any]:
    with capture_spans(capture=capture) as captured:
        VerifiableAgent(ScriptedModel(script), tools=[add], **options).run("1 + 2?")
    return attributes(captured.one("invoke_agent agent"))


def test_options_given_to_the_agent_are_on_the_root() -> None:
    root = root_of([WISH, "3"], temperature=0.5, max_tokens=70, seed=7, stop=["END"])
    told = {key: value for key, value in root.items() if key.startswith("gen_ai.request.")}
    assert told == {
        semconv.REQUEST_MODEL: "scripted", semconv.REQUEST_TEMPERATURE: 0.5, semconv.REQUEST_MAX_TOKENS: 70,
        semconv.REQUEST_SEED: 7, semconv.REQUEST_STOP_SEQUENCES: ("END",),
    }
    assert not [key for key in root if key.startswith("openai.")]
    (definition,) = json.loads(root[semconv.TOOL_DEFINITIONS])
    assert (definition["type"], definition["name"], definition["description"]) == (
        "function", "add", "Add two numbers.")
    assert definition["parameters"]["required"] == ["a", "b"]


def test_without_capture_the_root_tells_no_content() -> None:
    root = root_of([WISH, "3"], "off", max_tokens=70, stop=["END"])
    assert root[semconv.REQUEST_MAX_TOKENS] == 70
    assert {semconv.REQUEST_STOP_SEQUENCES, semconv.TOOL_DEFINITIONS}.isdisjoint(root)
    assert root[semconv.RESPONSE_FINISH_REASONS] == ("stop",)


def test_the_model_is_told_where_all_calls_asked_the_same() -> None:
    plane = ControlPlane([OtherModelForAnswers()])
    assert root_of([WISH, "3"], model="small")[semconv.REQUEST_MODEL] == "small"
    assert root_of([WISH, "3"], model="big", control=plane)[semconv.REQUEST_MODEL] == "big"
    assert semconv.REQUEST_MODEL not in root_of([WISH, "3"], model="small", control=plane)
    assert semconv.REQUEST_MODEL not in root_of([WISH, "3"], control=plane)


def test_the_reason_is_that_of_the_last_answer() -> None:
    root = root_of([WISH, LLMResponse("thr", "m", finish_reason="length")])
    assert root[semconv.RESPONSE_FINISH_REASONS] == ("length",)
    assert json.loads(root[semconv.OUTPUT_MESSAGES])[0]["finish_reason"] == "length"
    none = root_of([ProviderUnavailableError("nobody there")])
    assert semconv.RESPONSE_FINISH_REASONS not in none
    assert none[semconv.REQUEST_MODEL] == "scripted"
