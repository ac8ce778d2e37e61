"""The process ends with streams open: each still gives one span, held, with what had come.

One process loads everything and forks a child for each way to end; every child holds a stream of each kind.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from tests.unit.telemetry.processes import spans_in
from tests.unit.telemetry.stream_ways import CHAT, OTHER

from spanseal.genai import semconv as sc
from spanseal.records.otlp import SpanRecord

ROOT: Final = Path(__file__).parents[5]
HELD: Final = len(CHAT) + len(OTHER)
SCRIPT: Final = """
import asyncio, multiprocessing, os, signal, sys, threading, time
from dataclasses import replace
from tests.unit.telemetry.capture.streams.test_stream_formats import answer_for
from tests.unit.telemetry.stream_ways import CHAT, OTHER, Flow, Way, reading
from tests.unit.telemetry.wire_world import bare_client, stream
from spanseal.telemetry.configure import configure

class Slow(list):
    def __iter__(self):
        for piece in list.__iter__(self):
            yield piece
            time.sleep(self.pause)

def flow_of(way, pause=0.0):
    plain = stream(way.server) if way in CHAT else answer_for(way, '')
    pieces = Slow(plain.pieces)
    pieces.pause = pause
    return Flow(way, reading(way, bare_client(way.server, [replace(plain, pieces=pieces)], [],
                                              asynchronous=way.asynchronous)))

def hold():
    for way in (*CHAT, *OTHER):
        flow = flow_of(way)
        loop.run_until_complete(flow.start())
        assert loop.run_until_complete(flow.next()) is not None
        held.append(flow)

def hold_in_a_worker():
    configure("exits", export=os.path.join(sys.argv[1], mode))
    hold()

def read_in_a_thread(pause, daemon):
    flow = flow_of(Way("openai", False, "client"), pause)
    loop.run_until_complete(flow.start())
    threading.Thread(target=lambda: list(flow.stream), daemon=daemon).start()
    time.sleep(0.05)

mode, children = "", []
for each in sys.argv[2:]:
    child = os.fork()
    if child == 0:
        mode = each
        break
    children.append(child)
if not mode:
    print(*(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
else:
    held, loop = [], asyncio.new_event_loop()
    if mode == "worker":
        worker = multiprocessing.get_context("fork").Process(target=hold_in_a_worker)
        worker.start()
        worker.join()
        sys.exit(worker.exitcode)
    hold_in_a_worker()
    if mode == "exit":
        sys.exit(3)
    if mode == "exception":
        raise RuntimeError("the program's own")
    if mode == "interrupt":
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
        signal.raise_signal(signal.SIGINT)
    if mode == "thread":
        read_in_a_thread(0.05, False)
    if mode == "daemon":
        read_in_a_thread(60, True)
    if mode == "collected":
        held.clear()
"""
BARE: Final = """
from tests.unit.telemetry.stream_ways import Way, reading
from tests.unit.telemetry.wire_world import bare_client, stream
held = bare_client("openai", [stream("openai")], [], asynchronous=False).chat.completions.create(
    model="m", messages=[], stream=True)
next(iter(held))
"""
"""What a bare client does with a stream held at exit; Python 3.13.0 dies of the import that the client does there."""
CODES: Final = {
    "normal": 0,
    "exit": 3,
    "exception": 1,
    "interrupt": 130,
    "thread": 0,
    "daemon": 0,
    "collected": 0,
    "worker": 0,
}


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[SpanRecord]]:
    folder = tmp_path_factory.mktemp("exits")
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder), *CODES],
        env=environ, cwd=ROOT, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    crash = subprocess.run([sys.executable, "-c", BARE], env=environ, cwd=ROOT, capture_output=True).returncode
    for mode, code in zip(CODES, map(int, done.stdout.split()), strict=True):
        assert (code if code >= 0 else 128 - code) == CODES[mode] or code == crash < 0, f"{mode}: {code}\n{done.stderr}"
    return {mode: [span for span in spans_in(folder / mode) if span.name.endswith(" m")] for mode in CODES}


@pytest.mark.parametrize("mode", CODES)
def test_every_stream_gives_its_span(ended: dict[str, list[SpanRecord]], mode: str) -> None:
    spans = ended[mode]
    found = [span.attributes for span in spans]
    assert len({span.span_id for span in spans}) == len(spans)
    ends = sorted(str(each[sc.LLM_STREAM_END]) for each in found)
    if mode == "collected":  # dropped just before the end: whichever comes first may tell
        assert len(ends) == HELD
        assert set(ends) <= {"abandoned", "held"}
    else:
        more = {"thread": ["complete"], "daemon": ["held"]}.get(mode, [])
        assert ends == sorted([*["held"] * HELD, *more])
    for each in found:
        if each[sc.LLM_STREAM_END] != "complete":
            assert each[sc.LLM_STREAM_CHUNKS] == 1
            first = "output_item.added" if each[sc.LLM_FORMAT] == "openai.responses" else "he"
            assert first in json.loads(str(each[sc.LLM_RESPONSE_BODY]))[0]
        assert sc.USAGE_ESTIMATED_OUTPUT_TOKENS in each
