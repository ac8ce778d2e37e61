"""The demo, told step by step: what happened, good or bad; nothing is acted out. May import everything below."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

from spanseal.agent.result import RunResult
from spanseal.demo.agents import QUESTIONS, Shop, build_shop
from spanseal.demo.attack import attack_all
from spanseal.demo.model import demo_model
from spanseal.replay.reader import RunReader, replay_llm_calls
from spanseal.replay.render.text import Marks, marks_for, safe
from spanseal.replay.render.tree import head, tree
from spanseal.telemetry.configure import configure, flush, shutdown

EXPECTED: Final = {QUESTIONS[0]: "192", QUESTIONS[1]: "24"}
COLOURS: Final = {"completed": "green", "escalated": "magenta", "halted": "yellow", "failed": "red"}


@dataclass(frozen=True, slots=True)
class Demo:
    """Where the demo writes and whom it tells."""

    out: Path
    console: Console

    def say(self, text: str = "", style: str = "") -> None:
        """One line of the story; what a model wrote in it steers no terminal."""
        self.console.print(Text(safe(text, self.marks), style), soft_wrap=True)

    @property
    def marks(self) -> Marks:
        """The signs that the console can show."""
        return marks_for(self.console.encoding)

    def title(self, number: int, text: str) -> None:
        """The beginning of a chapter."""
        self.say()
        self.say(f"{number}  {text}", "bold cyan")


def tell(out: Path, choice: str, console: Console) -> bool:
    """Run the whole demo into the new folder ``out``; True if everything that was promised happened.

    Raises UsageError for an unknown model choice or missing packages, SpansealError where a part cannot work.
    """
    demo = Demo(out, console)
    demo.say("spanseal demo", "bold")
    demo.say("One machine, one user: it shows how the parts work together, not the separation of who holds which key.")
    results = _ask(demo, choice)
    sealed = _seal(demo)
    replayed = sealed and _replay(demo, results)
    caught = sealed and _attacked(demo)
    _closing(demo, results[0].run_id)
    ended = all(result.state.spending.model_calls for result in results)
    return ended and replayed and caught


def _ask(demo: Demo, choice: str) -> list[RunResult]:
    with demo_model(choice) as adapter:
        demo.out.mkdir(parents=True)
        demo.title(1, "An agent works: three tools, checks on every answer, policies at every seam")
        configure("spanseal-demo", export=demo.out / "spans", capture="full")
        try:
            demo.say(f"   model {adapter.model} ({adapter.provider})" + _note(choice), "dim")
            shop = build_shop(adapter)
            return [_one(demo, shop, question) for question in QUESTIONS]
        finally:
            flush()
            shutdown()


def _note(choice: str) -> str:
    if choice == "local":
        return ", 135 million parameters, in this process: weak on purpose, so that checks have something to find"
    return ", a script: no model answers here" if choice == "scripted" else ""


def _one(demo: Demo, shop: Shop, question: str) -> RunResult:
    demo.say()
    demo.say(f"   Question   {question}", "bold")
    with demo.console.status("the model thinks"):
        result = shop.agent.run(question)
    for message in result.messages[2:]:
        who = "model" if message.role == "assistant" else "agent"
        demo.say(f"   {who:<10} {_short(message.text, demo.marks.more)}", "" if who == "model" else "dim")
    demo.say(f"   Outcome    {result.outcome}: {result.answer or result.stop_reason}", COLOURS[result.outcome])
    right = EXPECTED.get(question)
    if right is not None:
        good = result.success and right in result.answer
        demo.say(f"              {'right' if good else 'not right'}: it is {right}", "green" if good else "yellow")
    if result.escalation is not None:
        demo.say(f"   Waiting    {json.dumps(result.escalation.action)}")
        demo.say(f"              sha256 {result.escalation.digest}; ordered so far: {shop.orders.orders or 'nothing'}")
    return result


def _short(text: str, more: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 150 else flat[: 150 - len(more)] + more


def _seal(demo: Demo) -> bool:
    demo.title(2, "A separate process seals the exported spans; only it holds the log's key")
    out = demo.out
    steps = (
        ["keygen", str(out / "keys")],
        ["seal", str(out / "spans"), "--store", str(out / "store"), "--keys", str(out / "keys")],
        ["verify", str(out / "store"), "--trust", str(out / "keys" / "trust")],
    )
    return all(_command(demo, step) for step in steps)


def _command(demo: Demo, arguments: list[str]) -> bool:
    demo.say(f"   $ spanseal {' '.join(arguments)}", "bold")
    done = subprocess.run([sys.executable, "-m", "spanseal.cli", *arguments], capture_output=True, text=True)
    for line in (done.stdout + done.stderr).splitlines():
        demo.say(f"     {line}", "" if done.returncode == 0 else "red")
    return done.returncode == 0


def _replay(demo: Demo, results: list[RunResult]) -> bool:
    demo.title(3, "The runs are read back from the store, verified first, and compared with what the agent did")
    reader = RunReader.open(
        demo.out / "store", trust=demo.out / "keys" / "trust", content_keys=demo.out / "keys" / "content"
    )
    good = True
    for result in results:
        run = reader.run(result.run_id)
        demo.say()
        picture = tree if result is results[0] else head
        for line in picture(run, demo.console.width, demo.marks):
            demo.console.print(line)
        calls = replay_llm_calls(run)
        said = [message.text for message in result.messages if message.role == "assistant"]
        heard = [call.response.text for call in calls if call.response is not None]
        exact = sum(call.grade == "exact" for call in calls)
        same = said == heard and len(calls) == exact == len(run.calls) and run.grade == "complete"
        words = f"   {exact} of {len(run.calls)} model calls can be sent again byte for byte; messages "
        demo.say(words + ("equal what the agent saw" if said == heard else "DIFFER"), "green" if same else "red")
        good = good and same
    return good


def _attacked(demo: Demo) -> bool:
    demo.title(4, "On copies, somebody tampers")
    attacks = attack_all(demo.out)
    for attack in attacks:
        demo.say(f"   {attack.deed}", "bold")
        for line in attack.said[:4] or ("nothing was noticed",):
            demo.say(f"     {line}", "green" if attack.found else "red")
        if len(attack.said) > 4:
            demo.say(f"     and {len(attack.said) - 4} more findings", "dim")
    return all(attack.found for attack in attacks)


def _closing(demo: Demo, run_id: str) -> None:
    demo.title(5, "Yours to try")
    program = _program()
    for command in (
        f"runs {demo.out}/store",
        f"show {demo.out}/store {run_id[:8]} --step 1",
        f"verify {demo.out}/store --json",
        f"verify {demo.out}/attacked/one-byte-changed",
    ):
        demo.say(f"   {program} {command}")


def _program() -> str:
    """How this user calls spanseal: by its name if the PATH has it, else by the way to it."""
    if shutil.which("spanseal"):
        return "spanseal"
    beside = Path(sys.executable).with_name("spanseal")
    with suppress(ValueError):
        beside = beside.relative_to(Path.cwd())
    return str(beside)
