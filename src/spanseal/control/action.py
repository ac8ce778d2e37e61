"""What is about to happen at a seam, as a value that a policy can read, change, and show to a person. Pure.

======================  =====================  ==================================================================
seam                    action                 may be modified
======================  =====================  ==================================================================
before_model            :class:`ModelCall`     every field of the request (messages, tools, temperature, …)
after_model             :class:`ModelAnswer`   text, tool_calls
before_tool             :class:`ToolUse`       arguments
after_tool              :class:`ToolAnswer`    result
before_answer           :class:`FinalAnswer`   answer
======================  =====================  ==================================================================

A modification changes what is sent or used, never what was recorded before. With the JSON protocol the text of a
:class:`ModelAnswer` is the action.

>>> FinalAnswer("391").modified({"answer": "It is 391."}).answer
'It is 391.'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, TypeAlias, cast, get_args

from spanseal.errors import UsageError
from spanseal.genai.messages import ChatRequest, LLMResponse, Message, ToolCall, ToolSpec
from spanseal.genai.plain_json import canonical, digest, plain

Seam = Literal["before_model", "after_model", "before_tool", "after_tool", "before_answer"]
SEAMS: tuple[Seam, ...] = get_args(Seam)
Modifications: TypeAlias = "Mapping[str, Any]"


def _refuse_unknown(seam: Seam, modifications: Modifications, allowed: tuple[str, ...]) -> None:
    for name in modifications:
        if name not in allowed:
            raise UsageError(f"{seam}: {name!r} cannot be modified here; possible are {', '.join(allowed)}")


def _need(seam: Seam, name: str, value: object, wanted: type | tuple[type, ...], words: str) -> None:
    if not isinstance(value, wanted):
        raise UsageError(f"{seam}: the modification {name!r} must be {words}, not {type(value).__name__}")


def _all(seam: Seam, name: str, value: object, wanted: type) -> tuple[Any, ...]:
    words = f"a list of {wanted.__name__}"
    _need(seam, name, value, (list, tuple), words)
    items = tuple(cast("list[object]", value))
    for item in items:
        _need(seam, name, item, wanted, words)
    return items


_NUMBER = (int, float, type(None))
_SCALARS: dict[str, tuple[tuple[type, ...], str]] = {
    "model": ((str,), "a text"),
    "temperature": (_NUMBER, "a number or None"),
    "top_p": (_NUMBER, "a number or None"),
    "max_tokens": ((int, type(None)), "an integer or None"),
    "seed": ((int, type(None)), "an integer or None"),
    "tool_choice": ((str, type(None)), "a text or None"),
    "response_format": ((Mapping, type(None)), "a JSON Schema or None"),
    "extra": ((Mapping,), "a mapping"),
}
_LISTS: dict[str, type] = {"messages": Message, "tools": ToolSpec, "stop": str}


@dataclass(frozen=True, slots=True)
class ModelCall:
    """The request about to be sent; ``attempt`` is 1 unless an earlier answer of this step was refused.

    ``tools`` and ``tool_choice`` hold with every protocol: a tool taken away here cannot be called, ``required``
    refuses an answer without a call. The JSON protocol puts both into its schema and checks afterwards.

    >>> call = ModelCall(ChatRequest("m", (Message("user", "hi"),)))
    >>> call.modified({"temperature": 0.0}).request.temperature
    0.0
    """

    seam: ClassVar[Seam] = "before_model"
    request: ChatRequest
    attempt: int = 1

    def modified(self, modifications: Modifications) -> ModelCall:
        """With other request fields. Raises UsageError for an unknown field or a wrong type."""
        _refuse_unknown(self.seam, modifications, tuple(field.name for field in fields(ChatRequest)))
        changes: dict[str, Any] = {}
        for name, value in modifications.items():
            if name in _LISTS:
                changes[name] = _all(self.seam, name, value, _LISTS[name])
            else:
                _need(self.seam, name, value, *_SCALARS[name])
                changes[name] = value
        return replace(self, request=self.request.with_(**changes))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON of the whole action."""
        return {"seam": self.seam, "request": plain(self.request), "attempt": self.attempt}


