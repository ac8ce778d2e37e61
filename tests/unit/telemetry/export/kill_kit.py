"""A campaign of kills: processes under load that die at random moments, and what must be true of their spans after.

The director is a process of its own that has everything imported and forks each victim, so a kill costs little. Every
thread of a victim notes, each with one write(2) to a file of its own, the ids of the spans that it has started (``S``)
and ended (``E``) after the call had returned. Victims share a spool (or folder), so each adopts, while it is under load
and about to die itself, what others have left. One that comes last and lives adopts the rest.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from spanseal.genai import semconv

DIRECTOR = r"""
import os, random, signal, sys, threading, time
from pathlib import Path
from opentelemetry import trace
from spanseal.telemetry.configure import configure, flush
from spanseal.telemetry.export import sender, spool
from spanseal.telemetry.run_span import run_span
from spanseal.telemetry.spans.tracer import tracer

sender._GATHER, spool.SEGMENT_BYTES = 0.005, 20_000  # so much happens in a short life
target, acks, kills, seed = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
dice = random.Random(seed)

class Acks:
    def __init__(self, name):
        self.fd = os.open(acks / f"{os.getpid()}-{time.time_ns()}-{name}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    def __call__(self, what, span):
        where = span.get_span_context()
        os.write(self.fd, b"%s %032x%016x\n" % (what, where.trace_id, where.span_id))

def load(name, rounds=10**9):
    ack, dice = Acks(name), random.Random(f"{seed} {os.getpid()} {name}")
    for _ in range(rounds):
        with run_span("agent"):
            root = trace.get_current_span()
            ack(b"S", root)
            for _ in range(dice.randrange(4)):
                known = {"n": dice.randrange(9), "text": "x" * dice.randrange(2000)}
                span = tracer().start_span("step", attributes=known)
                ack(b"S", span)
                if dice.random() < 0.3:
                    inner = tracer().start_span("inner")
                    ack(b"S", inner)
                    inner.end()
                    ack(b"E", inner)
                span.end()
                ack(b"E", span)
        ack(b"E", root)
        time.sleep(dice.random() * 0.003)
        if dice.random() < 0.1:
            flush(0.05)  # so that files are removed while others are written

def victim(way, lifetime):
    if way == "exit":
        threading.Timer(lifetime, os._exit, (7,)).start()
    configure("victim", export=target, durability=dice.choice(["sync", "group"]))
    for number in range(2):
        threading.Thread(target=load, args=(f"thread{number}",), daemon=True).start()
    if way == "fork":
        time.sleep(lifetime / 2)
        child = os.fork()
        if child == 0:
            load("child", dice.randrange(1, 8))
            os.kill(os.getpid(), signal.SIGKILL) if dice.random() < 0.5 else os._exit(0)
    load("main")

def start():
    way = dice.choice(["kill", "kill", "term", "exit", "fork"])
    lifetime = dice.random() ** 2 * 0.7
    pid = os.fork()
    if pid == 0:
        dice.seed(f"{seed} {os.getpid()}")
        try:
            victim(way, lifetime)
        finally:
            os._exit(9)
    return pid, way, time.monotonic() + lifetime

alive = []
while kills or alive:
    while kills and len(alive) < 3:
        alive.append(start())
        kills -= 1
    time.sleep(0.005)
    for one in list(alive):
        pid, way, until = one
        if way != "exit" and time.monotonic() >= until:
            os.kill(pid, signal.SIGTERM if way == "term" else signal.SIGKILL)
            os.waitpid(pid, 0)
            alive.remove(one)
        elif way == "exit" and os.waitpid(pid, os.WNOHANG)[0]:
            alive.remove(one)
"""

LAST = r"""
import sys, time
from pathlib import Path
from spanseal.telemetry.configure import configure, shutdown
configure("last", export=sys.argv[1])
patience, seen, until = float(sys.argv[3]), 0, 0.0
spool = Path(sys.argv[2])
def remains():
    return [p.name for p in spool.rglob("*") if p.name.startswith((".started-", "spans-"))]
while left := remains():
    if len(left) != seen:  # something went: on a busy machine it takes as long as it takes
        seen, until = len(left), time.monotonic() + patience
    if time.monotonic() > until:
        break
    time.sleep(0.02)
shutdown()
left = remains()
assert sys.argv[1] == sys.argv[2] or not left, left
"""


@dataclass
class Outcome:
    """What the victims noted, and what arrived: per span (its two ids in hex) the different contents that were seen."""

    started: set[str]
    ended: set[str]
    arrived: dict[str, set[bytes]] = field(default_factory=lambda: defaultdict(set))
    open: set[str] = field(default_factory=set[str])
    closed: set[str] = field(default_factory=set[str])

    def see(self, document: Any) -> None:
        """One OTLP document that arrived, or a line of a file."""
        for resource in document["resourceSpans"]:
            for scope in resource["scopeSpans"]:
                for span in scope["spans"]:
                    key = span["traceId"] + span["spanId"]
                    self.arrived[key].add(orjson.dumps([resource.get("resource"), scope.get("scope"), span]))
                    marks = {one["key"] for one in span.get("attributes", [])}
                    (self.open if semconv.OPEN in marks else self.closed).add(key)

    def check(self) -> None:
        """Nothing acknowledged is missing, nothing is there with two contents, what never ended is open."""
        assert self.ended, "no victim got to anything"
        assert self.ended - self.closed == set(), "acknowledged ends are missing"
        assert self.started - self.closed - self.open == set(), "acknowledged starts are missing"
        assert self.open & self.closed == set(), "a span that had ended is called open"
        assert {key: both for key, both in self.arrived.items() if len(both) > 1} == {}, "one span, two contents"


def campaign(target: str, folder: Path, kills: int, seed: int, environ: dict[str, str]) -> Outcome:
    """Let ``kills`` victims that export to ``target`` die; returns what they noted, below ``folder``."""
    acks = folder / "acks"
    acks.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-W", "error::UserWarning", "-c", DIRECTOR, target, str(acks), str(kills), str(seed)]
    done = subprocess.run(command, env={**os.environ, **environ}, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr, done.stderr[-4000:]
    noted = [line.split() for path in acks.iterdir() for line in path.read_bytes().splitlines()]
    of = {word: {one[1].decode() for one in noted if one[0] == word} for word in (b"S", b"E")}
    return Outcome(of[b"S"], of[b"E"])


def adopt_the_rest(target: str, spool: Path, environ: dict[str, str], patience: float = 60) -> None:
    """A process that lives adopts what is left; where spans are sent, the spool is empty then."""
    seconds = "0" if target == str(spool) else str(patience)
    command = [sys.executable, "-c", LAST, target, str(spool), seconds]
    done = subprocess.run(command, env={**os.environ, **environ}, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr


def lines_in(folder: Path) -> Iterator[Any]:
    """The documents of an export folder; a line that its writer's death cut off is passed over."""
    for path in sorted(folder.glob("spans-*.jsonl")):
        for line in path.read_bytes().splitlines(keepends=True):
            if line.endswith(b"\n"):
                yield orjson.loads(line)
