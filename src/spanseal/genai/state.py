"""What an agent knows at one moment: its messages, what it wanted, what happened, what it has spent. Pure.

The state only grows; every change is a new value. Policies read it, steps are identified by its digest.

>>> state = AgentState(messages=(Message("user", "hi"),))
>>> state.next_step().step_number
1
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from spanseal.genai.messages import ChatRequest, LLMResponse, Message, Part, Text, ToolCall, ToolResult, Usage
from spanseal.genai.plain_json import digest_of_plain, plain

CHARS_PER_TOKEN = 4
TOKENS_PER_MESSAGE = 4
NOTHING_TOLD = Usage()


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What became of one tool call that the model asked for.

    ``result`` is the text that the tool (or the refusal) gave; ``fault`` is ``""`` when it worked, ``model`` when the
    model asked for something impossible, ``world`` when the tool failed; ``attempts`` is 0 when it never ran.

    >>> ToolOutcome(ToolCall("c1", "search", "{}"), "no such tool", fault="model").ok
    False
    """

    call: ToolCall
    result: str
    fault: str = ""
    error_type: str = ""
    attempts: int = 0

    @property
    def ok(self) -> bool:
        """True when the tool ran and gave a result."""
        return not self.fault

    @property
    def name(self) -> str:
        """The tool's name as the model wrote it."""
        return self.call.name


@dataclass(frozen=True, slots=True)
class Spending:
    """What the run has used so far: tokens of every answer, also of those that a check refused.

    ``reserved_tokens`` are set aside for the call that runs now and settled by its answer; after a call that failed
    they stay, since nobody knows what the provider counted.
    ``estimated`` is true once a provider told no counts and ours (four characters a token) took their place;
    ``reported`` sums what providers did tell, None where none of them told any.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    model_calls: int = 0
    refused_answers: int = 0
    tool_calls: int = 0
    reserved_tokens: int = 0
    estimated: bool = False
    reported: Usage = NOTHING_TOLD

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    def reserving(self, request: ChatRequest) -> Spending:
        """With the estimate of ``request`` and its ``max_tokens`` set aside."""
        return replace(self, reserved_tokens=estimate_tokens(request.messages) + (request.max_tokens or 0))

    def with_answer(self, response: LLMResponse, sent: tuple[Message, ...]) -> Spending:
        """With one more model call settled; ``sent`` is what the estimate is made from where counts are missing."""
        told = response.usage
        read = _counted(told.input_tokens, response.prompt_tokens)
        written = _counted(told.output_tokens, response.completion_tokens)
        guessed = read is None or written is None or told.estimated
        counted = NOTHING_TOLD if told.estimated else replace(told, input_tokens=read, output_tokens=written)
        return replace(
            self,
            input_tokens=self.input_tokens + (estimate_tokens(sent) if read is None else read),
            output_tokens=self.output_tokens + (estimate_tokens((response.message,)) if written is None else written),
            model_calls=self.model_calls + 1,
            reserved_tokens=0,
            estimated=self.estimated or guessed,
            reported=_summed(self.reported, counted),
        )

    @property
    def usage(self) -> Usage:
        """Everything together: what providers told, and our estimate for the calls of which they told nothing."""
        return replace(
            self.reported, input_tokens=self.input_tokens, output_tokens=self.output_tokens, estimated=self.estimated
        )

    @property
    def guessed(self) -> Usage | None:
        """The part of :attr:`usage` that is our estimate; None where providers told everything."""
        if not self.estimated:
            return None
        told = self.reported
        return Usage(
            self.input_tokens - (told.input_tokens or 0), self.output_tokens - (told.output_tokens or 0), estimated=True
        )


@dataclass(frozen=True, slots=True)
class AgentState:
    """One moment of a run.

    ``step_number`` is the step in progress, counted from 1 (0: nothing begun yet). ``messages`` is the whole history,
    the system turn included. ``pending`` are calls that nobody has answered yet, ``tool_calls`` the
    outcomes of the others. ``metadata`` is the application's own.

    >>> AgentState().adding(Message("user", "hi")).next_step().step_number
    1
    """

    step_number: int = 0
    messages: tuple[Message, ...] = ()
    last_response: LLMResponse | None = None
    tool_calls: tuple[ToolOutcome, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    pending: tuple[ToolCall, ...] = ()
    spending: Spending = Spending()

    @property
    def total_tokens(self) -> int:
        """Tokens used so far, those of refused answers included."""
        return self.spending.tokens

    def next_step(self) -> AgentState:
        """The state at the beginning of the next step."""
        return replace(self, step_number=self.step_number + 1)

    def adding(self, *messages: Message) -> AgentState:
        """With these messages at the end of the history."""
        return replace(self, messages=(*self.messages, *messages))  # callers may have given a list

    def digest(self) -> str:
        """SHA-256 over step, messages, pending calls and outcomes: equal for equal runs.

        Clocks (latency), the provider's ids and raw bodies, token counts and metadata are left out; ids of tool
        calls count by order of appearance only, as providers draw them at random.
        """
        names: dict[str, int] = {}
        return digest_of_plain([
            self.step_number,
            [_without_ids(message, names) for message in self.messages],
            [[call.name, call.arguments] for call in self.pending],
            [[done.call.name, done.call.arguments, done.result, done.fault] for done in self.tool_calls],
        ])


def _counted(told: int | None, other: int) -> int | None:
    """What the provider counted; a negative number is no count, and must not give a budget back what was spent."""
    number = (other or None) if told is None else told
    return number if number is None or number >= 0 else None


def _summed(one: Usage, other: Usage) -> Usage:
    return Usage(
        _sum(one.input_tokens, other.input_tokens), _sum(one.output_tokens, other.output_tokens),
        _sum(one.reasoning_tokens, other.reasoning_tokens), _sum(one.cache_read_tokens, other.cache_read_tokens),
        _sum(one.cache_write_tokens, other.cache_write_tokens),
    )


def _sum(*counts: int | None) -> int | None:
    """Of what was told; a negative number is no count."""
    told = [count for count in counts if count is not None and count >= 0]
    return sum(told) if told else None


def _without_ids(message: Message, names: dict[str, int]) -> list[Any]:
    """Role, name and parts as lists of texts: a digest of a long history must cost little more than its bytes."""
    if isinstance(message.content, str):
        return [message.role, message.name, [["text", message.content]] if message.content else []]
    return [message.role, message.name, [_part_without_ids(part, names) for part in message.content]]


def _part_without_ids(part: Part, names: dict[str, int]) -> Any:
    if isinstance(part, Text):
        return ["text", part.content]
    if isinstance(part, ToolCall):
        return ["tool_call", names.setdefault(part.id, len(names)), part.name, part.arguments]
    if isinstance(part, ToolResult):
        return ["tool_call_response", names.setdefault(part.id, len(names)), part.name, part.content]
    return plain(part)


def estimate_tokens(messages: tuple[Message, ...]) -> int:
    """A guess for budgets, four characters a token plus four tokens a message; never a count.

    >>> estimate_tokens((Message("user", "x" * 40),))
    14
    """
    total = TOKENS_PER_MESSAGE * len(messages)
    for message in messages:
        content = message.content
        chars = len(content) if isinstance(content, str) else sum(map(_length, content))
        total += (chars + CHARS_PER_TOKEN - 1) // CHARS_PER_TOKEN
    return total


def _length(part: Part) -> int:
    if isinstance(part, ToolCall):
        return len(part.name) + len(part.arguments)
    content = getattr(part, "content", "")
    return len(content) if isinstance(content, str) else 0
