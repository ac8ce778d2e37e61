"""Schemas from signatures, and Python values from checked JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, Optional

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanseal.errors import ModelFaultError, UsageError
from spanseal.genai.messages import ToolCall
from spanseal.genai.plain_json import canonical
from spanseal.tools.annotation import shape_of
from spanseal.tools.docstring import described
from spanseal.tools.gates import as_text, input_gate, read_arguments
from spanseal.tools.tool import Tool, tool
from spanseal.verification.json_schema import problems


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: float
    y: float = 0.0


@tool
def paint(
    text: str, count: int, ratio: float, wet: bool, tags: list[str], size: Literal["s", "m"], colour: Colour,
    points: list[Point], weights: dict[str, float], note: Optional[str] = None,  # noqa: UP045 - users write it so
    limit: Annotated[int | None, "most"] = 5, anything: Any = None,
) -> dict[str, Any]:
    """Paint something.

    It takes a while.

    Args:
        text: what to paint
        count (int): how often,
            at least once
    Returns:
        what it did
    """
    return locals()


GOOD: dict[str, Any] = {
    "text": "x", "count": 1, "ratio": 2, "wet": True, "tags": ["a"], "size": "s", "colour": "blue",
    "points": [{"x": 1}], "weights": {"a": 1},
}


def test_the_schema_says_what_the_signature_says() -> None:
    properties = paint.parameters["properties"]
    assert paint.description == "Paint something.\n\nIt takes a while."
    assert properties["text"] == {"type": "string", "description": "what to paint"}
    assert properties["count"] == {"type": "integer", "description": "how often, at least once"}
    assert properties["size"] == {"enum": ["s", "m"]}
    assert properties["colour"] == {"enum": ["red", "blue"]}
    assert properties["points"]["items"]["required"] == ["x"]
    assert properties["note"] == {"type": ["string", "null"], "default": None}
    assert properties["limit"] == {"type": ["integer", "null"], "description": "most", "default": 5}
    assert properties["anything"] == {"default": None}
    assert paint.parameters["required"] == list(GOOD)
    assert paint.parameters["additionalProperties"] is False


def test_arguments_become_python_values() -> None:
    given = input_gate(paint, ToolCall("1", "paint", canonical(GOOD)))
    result = paint(**given)
    assert (result["colour"], result["points"], result["limit"]) == (Colour.BLUE, [Point(1.0, 0.0)], 5)
    assert isinstance(result["ratio"], float)
    assert isinstance(result["weights"]["a"], float)


@pytest.mark.parametrize(("change", "words"), [
    ({"count": "1"}, "$.count: expected integer, got string"),
    ({"count": True}, "$.count: expected integer, got boolean"),
    ({"count": 1.0}, "$.count: expected integer, got number"),
    ({"text": 1}, "$.text: expected string, got integer"),
    ({"wet": 1}, "$.wet: expected boolean, got integer"),
    ({"size": "xl"}, "$.size: expected one of 's', 'm', got 'xl'"),
    ({"colour": "green"}, "$.colour: expected one of 'red', 'blue', got 'green'"),
    ({"tags": ["a", 1]}, "$.tags[1]: expected string, got integer"),
    ({"points": [{"y": 1}]}, "$.points[0]: 'x' is missing"),
    ({"points": [{"x": 1, "z": 1}]}, "'z' is not known here; allowed is 'x', 'y'"),
    ({"note": 3}, "$.note: expected string or null, got integer"),
    ({"extra": 1}, "$: 'extra' is not known here"),
])
def test_every_malformed_argument_is_named_with_its_place(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ModelFaultError) as caught:
        input_gate(paint, ToolCall("1", "paint", canonical(GOOD | change)))
    assert words in str(caught.value)
    assert "Its parameters are: {" in str(caught.value)


def test_missing_arguments_are_named() -> None:
    with pytest.raises(ModelFaultError) as caught:
        input_gate(paint, ToolCall("1", "paint", ""))
    assert "'text' is missing; $: 'count' is missing" in str(caught.value)


@pytest.mark.parametrize(("text", "words"), [
    ("{", "not valid JSON"), ("[1]", "a JSON array"), ("null", "a JSON null"), ('{"a":1,"a":2}', "appears twice"),
    ('{"a": NaN}', "NaN is no JSON number"), ('{"a":' * 100 + "1" + "}" * 100, "nested deeper"),
    ("[" * 100_000, "nested deeper"), ('{"a": ' + "9" * 5000 + "}", "not accepted"),
])
def test_arguments_that_are_no_object(text: str, words: str) -> None:
    with pytest.raises(ModelFaultError, match=words):
        read_arguments(text)


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=10,
))
def test_any_json_value_is_read_back_as_it_was_written(value: Any) -> None:
    assert read_arguments(canonical({"v": value})) == {"v": value}
    assert not problems(value, shape_of(Any).schema)
    if not isinstance(value, str):
        assert read_arguments('{"v": ' + as_text(value) + "}") == {"v": value}


@pytest.mark.parametrize("annotation", [complex, bytes, dict[int, str], tuple[int, str], set[int], Decimal])
def test_annotations_that_json_cannot_carry_are_refused(annotation: Any) -> None:
    with pytest.raises(UsageError, match="has no JSON form"):
        shape_of(annotation)


def test_sequences_unions_and_nested_dataclasses() -> None:
    shape = shape_of(Sequence[Point] | int)
    assert shape.convert([{"x": 1}]) == [Point(1.0)]
    assert shape.convert(3) == 3
    assert problems("x", shape.schema)
    assert shape_of(tuple[int, ...]).convert([1, 2]) == (1, 2)


def test_a_parameter_without_annotation_is_refused() -> None:
    def loose(a: int) -> int:
        return a

    del loose.__annotations__["a"]
    with pytest.raises(UsageError, match="parameter a: it has no annotation"):
        tool(loose)

    class Shop:
        def price(self, item: str) -> int:
            return len(item)

    with pytest.raises(UsageError, match=r"give the bound one, tool\(obj.price\)"):
        tool(Shop.price)
    assert list(tool(Shop().price).parameters["properties"]) == ["item"]

    def many(*numbers: int) -> int:
        return sum(numbers)

    with pytest.raises(UsageError, match="parameters have names"):
        tool(many)


def test_a_value_that_a_dataclass_refuses_is_the_models_fault() -> None:
    @dataclass
    class Even:
        n: int

        def __post_init__(self) -> None:
            if self.n % 2:
                raise ValueError("n must be even")

    shape = shape_of(Even)
    assert shape.convert({"n": 2}) == Even(2)

    def halve(even: Even) -> int:
        return even.n // 2

    halve.__annotations__ = {"even": Even, "return": int}
    with pytest.raises(ModelFaultError, match="n must be even"):
        input_gate(tool(halve), ToolCall("1", "halve", '{"even": {"n": 3}}'))


@pytest.mark.parametrize("options", [
    {"name": "has space"}, {"name": ""}, {"attempts": 0}, {"parameters": {"type": "array"}},
    {"parameters": {"type": "object", "unevaluatedProperties": False}}, {"returns": {"type": "text"}},
])
def test_impossible_tools_are_refused(options: dict[str, Any]) -> None:
    values: dict[str, Any] = {"name": "t", "description": "", "call": print} | options
    with pytest.raises(UsageError):
        Tool(**values)


def test_rest_docstrings_are_read_too() -> None:
    text, parameters = described("Add.\n\n:param int a: the first\n:param b: the second\n:returns: the sum\n    here")
    assert (text, parameters) == ("Add.", {"a": "the first", "b": "the second"})
