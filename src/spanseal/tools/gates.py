"""The two gates of a tool: arguments before the call, the result after it. Pure; may import to_json of telemetry.

What the model did wrong is told to the model (:class:`ModelFaultError`); what the tool gave wrong is the world's
fault (:class:`ToolFaultError`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, cast

from spanseal.errors import ModelFaultError, ToolFaultError, told
from spanseal.genai.messages import ToolCall
from spanseal.telemetry.content.to_json import to_json
from spanseal.tools.tool import Tool
from spanseal.verification.json_schema import problems
from spanseal.verification.json_text import JsonTextError, kind, parse


def read_arguments(text: str) -> dict[str, Any]:
    """The arguments as the model wrote them, as an object; "" is an empty one.

    Raises ModelFaultError with what is malformed.

    >>> read_arguments('{"a": 1}')
    {'a': 1}
    """
    if not text.strip():
        return {}
    try:
        value = parse(text)
    except JsonTextError as error:
        raise ModelFaultError(f"the arguments are {error}; expected is a JSON object") from None
    if not isinstance(value, dict):
        raise ModelFaultError(f"the arguments are a JSON {kind(value)}; expected is a JSON object")
    return cast("dict[str, Any]", value)


def input_gate(tool: Tool, call: ToolCall) -> dict[str, Any]:
    """Keyword arguments for ``tool``. Raises ModelFaultError naming everything that is wrong with the arguments."""
    try:
        arguments = read_arguments(call.arguments)
        found = problems(arguments, tool.parameters, exact_integers=True)
        if found:
            raise ModelFaultError("; ".join(found))
        return _bound(tool, arguments)
    except ModelFaultError as error:
        schema = json.dumps(tool.parameters, ensure_ascii=False)
        raise ModelFaultError(
            f"The call of {tool.name} was not made, its arguments are wrong: {error}. Its parameters are: {schema}"
        ) from None


def _bound(tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return tool.bind(arguments)
    except Exception as error:  # noqa: BLE001 - a dataclass may refuse its values in its own way
        raise ModelFaultError(f"they were refused: {told(error)}") from None


def unknown_tool(name: str, tools: Mapping[str, Tool]) -> str:
    """The feedback for a call of a tool that there is not."""
    have = ", ".join(sorted(tools)) or "none"
    return f"There is no tool named {name!r}; nothing was done. Available tools: {have}."


def output_gate(tool: Tool, result: object) -> str:
    """The result as the model's text. Raises ToolFaultError when it breaks the tool's ``returns``."""
    text = as_text(result)
    if tool.returns is not None:
        value = result if isinstance(result, str) else json.loads(text)
        found = problems(value, tool.returns)
        if found:
            raise ToolFaultError(f"the result of {tool.name} is malformed: {'; '.join(found)}")
    return cut(text, tool.max_result_chars)


def as_text(value: object) -> str:
    """A text as it is, everything else as JSON, by the rules of telemetry content where JSON has no form of its own.

    The model, the history and the record get the same text: dates as ISO, bytes as base64, dataclasses and pydantic
    models as objects (:func:`spanseal.telemetry.content.to_json.to_json`).

    >>> as_text({"total": 3})
    '{"total": 3}'
    >>> as_text([b"x", {2, 1}])
    '[{"base64": "eA=="}, [1, 2]]'
    """
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return json.dumps(json.loads(to_json(value)), ensure_ascii=False)


def failure(tool: Tool, error: Exception, attempts: int) -> str:
    """The structured observation of a tool that failed: a JSON object with its name, error, message and attempts."""
    message = cut(told(error), tool.max_result_chars).removeprefix(type(error).__name__).removeprefix(": ")
    return as_text({"error": {
        "tool": tool.name, "type": type(error).__name__, "message": message, "attempts": attempts,
    }})


def cut(text: str, limit: int) -> str:
    """``text``, or its beginning and how much there was.

    >>> cut("abcdef", 4)
    'abcd… [cut: the first 4 of 6 characters]'
    """
    return text if len(text) <= limit else f"{text[:limit]}… [cut: the first {limit} of {len(text)} characters]"
