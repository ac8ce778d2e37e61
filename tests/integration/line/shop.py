"""The agents of the whole line: small, and built so that what happens does not hang on the model's wisdom.

Every action is under an enforced schema and the policies leave one way, so a tool is called whatever the model thinks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from spanseal import (
    ControlPlane,
    ControlPolicy,
    ControlResult,
    MaxLengthCheck,
    MaxStepsPolicy,
    NotEmptyCheck,
    Tool,
    VerifiableAgent,
    VerificationPipeline,
    tool,
)
from spanseal.adapters.base import LLMAdapter
from spanseal.agent.json_action import FINAL_ANSWER
from spanseal.control.action import Action, ModelCall, Seam, ToolUse
from spanseal.genai.state import AgentState

VOUCHER = "pk_test_51H8xNotARealKey42"
"""Looks like a key to the collector's view and like nothing to us: shows where the view is redacted."""

Item = Literal["lamp", "chair"]


@tool
def price_of(item: Item) -> str:
    """Look up what one piece of a product costs."""
    return f"{item}: {24 if item == 'lamp' else 45} dollars, voucher {VOUCHER}"


@tool(name="stock_of", attempts=1)
def stock_of(item: Item) -> str:
    """Look up how many pieces of a product there are."""
    raise ConnectionError(f"the warehouse does not answer about the {item}")


@tool
def order(item: Item) -> str:
    """Buy a product. This cannot be undone."""
    raise AssertionError(f"bought: {item}")


class OneWay(ControlPolicy):
    """First the tool, then the answer, and nothing else; the very first attempt is too short to be anything.

    ``native``: the schema is that of a native tool call, as the weak model writes none of its own accord.
    """

    name = "one_way"
    seams: frozenset[Seam] = frozenset({"before_model"})

    def __init__(self, *, native: bool = False, stumble: bool = False) -> None:
        self.native, self.stumble = native, stumble

    def decide(self, seam: Seam, state: AgentState, action: Action) -> ControlResult:
        assert isinstance(action, ModelCall)
        called = bool(state.tool_calls)
        wanted: dict[str, Any] = _native(called, action) if self.native else _json(called)
        if self.stumble and state.step_number == 1:
            wanted["max_tokens"] = 2 if action.attempt == 1 else 60
        changes = {name: value for name, value in wanted.items() if getattr(action.request, name) != value}
        return self.modify("one way only", **changes) if changes else self.allow()


def _json(called: bool) -> dict[str, Any]:
    if not called:
        return {"tool_choice": "required"}
    words = {"type": "object", "properties": {"answer": {"type": "string", "minLength": 1, "maxLength": 20}}}
    inner = {**words, "required": ["answer"], "additionalProperties": False}
    outer = {"action": {"const": FINAL_ANSWER}, "input": inner}
    schema = {"type": "object", "properties": outer, "required": [*outer], "additionalProperties": False}
    return {"tool_choice": "none", "response_format": schema}


def _native(called: bool, action: ModelCall) -> dict[str, Any]:
    if called:
        return {"tools": (), "response_format": None, "max_tokens": 12}
    (spec,) = action.request.tools
    call = {"name": {"enum": [spec.name]}, "arguments": dict(spec.parameters)}
    return {"response_format": {"type": "object", "properties": call, "required": [*call]}}


class AskFirst(ControlPolicy):
    """A person decides before anything is bought."""

    name = "ask_first"
    seams: frozenset[Seam] = frozenset({"before_tool"})

    def decide(self, seam: Seam, state: AgentState, action: Action) -> ControlResult:
        bought = isinstance(action, ToolUse) and action.call.name == "order"
        return self.escalate("buying cannot be undone") if bought else self.allow()


class Nonsense(ControlPolicy):
    """Asks for a schema that no server can read: the real server says no."""

    name = "nonsense"
    seams: frozenset[Seam] = frozenset({"before_model"})

    def decide(self, seam: Seam, state: AgentState, action: Action) -> ControlResult:
        schema = {"type": "nonsense"}
        asked = isinstance(action, ModelCall) and action.request.response_format == schema
        return self.allow() if asked else self.modify("to be refused", response_format=schema)


@dataclass(frozen=True)
class Case:
    """One run: its agent is named after it."""

    name: str
    question: str
    tool: Tool
    policies: Callable[[], list[ControlPolicy]] = lambda: [OneWay()]
    native: bool = False
    together: bool = False

    def agent(self, adapter: LLMAdapter) -> VerifiableAgent:
        """The agent of this run."""
        return VerifiableAgent(
            adapter, tools=[self.tool], name=self.name, instructions=f"You are {self.name} in a shop.",
            protocol="native" if self.native else "json", enforce_schema="never" if self.native else "always",
            verification=VerificationPipeline([NotEmptyCheck(), MaxLengthCheck(500)], name="answer"),
            control=ControlPlane(self.policies()), temperature=0.0, max_tokens=60, seed=7,
        )


CASES = (
    Case("asks", "What does a lamp cost?", price_of, lambda: [OneWay(stumble=True)]),
    Case("left", "What does a chair cost?", price_of, together=True),
    Case("right", "What does a lamp cost?", price_of, together=True),
    Case("fails", "How many lamps are there?", stock_of),
    Case("halts", "What does a lamp cost?", price_of, lambda: [OneWay(), MaxStepsPolicy(1)]),
    Case("refused", "What does a lamp cost?", price_of, lambda: [Nonsense()]),
    Case("escalates", "Buy a lamp.", order, lambda: [OneWay(), AskFirst()]),
)
NATIVE = Case("calls", "What does a lamp cost?", price_of, lambda: [OneWay(native=True)], native=True)
