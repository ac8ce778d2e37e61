"""Generator ``agent-histories/1``: export lines as agents' runs make them. Same seed, same bytes; streaming.

A run is an agent that asks its model ``TURNS`` times. Every turn adds a tool's result and an answer, and every chat
span carries the whole history so far, as real ones do: the text of a run grows with the square of its turns. Around
each chat span stand the small ones (step, control, tool). Lines and attributes are spelled and ordered as
``spanseal.configure(export=FOLDER)`` writes them, one span a line. ``RUNS_AT_ONCE`` runs interleave. The prose is cut
from Python's own reference manual, which is installed everywhere: real words, yet nobody's conversation.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pydoc_data.topics import topics
from typing import Any

import orjson

NAME = "agent-histories/1"
TURNS = 30
RUNS_AT_ONCE = 16
_PROSE = "\n".join(topics[key] for key in sorted(topics))
_START = 1_700_000_000_000_000_000
_RESOURCE = {
    "telemetry.sdk.language": "python", "telemetry.sdk.name": "opentelemetry", "telemetry.sdk.version": "1.45.1",
    "service.instance.id": "dd8e6ee1-b6bf-45fa-97c1-1f6e11559c82", "service.name": "shop-agent",
    "telemetry.distro.name": "spanseal", "telemetry.distro.version": "0.1.0",
}  # fmt: skip
_TOOLS = (
    '[{"type":"function","name":"search","description":"Searches the manual.","parameters":{"type":"object",'
    '"properties":{"query":{"type":"string"}},"required":["query"],"additionalProperties":false}}]'
)


def chat_lines(seed: int = 1) -> Iterator[bytes]:
    """Endless chat spans alone: 30 kB a line on average, from 2 kB at a run's start to about 60 kB at its end."""
    return (line for line, chat in _all(seed) if chat)


def small_lines(seed: int = 1) -> Iterator[bytes]:
    """Endless control spans alone: 1.3 kB a line with its resource, no private attribute."""
    return (line for line, _ in _all(seed, chats=False) if b'"name":"control ' in line)


def all_lines(seed: int = 1) -> Iterator[bytes]:
    """Endless whole runs: for every chat span three small ones and a tool's."""
    return (line for line, _ in _all(seed))


def _all(seed: int, *, chats: bool = True) -> Iterator[tuple[bytes, bool]]:
    source = random.Random(seed)
    running: list[Iterator[tuple[bytes, bool]]] = []
    begun = 0
    while True:
        while len(running) < RUNS_AT_ONCE:
            skip = begun * 7 % TURNS if begun < RUNS_AT_ONCE else 0  # not all at the same turn
            running.append(_Run(random.Random(source.random())).lines(skip, chats=chats))
            begun += 1
        for run in tuple(running):
            turn = next(run, None)
            if turn is None:
                running.remove(run)
            else:
                yield turn