@dataclass(frozen=True, slots=True)
class ModelAnswer:
    """What the model answered, before it is checked.

    >>> ModelAnswer(LLMResponse("391", "m")).modified({"text": "It is 391."}).response.text
    'It is 391.'
    """

    seam: ClassVar[Seam] = "after_model"
    response: LLMResponse

    def modified(self, modifications: Modifications) -> ModelAnswer:
        """With another text or other tool calls."""
        _refuse_unknown(self.seam, modifications, ("text", "tool_calls"))
        changes: dict[str, Any] = dict(modifications)
        if "text" in changes:
            _need(self.seam, "text", changes["text"], str, "a text")
        if "tool_calls" in changes:
            changes["tool_calls"] = _all(self.seam, "tool_calls", changes["tool_calls"], ToolCall)
        return replace(self, response=replace(self.response, **changes))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON: text and tool calls; clocks, counts and the raw body are no part of the action."""
        calls = plain(self.response.tool_calls)
        return {"seam": self.seam, "text": self.response.text, "tool_calls": calls, "model": self.response.model}


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool about to run. ``arguments`` is the parsed object, None while the model's text is not a JSON object.

    >>> use = ToolUse(ToolCall("c1", "order", '{"count": 900}'), {"count": 900})
    >>> use.modified({"arguments": {"count": 9}}).call.arguments
    '{"count":9}'
    """

    seam: ClassVar[Seam] = "before_tool"
    call: ToolCall
    arguments: Mapping[str, Any] | None = None

    def modified(self, modifications: Modifications) -> ToolUse:
        """With other arguments; the call's text follows."""
        _refuse_unknown(self.seam, modifications, ("arguments",))
        arguments = modifications.get("arguments", self.arguments)
        _need(self.seam, "arguments", arguments, Mapping, "an object of arguments")
        text = canonical(arguments)
        return ToolUse(replace(self.call, arguments=text), plain(arguments))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON; the model's own text stands in where it could not be parsed."""
        arguments = self.call.arguments if self.arguments is None else plain(self.arguments)
        return {"seam": self.seam, "tool": self.call.name, "call_id": self.call.id, "arguments": arguments}


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What a tool gave back, before the model sees it; ``fault`` is "", "model" or "world".

    >>> ToolAnswer(ToolCall("c1", "search", "{}"), "three hits").modified({"result": "no hit"}).result
    'no hit'
    """

    seam: ClassVar[Seam] = "after_tool"
    call: ToolCall
    result: str
    fault: str = ""

    def modified(self, modifications: Modifications) -> ToolAnswer:
        """With another result for the model to see."""
        _refuse_unknown(self.seam, modifications, ("result",))
        result = modifications.get("result", self.result)
        return replace(self, result=result if isinstance(result, str) else canonical(result))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {"seam": self.seam, "tool": self.call.name, "call_id": self.call.id, "result": self.result,
                "fault": self.fault}


@dataclass(frozen=True, slots=True)
class FinalAnswer:
    """The answer about to be given to the caller.

    >>> FinalAnswer("391").to_json()
    {'seam': 'before_answer', 'answer': '391'}
    """

    seam: ClassVar[Seam] = "before_answer"
    answer: str

    def modified(self, modifications: Modifications) -> FinalAnswer:
        """With another answer."""
        _refuse_unknown(self.seam, modifications, ("answer",))
        answer = modifications.get("answer", self.answer)
        _need(self.seam, "answer", answer, str, "a text")
        if not answer.strip():
            raise UsageError(f"{self.seam}: an answer without text is none; halt instead")
        return FinalAnswer(answer)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON."""
        return {"seam": self.seam, "answer": self.answer}


Action: TypeAlias = ModelCall | ModelAnswer | ToolUse | ToolAnswer | FinalAnswer


def action_digest(action: Action) -> str:
    """SHA-256 that binds a decision to exactly this action."""
    return digest(action.to_json())
