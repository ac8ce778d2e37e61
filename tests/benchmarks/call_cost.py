"""What a traced call costs: OpenAIAdapter with spans on, and a whole agent's step, against the bare SDK.

All sides share one in-process transport and are called in turn, some calls at a time, so load hits all. *spans*: an
adapter's call. *whole*: the same call as one run of a VerifiableAgent, with its checks, its policies at every seam and
the spans of run, step, control and verification. Export (``--to``): ``group``, over OTLP/HTTP to another process, the
spool written before the call returns; or ``folder``. CPU is that of the whole process until all that was exported has
arrived, so export threads count. Medians; ratios are to bare. Each call's last turn is new, as in a conversation that
goes on; ``--fresh`` makes every turn of every call new.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spanseal import (
    ControlPlane,
    MaxLengthCheck,
    MaxStepsPolicy,
    NotEmptyCheck,
    TokenBudgetPolicy,
    VerifiableAgent,
    VerificationPipeline,
)
from spanseal.adapters.openai import OpenAIAdapter
from spanseal.genai.messages import Message
from spanseal.telemetry.configure import configure, flush, shutdown
from spanseal.tools.tool import tool
from tests.benchmarks import clients
from tests.benchmarks.measure import heading, table
from tests.benchmarks.receiver import receiver

GOALS = {21: 0.5, 201: 0.1}
CALLS = {21: 16, 201: 4}
"""In a turn: longer than the 50 ms after which spans are on the disk itself, as in ``instrument_cost``."""
Timing = tuple[float, float]


@tool
def search(query: str) -> str:
    """Searches."""
    return query


def timed(call: Callable[[list[Message]], Any], talks: list[list[Message]], settle: Callable[[], Any]) -> Timing:
    """Wall time of the calls and process CPU until all that they started is done, in milliseconds a call."""
    cpu, wall = time.process_time(), time.perf_counter()
    for talk in talks:
        call(talk)
    wall = time.perf_counter() - wall
    settle()
    return wall * 1000 / len(talks), (time.process_time() - cpu) * 1000 / len(talks)


def talk(count: int, number: int, *, fresh: bool) -> list[Message]:
    """A conversation that ends with the user's turn, as an agent's question must."""
    messages = clients.conversation(count, 1 if fresh else count - 1, number)
    return [*messages[:-1], Message("user", messages[-1].text)]


def sides() -> dict[str, Callable[[list[Message]], Any]]:
    """What is called in turn."""
    client = clients.client_of(clients.answering())
    adapter = OpenAIAdapter("bench", client=client)
    checks = VerificationPipeline([NotEmptyCheck(), MaxLengthCheck(10_000)])
    control = ControlPlane([MaxStepsPolicy(8), TokenBudgetPolicy(10_000_000)])
    agent = VerifiableAgent(adapter, tools=[search], verification=checks, control=control, temperature=0)
    return {
        "bare": lambda messages: clients.bare_create(client, messages=clients.wire(messages), **clients.OPTIONS),
        "spans": lambda messages: adapter.complete(messages, tools=[clients.TOOL], temperature=0),
        "whole": agent.run,
    }


def measure(count: int, rounds: int, *, fresh: bool) -> dict[str, list[Timing]]:
    """Timings of all sides, taken in turn."""
    called = sides()
    found: dict[str, list[Timing]] = {name: [] for name in called}
    calls = CALLS[count]
    for number in range(0, (rounds + 2) * calls, calls):
        talks = [talk(count, number + n, fresh=fresh) for n in range(calls)]
        for name, call in called.items():
            timing = timed(call, talks, flush)
            if number >= 2 * calls:  # the first rounds warm all up
                found[name].append(timing)
    return found


def rows(count: int, found: dict[str, list[Timing]]) -> list[list[str | float]]:
    """Wall and CPU of one length."""
    made: list[list[str | float]] = []
    for column, what in enumerate(("wall", "process CPU")):
        bare, spans, whole = (statistics.median(timing[column] for timing in side) for side in found.values())
        made.append([f"{count}", what, bare, spans, whole, f"{spans / bare:.3f}", f"{whole / bare:.3f}",
                     f"{GOALS[count]}"])  # fmt: skip
    return made


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--to", choices=("group", "folder"), default="group")
    parser.add_argument("--fresh", action="store_true", help="every turn of every call is new")
    asked = parser.parse_args()
    with receiver() as url, tempfile.TemporaryDirectory() as folder:
        os.environ["SPANSEAL_STATE_DIR"] = str(Path(folder, "state"))
        export = url if asked.to == "group" else Path(folder, "spans")
        configure(service_name="bench", export=export, capture="full", durability="group")
        found = [row for count in GOALS for row in rows(count, measure(count, asked.rounds, fresh=asked.fresh))]
        shutdown()
    new = "all turns" if asked.fresh else "last turn"
    heading(f"OpenAIAdapter, and a run of an agent, beside the bare call; export: {asked.to}; {new} new")
    table(("messages", "ms", "bare", "spans", "whole", "spans/bare", "whole/bare", "goal"), found)


if __name__ == "__main__":
    main()