@dataclass
class _Run:
    source: random.Random
    messages: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    seq: int = 0

    def __post_init__(self) -> None:
        self.run, self.writer, self.trace = self.hex(32), self.hex(32), self.hex(32)
        self.root, self.clock = self.hex(16), _START + self.source.randrange(10**15)

    def lines(self, skip: int, *, chats: bool) -> Iterator[tuple[bytes, bool]]:
        self.say("system", "text", content="You are a careful assistant. " + self.prose(900))
        self.say("user", "text", content=self.prose(400))
        for turn in range(TURNS):
            step = self.hex(16)
            if turn >= skip:
                yield self.control("before_model", step), False
                if chats:
                    yield self.chat(step), True
                yield self.control("after_model", step), False
                yield self.tool(step, turn), False
                yield self.small("step", step, self.root, {"spanseal.step.number": turn + 1,
                                                           "spanseal.state.digest": self.hex(64)}), False  # fmt: skip
            else:
                self.chat(step)
                self.tool(step, turn)

    def chat(self, parent: str) -> bytes:
        answer = {"type": "tool_call", "name": "search", "id": f"call_{self.hex(12)}",
                  "arguments": {"query": self.prose(60)}}  # fmt: skip
        said = {"role": "assistant", "parts": [{"type": "text", "content": self.prose(500)}, answer]}
        history = orjson.dumps(self.messages).decode()
        output = orjson.dumps([said | {"finish_reason": "tool_call"}]).decode()
        line = self.line("chat gpt-oss-120b", self.hex(16), parent, 3, {
            "gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "spanseal.llm.format": "openai.chat",
            "spanseal.llm.attempt": 1, "spanseal.capture": "full", **self.stamps(),
            "gen_ai.request.model": "gpt-oss-120b", "spanseal.llm.request.bytes": len(history) + 400,
            "spanseal.llm.request.message_count": len(self.messages), "spanseal.llm.request.sha256": self.hex(64),
            "spanseal.llm.request.params": '{"v":1,"body":{"model":"gpt-oss-120b","messages":{"$":"messages"},"tools":'
            '{"$":"tools"}},"shapes":[{"role":{"$":"role"},"content":{"$":"0.content"}}]}',
            "gen_ai.input.messages": history, "gen_ai.tool.definitions": _TOOLS,
            "spanseal.llm.response.body": '{"id":"chatcmpl-1","object":"chat.completion","choices":' + output + "}",
            "gen_ai.response.model": "gpt-oss-120b", "gen_ai.output.messages": output,
            "gen_ai.usage.input_tokens": len(history) // 4, "gen_ai.usage.output_tokens": 140,
        })  # fmt: skip
        self.messages.append(said)
        return line

    def tool(self, parent: str, turn: int) -> bytes:
        result = self.prose(800)
        self.say("tool", "tool_call_response", id=f"call_{turn}", response=result)
        return self.line("execute_tool search", self.hex(16), parent, 1, {
            **self.stamps(), "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search",
            "gen_ai.tool.call.id": f"call_{turn}", "gen_ai.tool.call.arguments": '{"query":"x"}',
            "gen_ai.tool.call.result": result, "spanseal.tool.attempts": 1,
        })  # fmt: skip

    def control(self, seam: str, parent: str) -> bytes:
        named = {"spanseal.control.seam": seam, "spanseal.control.decision": "allow"}
        return self.small(f"control {seam}", self.hex(16), parent, named)

    def small(self, name: str, span_id: str, parent: str, attributes: Mapping[str, str | int]) -> bytes:
        return self.line(name, span_id, parent, 1, {**self.stamps(), **attributes})

    def stamps(self) -> dict[str, str | int]:
        self.seq += 1
        return {"spanseal.run.id": self.run, "spanseal.writer.id": self.writer, "spanseal.seq": self.seq,
                "gen_ai.agent.name": "shop"}  # fmt: skip

    def line(self, name: str, span_id: str, parent: str, kind: int, attributes: Mapping[str, str | int]) -> bytes:
        self.clock += self.source.randrange(1_000_000, 900_000_000)
        span: dict[str, Any] = {
            "traceId": self.trace, "spanId": span_id, "parentSpanId": parent, "flags": 256, "name": name, "kind": kind,
            "startTimeUnixNano": str(self.clock), "endTimeUnixNano": str(self.clock + 80_123_457),
            "attributes": _pairs(attributes), "status": {},
        }  # fmt: skip
        scope: dict[str, Any] = {"scope": {"name": "spanseal", "version": "0.1.0"}, "spans": [span],
                 "schemaUrl": "urn:spanseal:schema:1"}  # fmt: skip
        return orjson.dumps({"resourceSpans": [{"resource": {"attributes": _pairs(_RESOURCE)}, "scopeSpans": [scope]}]})

    def say(self, role: str, kind: str, **part: str) -> None:
        self.messages.append({"role": role, "parts": [{"type": kind, **part}]})

    def prose(self, mean: int) -> str:
        at = self.source.randrange(len(_PROSE) - 4 * mean)
        return _PROSE[at : at + self.source.randrange(mean // 2, mean + mean // 2)]

    def hex(self, digits: int) -> str:
        return f"{self.source.getrandbits(4 * digits):0{digits}x}"


def _pairs(values: Mapping[str, str | int]) -> list[dict[str, Any]]:
    return [
        {"key": key, "value": {"stringValue": value} if isinstance(value, str) else {"intValue": str(value)}}
        for key, value in values.items()
    ]
