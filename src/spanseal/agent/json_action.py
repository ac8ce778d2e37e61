"""The JSON action that a model without tool calls writes: its schema and its reader. Pure.

>>> read_action('{"action": "final_answer", "input": {"answer": "391"}}').answer
'391'
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from spanseal.errors import ModelFaultError
from spanseal.genai.messages import ToolSpec
from spanseal.verification.json_text import JsonTextError, kind, parse

FINAL_ANSWER: Final = "final_answer"
_SHAPE: Final = '{"action": "<name>", "input": {…}}'


@dataclass(frozen=True, slots=True)
class JSONAction:
    """A well-formed action; ``answer`` is set for ``final_answer`` only and never blank then."""

    name: str
    input: Mapping[str, Any] = field(default_factory=dict[str, Any])
    answer: str = ""


def read_action(text: str) -> JSONAction:
    """The action that ``text`` is. Raises :class:`ModelFaultError` with what is wrong and what is expected.

    The answer of ``final_answer`` may lie in ``input`` or beside ``action``; numbers and other JSON values are
    taken as their JSON text. Whether the named tool exists is the executor's to say.
    """
    try:
        value = parse(text)
    except JsonTextError as error:
        raise ModelFaultError(f"{error}; expected is exactly one JSON object {_SHAPE}, no text around it") from None
    if not isinstance(value, dict):
        raise ModelFaultError(f"it is a JSON {kind(value)}; expected is one JSON object {_SHAPE}")
    found = cast("dict[str, Any]", value)
    name = found.get("action")
    if not isinstance(name, str) or not name.strip():
        raise ModelFaultError(f'"action" is missing or no text; expected is {_SHAPE}')
    given = found.get("input", {})
    if name == FINAL_ANSWER:
        return JSONAction(name, answer=_answer(found, given))
    if not isinstance(given, dict):
        raise ModelFaultError(f'"input" is a JSON {kind(given)}; expected is an object with the arguments of {name}')
    return JSONAction(name, cast("dict[str, Any]", given))


def _answer(found: Mapping[str, Any], given: object) -> str:
    inner = cast("Mapping[str, Any]", given).get("answer") if isinstance(given, Mapping) else given
    answer = found.get("answer") if inner is None else inner
    if answer is not None and not isinstance(answer, str | dict | list):
        answer = str(answer).lower() if isinstance(answer, bool) else str(answer)
    if not isinstance(answer, str) or not answer.strip():
        raise ModelFaultError('"answer" is missing, empty or no text; expected is '
                              f'{{"action": "{FINAL_ANSWER}", "input": {{"answer": "<text>"}}}}')
    return answer


def action_schema(tools: Sequence[ToolSpec], *, answer: bool = True) -> dict[str, Any]:
    """The JSON Schema of every action that is possible: each tool with its own parameters, and the final answer."""
    text = {
        "type": "object", "properties": {"answer": {"type": "string", "minLength": 1}},
        "required": ["answer"], "additionalProperties": False,
    }
    choices = [(tool.name, dict(tool.parameters)) for tool in tools] + ([(FINAL_ANSWER, text)] if answer else [])
    return {"anyOf": [
        {
            "type": "object", "properties": {"action": {"const": name}, "input": parameters},
            "required": ["action", "input"], "additionalProperties": False,
        }
        for name, parameters in choices
    ]}
