"""What a traced call costs: OpenAIAdapter with spans on, against the bare SDK. ``python tests/benchmarks/call_cost.py``

Both sides share one in-process transport and are called in turn, so load on the machine hits both. With spans on means:
export to a folder, capture full, no checks and no control. CPU is that of the whole process while the call runs and,
for the adapter, until its span is flushed, so the export's thread is counted. Medians; ratios are adapter / bare.
Each call's last turn is new, as in a conversation that goes on; ``--fresh`` makes every turn of every call new.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import httpx2
import openai

from spanseal.adapters.openai import OpenAIAdapter
from spanseal.genai.messages import Message, ToolSpec
from spanseal.telemetry.configure import configure, flush, shutdown

ANSWER = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "bench",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "Noted. " * 20}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 3000, "completion_tokens": 40, "total_tokens": 3040},
}
GOALS = {21: 0.5, 201: 0.1}


def conversation(count: int, first_new: int, number: int) -> list[Message]:
    """A system message, then turns of about 600 bytes each; from ``first_new`` on they differ by ``number``."""
    marks = [number if n >= first_new else 0 for n in range(count)]
    roles = ("assistant", "user")
    turns = [Message(roles[n % 2], f"Turn {n}.{marks[n]}: " + "some words of a turn, " * 26) for n in range(1, count)]
    return [Message("system", "You are a careful assistant."), *turns]


def one_call(call: Callable[[], Any], settle: Callable[[], Any]) -> tuple[float, float]:
    """Wall time of the call and process CPU until all that it started is done, in milliseconds."""
    cpu, wall = time.process_time(), time.perf_counter()
    call()
    wall = time.perf_counter() - wall
    settle()
    return wall * 1000, (time.process_time() - cpu) * 1000


def measure(
    count: int, rounds: int, transport: httpx2.MockTransport, *, fresh: bool
) -> dict[str, list[tuple[float, float]]]:
    """Timings of both sides, taken in turn."""
    client = openai.OpenAI(
        api_key="bench", base_url="http://bench.invalid/v1", http_client=httpx2.Client(transport=transport)
    )
    adapter = OpenAIAdapter("bench", client=client)
    tool = ToolSpec("search", "Searches.", {"type": "object", "properties": {"query": {"type": "string"}}})
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    create: Any = client.chat.completions.create

    def bare(messages: list[Message]) -> None:
        wire = [{"role": message.role, "content": message.text} for message in messages]
        create(model="bench", messages=wire, tools=[{"type": "function", "function": function}], temperature=0)

    def traced(messages: list[Message]) -> None:
        adapter.complete(messages, tools=[tool], temperature=0)

    sides: dict[str, tuple[Callable[[list[Message]], None], Callable[[], Any]]] = {
        "bare": (bare, lambda: None),
        "traced": (traced, flush),
    }
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in sides}
    for number in range(rounds + 3):
        messages = conversation(count, 1 if fresh else count - 1, number)
        for name, (call, settle) in sides.items():
            timing = one_call(partial(call, messages), settle)
            if number >= 3:  # the first rounds warm both up
                found[name].append(timing)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--fresh", action="store_true", help="every turn of every call is new")
    options = parser.parse_args()
    rounds: int = options.rounds
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, json=ANSWER))
    with tempfile.TemporaryDirectory() as folder:
        configure(service_name="bench", export=folder, capture="full")
        new = "all turns" if options.fresh else "last turn"
        print(f"export: folder, capture: full, {rounds} rounds, {new} new, medians in ms")
        print(f"{'messages':>8} {'':>12} {'bare':>9} {'traced':>9} {'ratio':>7} {'goal':>6}")
        for count, goal in GOALS.items():
            found = measure(count, rounds, transport, fresh=options.fresh)
            for column, what in enumerate(("wall", "process CPU")):
                bare, traced = (statistics.median(t[column] for t in found[name]) for name in ("bare", "traced"))
                print(f"{count:>8} {what:>12} {bare:>9.3f} {traced:>9.3f} {traced / bare:>7.3f} {goal:>6}")
        shutdown()


if __name__ == "__main__":
    main()
