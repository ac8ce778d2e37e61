"""Functions that cannot be tools are refused when they are made one; odd but honest ones work."""

from __future__ import annotations

import functools
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal, NewType, cast

import pytest

from spanseal.errors import UsageError
from spanseal.genai.messages import ToolCall
from spanseal.tools.executor import ToolExecutor
from spanseal.tools.tool import Tool, tool

UserId = NewType("UserId", int)


class Odd(Enum):
    BYTES = b"x"


class Pair(Enum):
    A = (1, 2)


class Colour(Enum):
    RED = "r"


@dataclass
class Node:
    value: int
    next: Node | None = None


@dataclass
class Broken:
    value: Nowhere  # type: ignore[name-defined]  # noqa: F821  # pyright: ignore[reportUndefinedVariable, reportUnknownVariableType]


def takes(annotation: Any) -> Callable[..., str]:
    def function(value: Any) -> str:
        return str(value)

    function.__annotations__["value"] = annotation
    return function


def numbers() -> Iterator[int]:
    yield 1


async def later() -> AsyncIterator[int]:
    yield 1


def add(a: int, b: int = 1) -> int:
    """Add."""
    return a + b


REFUSED: list[tuple[Any, str]] = [
    (takes(Odd), "b'x' cannot be told"), (takes(Pair), "cannot be told"),
    (takes(Literal[Colour.RED]), "cannot be told"),
    (takes(Literal[b"x"]), "cannot be told"), (takes(Node), "contains itself"), (takes(Broken), "cannot be read"),
    (numbers, "generator"), (later, "generator"), (Node, "it is a class"), (int, "it is a class"), (max, "max"),
    (functools.partial(add, b=2), r"functools\.partial"), ("add", "no function"), (None, "no function"),
    (tool(add), "a Tool already"),
]


@pytest.mark.parametrize(("function", "words"), REFUSED)
def test_what_cannot_be_a_tool_is_refused_at_once(function: Any, words: str) -> None:
    made: Callable[[Any], Tool] = tool()
    with pytest.raises(UsageError, match=words):
        made(function)


TOOLS: list[tuple[dict[str, Any], str]] = [
    ({"call": None}, "call is a function"), ({"description": None}, "description is a text"),
    ({"name": None}, "a name has"), ({"attempts": "many"}, "attempts"), ({"max_result_chars": 0}, "max_result_chars"),
    ({"retry_delay": -1}, "retry_delay"), ({"parameters": {"type": "object", "default": object()}}, "must be JSON"),
]


@pytest.mark.parametrize(("options", "words"), TOOLS)
def test_a_tool_that_cannot_work_is_refused_at_once(options: dict[str, Any], words: str) -> None:
    given = {"name": "add", "description": "Add.", "call": add} | options
    with pytest.raises(UsageError, match=words):
        Tool(**cast("Any", given))


def test_a_default_that_json_cannot_say_is_not_told() -> None:
    def odd(a: int = field(default=1), b: Colour = Colour.RED, c: list[int] = []) -> int:  # noqa: B006
        return a

    told = tool(odd).parameters["properties"]
    assert "default" not in told["a"]
    assert (told["b"]["default"], told["c"]["default"]) == ("r", [])
    assert json.dumps(told)


def test_a_new_type_is_what_it_is_made_of() -> None:
    def look_up(user: UserId) -> str:
        return f"user {user}"

    made = tool(look_up)
    assert made.parameters["properties"]["user"] == {"type": "integer"}
    assert ToolExecutor([made]).execute(ToolCall("1", "look_up", '{"user": 3}')).result == "user 3"
