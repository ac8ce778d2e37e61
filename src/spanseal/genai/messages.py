"""Values that every adapter, check, policy and reader exchanges: messages, tool specifications, answers. Pure.

>>> Message("user", "What is 17 * 23?").text
'What is 17 * 23?'
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, cast, get_args

from spanseal.errors import UsageError

Json: TypeAlias = "Mapping[str, Any] | Sequence[Any] | str | int | float | bool | None"


@dataclass(frozen=True, slots=True)
class Text:
    """Plain text of a message."""

    content: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What the model wants done. ``arguments`` is the text as the model wrote it (JSON, if it kept its word).

    >>> ToolCall("c1", "multiply", '{"a": 17, "b": 23}').name
    'multiply'
    """

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool gave back for the call ``id``, as the text that the model reads.

    >>> Message("tool", (ToolResult("c1", "391"),)).parts[0].content
    '391'
    """

    id: str
    content: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The model's thinking, where the provider shows it."""

    content: str


@dataclass(frozen=True, slots=True)
class Media:
    """Image, audio, video or document, by reference (``uri``, ``file_id``) or by content (``data``, base64)."""

    modality: str
    uri: str = ""
    file_id: str = ""
    data: str = ""
    mime_type: str = ""


@dataclass(frozen=True, slots=True)
class Other:
    """A part of a type that we do not know, kept as it came."""

    value: Mapping[str, Any]


Part: TypeAlias = Text | ToolCall | ToolResult | Reasoning | Media | Other


@dataclass(frozen=True, slots=True)
class Message:
    """One message. ``role`` is system, developer, user, assistant or tool; ``content`` a text or its parts.

    >>> Message("assistant", (Text("391"), ToolCall("c1", "check", "{}"))).tool_calls[0].name
    'check'
    """

    role: str
    content: str | tuple[Part, ...] = ""
    name: str = ""

    @property
    def parts(self) -> tuple[Part, ...]:
        """The content as parts; a text is one part, an empty text none."""
        if isinstance(self.content, str):
            return (Text(self.content),) if self.content else ()
        return self.content

    @property
    def text(self) -> str:
        """All text parts joined."""
        return "".join(part.content for part in self.parts if isinstance(part, Text))

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """The calls that the message asks for, in order."""
        return tuple(part for part in self.parts if isinstance(part, ToolCall))


def conversation(messages: Sequence[Message] | Message | str, place: str = "messages") -> tuple[Message, ...]:
    """The messages that a caller means: a text is the user's only message.

    Raises :class:`spanseal.errors.UsageError` naming ``place`` and the item that is no message, or that has content
    which is neither a text nor parts: it would be lost on the way.

    >>> conversation("hi")
    (Message(role='user', content='hi', name=''),)
    """
    if isinstance(messages, str | Message):
        return (Message("user", messages) if isinstance(messages, str) else messages,)
    if not isinstance(messages, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance] - untyped callers
        raise UsageError(f"{place}: give a text or Message values, not {type(messages).__name__}")
    asked = tuple(messages)
    for number, message in enumerate(cast("tuple[object, ...]", asked)):
        if not isinstance(message, Message):
            kind = type(message).__name__
            raise UsageError(f'{place}: item {number} is a {kind}; give Message("user", "…") values, or one text')
        whole = cast("object", message.content)
        parts = cast("tuple[object, ...]", whole) if isinstance(whole, tuple) else ()
        if not isinstance(whole, str | tuple) or not all(isinstance(part, _PARTS) for part in parts):
            raise UsageError(f"{place}: the content of item {number} is neither a text nor a tuple of parts")
    return asked


_PARTS: tuple[type, ...] = get_args(Part)


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model sees it. ``parameters`` is a JSON Schema object.

    >>> ToolSpec("now").parameters
    {'type': 'object', 'properties': {}}
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    strict: bool | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them; None where it did not tell. ``estimated`` marks our own estimate.

    >>> Usage(input_tokens=12).output_tokens is None
    True
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """Everything that one model call asks for. None and empty mean: not sent, the provider's default holds.

    ``response_format`` is a JSON Schema that the answer must follow; ``extra`` are further fields of the wire
    format, sent as they are.

    >>> ChatRequest("m", (Message("user", "hi"),)).with_(temperature=0.0).temperature
    0.0
    """

    model: str
    messages: tuple[Message, ...]
    temperature: float | None = None
    max_tokens: int | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: str | None = None
    response_format: Mapping[str, Any] | None = None
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def with_(self, **changes: Any) -> ChatRequest:
        """A copy with these fields changed; an unknown field is a TypeError."""
        return replace(self, **changes)


@dataclass(frozen=True, slots=True)
class LLMResponse:
    """One answer. ``finish_reason`` is the convention's word (stop, length, tool_call, content_filter, error).

    ``prompt_tokens`` and ``completion_tokens`` are 0 where the provider told nothing (``usage`` has None then);
    ``latency_ms`` is wall time of the call, retries included; ``raw`` is the wire body, parsed.

    >>> LLMResponse("391", "m", finish_reason="stop").message.text
    '391'
    """

    text: str
    model: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    latency_ms: float = 0.0
    raw: Mapping[str, Any] = field(default_factory=dict[str, Any])
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = ""
    response_id: str = ""
    reasoning: str = ""
    usage: Usage = Usage()

    @property
    def message(self) -> Message:
        """The answer as the assistant's message, to be appended to the history."""
        parts: list[Part] = []
        if self.reasoning:
            parts.append(Reasoning(self.reasoning))
        if self.text:
            parts.append(Text(self.text))
        parts.extend(self.tool_calls)
        return Message("assistant", tuple(parts))


@dataclass(frozen=True, slots=True)
class Chunk:
    """One piece of a stream: new text, new reasoning; the last one carries the whole ``response``.

    >>> "".join(chunk.text for chunk in (Chunk("39"), Chunk("1")))
    '391'
    """

    text: str = ""
    reasoning: str = ""
    response: LLMResponse | None = None
