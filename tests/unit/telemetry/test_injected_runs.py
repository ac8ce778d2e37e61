"""Whatever of telemetry breaks while an agent runs and its spans are exported: the agent goes on, and so does the next.

Found by running, threads of the exporter included: a function that is new is broken here without a change to this file.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import traceback
from collections.abc import Callable, Generator
from pathlib import Path
from types import FunctionType
from typing import Any, Final

import pytest
from tests.unit.telemetry.export.test_sender import Server
from tests.unit.telemetry.processes import spans_in
from tests.unit.telemetry.seams.broken import broken, functions_run_by
from tests.unit.telemetry.wire_world import Answer, bare_client, whole

from spanseal.adapters.openai import OpenAIAdapter
from spanseal.agent.build import VerifiableAgent
from spanseal.control.plane import ControlPlane
from spanseal.control.policies.max_steps import MaxStepsPolicy
from spanseal.records.otlp import parse_line
from spanseal.telemetry.active import active
from spanseal.telemetry.configure import configure, flush, shutdown
from spanseal.telemetry.export import sender
from spanseal.telemetry.export.otlp_http import Route
from spanseal.tools.tool import tool
from spanseal.verification.checks.forbidden_phrase import ForbiddenPhraseCheck
from spanseal.verification.pipeline import VerificationPipeline

_SPAN: Final = ("on_start", "on_end")
KERNEL: Final = frozenset(
    {
        "run_span", "RunSpan.__init__", "RunSpan.finish", "_end", "open_span", "_started", "attempt", "active",
        "run_of", "current_run", "current_conversation", "instrument", "is_swapped", "tell", "add_event", "fail",
        "emit_event",
        "set_content", "set_digest", "flush", "shutdown", "guarded", "guarded.<locals>.safe", "_start",
        "RecordAll.should_sample", *(f"{name}.{when}" for name in ("Relay", "LedgerProcessor") for when in _SPAN),
        "Reader.__init__", "noting", "_reset", "send_once", "target_of", "_provider", "_swap",
        *(f"Sender.{name}" for name in ("_run", "_rest", "_leave")),
        *(f"_sync_methods.<locals>.{name}" for name in ("request", "_send_request")),
    }
)
"""What stands between the program (our agent, the SDK, its threads) and what is guarded: frames that pass on, read a
context variable, or are the guard themselves (of the sender, its thread's loop). Whatever they call is broken."""
SOAK: Final = bool(os.environ.get("SPANSEAL_SOAK"))
SHARE: Final = 1 if SOAK else 6
"""Of so many functions one is broken in the ordinary run, another one each time."""
CALL: Final = {"id": "c", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 2}'}}
ASKS: Final = {"index": 0, "message": {"role": "assistant", "content": None, "tool_calls": [CALL]},
               "finish_reason": "tool_calls"}  # fmt: skip


def application(name: str) -> tuple[Any, ...]:
    """An agent with a tool, which works in a thread with spans of its own, a refused answer, a good one."""

    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        theirs = active().provider.get_tracer("theirs")  # type: ignore[union-attr]
        with theirs.start_as_current_span("step", attributes={"mail": "me@example.org"}) as step:
            step.add_event("said", {"token": "sk-" + "a1B2" * 8})
        thread = threading.Thread(target=lambda: theirs.start_span("there").end())
        thread.start()
        thread.join()
        return a + b

    answers = [Answer(body={"id": "r1", "model": "m-1", "choices": [ASKS]}), whole("openai", "bad"), whole("openai")]
    checks, control = VerificationPipeline([ForbiddenPhraseCheck(["bad"])]), ControlPlane([MaxStepsPolicy(8)])
    try:
        adapter = OpenAIAdapter("m", client=bare_client("openai", answers, []))
        agent = VerifiableAgent(adapter, tools=[add], name=name, verification=checks, control=control)
        result = agent.run("How much is it?")
    except Exception as error:
        return (error, *traceback.format_tb(error.__traceback__)[-3:])
    return result.outcome, result.answer, [done.result for done in result.tool_calls], result.steps


DONE: Final = ("completed", "hello", ["3"], 2)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Generator[Server]:
    made = Server()

    def connection(_: Route) -> Server:
        return made

    monkeypatch.setattr(Route, "connection", connection)
    monkeypatch.setattr(sender, "_GATHER", 0.005)
    monkeypatch.setenv("SPANSEAL_METRICS", "off")
    monkeypatch.setenv("SPANSEAL_EVENTS", "off")
    yield made
    shutdown()


def run_by(begin: Callable[[], None]) -> list[FunctionType]:
    """The functions of telemetry that run once ``begin`` is over, in whatever thread."""

    def after() -> None:
        application("agent")
        flush(2)
        shutdown()

    def both() -> None:
        begin()
        after()

    setting_up = functions_run_by(begin)
    here = functions_run_by(after)
    found = [one for one in functions_run_by(both) if one in here or one not in setting_up]
    return [one for one in found if one.__globals__["__name__"].startswith("spanseal.telemetry")]


@pytest.mark.parametrize("to", ["folder", "url"])
def test_every_function_that_runs(to: str, tmp_path: Path, server: Server, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "spanseal")
    folder = tmp_path / "spans"

    def begin() -> None:
        configure("a", export=folder if to == "folder" else "http://collector.example", capture="full", redact=["all"])

    tried = [one for one in run_by(begin) if one.__code__.co_qualname not in KERNEL]
    assert len(tried) > 150
    faults: list[str] = []
    for number, function in enumerate(random.sample(tried, len(tried) // SHARE)):
        error = ("RecursionError", "OSError")[number % 2]
        begin()
        with broken(function, error, after=False):
            seen = application("faulty")
            flush(0.05)
        if seen != DONE:
            faults.append(f"{function.__globals__['__name__']}.{function.__code__.co_qualname}, {error}: {seen}")
        if number % 8 == 7:
            shutdown()
    shutdown()
    assert not faults, "\n".join(faults)
    begin()
    assert application("next") == DONE
    flush(20)
    shutdown()
    assert "invoke_agent next" in arrived(to, folder, server)


def arrived(to: str, folder: Path, server: Server) -> list[str]:
    """The names of all spans that were delivered."""
    if to == "folder":
        return [span.name for span in spans_in(folder)]
    return [span.name for body in server.bodies for span in parse_line(body)]
