"""What a tool returns as the model's text: JSON whatever it is, the same for the model, the history and the record."""

from __future__ import annotations

import datetime
import json
import uuid
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import pydantic
import pytest
from tests.unit.agent.support import attributes

from spanseal.agent.build import VerifiableAgent
from spanseal.genai import semconv
from spanseal.genai.messages import ToolCall, ToolResult
from spanseal.telemetry.content.to_json import to_json
from spanseal.testing import ScriptedModel, capture_spans
from spanseal.tools.gates import as_text
from spanseal.tools.tool import tool


class Shade(Enum):
    DARK = "dark"


class Order(pydantic.BaseModel):
    number: int
    at: datetime.datetime
    total: Decimal


@dataclass
class Line:
    article: str
    price: Decimal
    made: datetime.date


class Point(NamedTuple):
    x: int
    y: Decimal


class Plain:
    """Nothing in it, and no text of its own."""


AT = datetime.datetime(2026, 1, 2, 3, 4, 5)
CASES: list[tuple[Any, Any]] = [
    ({"at": AT}, {"at": "2026-01-02T03:04:05"}),
    ({"day": AT.date(), "hour": AT.time()}, {"day": "2026-01-02", "hour": "03:04:05"}),
    (Decimal("12.50"), "12.50"),
    (Line("pen", Decimal("0.10"), AT.date()), {"article": "pen", "price": "0.10", "made": "2026-01-02"}),
    ([Order(number=1, at=AT, total=Decimal(3))], [{"number": 1, "at": "2026-01-02T03:04:05", "total": "3"}]),
    (b"\x00\xff", {"base64": "AP8="}),
    ({"raw": bytearray(b"x")}, {"raw": {"base64": "eA=="}}),
    ({"b", "a", "c"}, ["a", "b", "c"]),
    (frozenset({Decimal(2), Decimal(1)}), ["1", "2"]),
    ({Shade.DARK: Shade.DARK}, {"dark": "dark"}),
    ({(1, 2): 3}, {"(1, 2)": 3}),
    ([float("nan"), float("-inf"), Decimal(1)], ["NaN", "-Infinity", "1"]),
    (Point(1, Decimal(2)), [1, "2"]),
    ({"id": uuid.UUID(int=7), "at": PurePosixPath("a/b")}, {"id": "00000000-0000-0000-0000-000000000007", "at": "a/b"}),
    (Plain(), f"<{__name__}.Plain>"),
]


@pytest.mark.parametrize(("value", "told"), CASES)
def test_a_result_that_is_no_json_is_told_by_the_rules_of_telemetry_content(value: Any, told: Any) -> None:
    assert json.loads(as_text(value)) == told
    if not isinstance(value, tuple):  # which both write as a list, orjson not where it has names
        assert json.loads(to_json(value)) == told


def test_what_holds_itself_or_goes_too_deep_is_still_json() -> None:
    ring: list[Any] = [Decimal(1)]
    ring.append(ring)
    assert json.loads(as_text(ring)) == ["1", "<cycle>"]
    deep: Any = Decimal(1)
    for _ in range(5000):
        deep = [deep]
    assert "<too deep>" in as_text(deep)


@pytest.mark.parametrize(("value", "told"), CASES)
def test_the_model_the_history_and_the_record_get_the_same(value: Any, told: Any) -> None:
    @tool
    def look() -> Any:
        """Look it up."""
        return value

    model = ScriptedModel([ToolCall("c", "look", "{}"), "done"])
    with capture_spans() as captured:
        result = VerifiableAgent(model, tools=[look]).run("?")
    recorded = attributes(captured.one("execute_tool look"))[semconv.TOOL_CALL_RESULT]
    sent = [part for turn in model.requests[1].messages if turn.role == "tool" for part in turn.parts]
    assert sent == [ToolResult("c", recorded, "look")]
    assert recorded == result.tool_calls[0].result
    assert json.loads(recorded) == told
