"""Ours beside the official instrumentor, OpenInference, OpenLLMetry and the HTTP clients' own: each as if alone.

A process a combination, since instrumentors are global: the same program makes the same calls, and what each
instrumentation exported, call by call, is compared with what it exports alone. So is what the program itself saw.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Generator
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from tests.integration.beside.server import model_server

from spanseal.genai import semconv as sc
from spanseal.replay.reader import RunReader

TREE = Path(__file__).parents[2]
SCOPES = {
    "official": "opentelemetry.instrumentation.genai.",
    "openinference": "openinference.",
    "openllmetry": "opentelemetry.instrumentation.o",
    "http": "opentelemetry.instrumentation.httpx",
    "ours": sc.SCOPE_NAME,
}
OTHERS = ("official", "openinference", "openllmetry", "http")
THREE = ("official", "openinference", "openllmetry")
PAIRS = [(on, other) for on in ("ours", "zero") for other in OTHERS]
ORDERS = [*PAIRS, *((other, on) for on, other in PAIRS)]
STAMPS = ("spanseal.run.", "spanseal.writer.", "spanseal.seq", sc.DIGEST_OF, sc.AGENT_NAME)
OWN_EVERY_TIME = (sc.MANIFEST, sc.TOOL_IDEMPOTENCY_KEY, sc.LLM_SAME_CALL, sc.HISTORY_BASE)
Span = dict[str, Any]


class Seen:
    """What one process printed."""

    def __init__(self, printed: str, folder: Path) -> None:
        told = json.loads(printed)
        self.folder = folder
        self.spans: list[Span] = told["spans"]
        self.agent: str = told["results"].pop("agent", "")
        self.results: dict[str, Any] = told["results"]

    @cached_property
    def by_id(self) -> dict[str, Span]:
        return {span["id"]: span for span in self.spans}

    def of(self, name: str) -> list[Span]:
        """The spans of one instrumentation."""
        return [span for span in self.spans if span["scope"].startswith(SCOPES[name])]

    def ancestors(self, span: Span) -> list[Span]:
        """Its parent, that one's parent, and so on."""
        found: list[Span] = []
        while (span := self.by_id.get(span["parent"], {})):
            found.append(span)
        return found

    def case(self, span: Span) -> str:
        """The call it belongs to; ``agent`` for those of our agent's run, which there is only with ours."""
        return next((up["name"][5:] for up in self.ancestors(span) if up["name"].startswith("case ")), "agent")

    def cases(self, name: str, *, agent: bool) -> dict[str, list[str]]:
        """Call by call what one instrumentation exported, without what differs from process to process."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for span in self.of(name):
            found[self.case(span)].append(_plain(span))
        if not agent:
            found.pop("agent", None)
        return {case: sorted(spans) for case, spans in found.items()}


def _plain(span: Span) -> str:
    attributes = {
        key: "time" if isinstance(value, float) and key.endswith(("time_to_first_chunk", "duration")) else value
        for key, value in span["attributes"].items()
        if not key.startswith(STAMPS) and key not in OWN_EVERY_TIME
    }
    events = [
        [name, {key: value for key, value in found.items() if key != "exception.stacktrace"}]
        for name, found in span["events"]
    ]
    plain = [span["name"], span["kind"], span["status"], attributes, events]
    return re.sub(r"0x[0-9a-f]{8,}", "0x", json.dumps(plain, sort_keys=True))


Run = Callable[..., Seen]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Generator[Run]:
    """Runs the program with these switched on, in this order; each combination once."""
    done: dict[tuple[str, ...], Seen] = {}
    with model_server() as url:

        def run_program(*steps: str) -> Seen:
            if steps not in done:
                folder = tmp_path_factory.mktemp("-".join(steps) or "bare")
                done[steps] = Seen(_printed([], url, folder, steps), folder)
            return done[steps]

        yield run_program


def _printed(starter: list[str], url: str, folder: Path, steps: tuple[str, ...]) -> str:
    settings = {
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY", "TRACELOOP_TELEMETRY": "false",
        "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none",
        "NO_PROXY": "127.0.0.1",
    }  # fmt: skip
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "SPANSEAL_"))}
    command = [*starter, sys.executable, "-m", "tests.integration.beside.program", url, str(folder), *steps]
    done = subprocess.run(
        command, cwd=TREE, env=kept | settings, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", OTHERS)
def test_another_one_alone_sees_every_call_that_it_knows(run: Run, name: str) -> None:
    """The yardstick itself: were it empty, everything below would hold for nothing."""
    seen = run(name)
    assert len(seen.cases(name, agent=False)) >= 11
    assert {span["scope"] for span in seen.spans if not span["name"].startswith("case ")} == {
        span["scope"] for span in seen.of(name)
    }


@pytest.mark.parametrize("on", ["ours", "zero"])
def test_ours_alone_is_one_span_a_call(run: Run, on: str) -> None:
    counts = Counter({case: len(spans) for case, spans in run(on).cases("ours", agent=False).items()})
    assert counts["async at once"] == 3
    assert {case: count for case, count in counts.items() if count != 1} == {"async at once": 3}
    assert set(counts) == set(run("official").results)


@pytest.mark.parametrize("steps", [*ORDERS, ("ours", *THREE), (*THREE, "zero"), (*THREE, "http", "ours")])
def test_each_exports_what_it_exports_alone(run: Run, steps: tuple[str, ...]) -> None:
    seen = run(*steps)
    assert seen.results == run().results
    for name in steps:
        ours = name in ("ours", "zero")
        own = "ours" if ours else name
        assert seen.cases(own, agent=ours) == run(name).cases(own, agent=ours), name


@pytest.mark.parametrize("on", ["ours", "zero"])
def test_http_spans_are_children_of_our_span_one_an_attempt(run: Run, on: str) -> None:
    seen = run(on, "http")
    parents = [seen.by_id[span["parent"]] for span in seen.of("http")]
    assert {parent["scope"] for parent in parents} == {sc.SCOPE_NAME}
    attempts = Counter(seen.case(parent) for parent in parents)
    assert attempts["retried"] == 2
    assert attempts["create"] == 1


@pytest.mark.parametrize("steps", [("ours", "official"), ("official", "zero"), ("openllmetry", "ours")])
def test_our_span_names_the_other_one_of_the_same_call(run: Run, steps: tuple[str, ...]) -> None:
    seen = run(*steps)
    (other,) = set(steps) - {"ours", "zero"}
    named = {span["attributes"].get(sc.LLM_SAME_CALL) for span in seen.of("ours")} - {None}
    theirs = {span["id"] for span in seen.of(other) if span["name"] != "openai.response"}  # made after the call
    assert named == theirs


def test_a_span_in_ours_is_its_child(run: Run) -> None:
    seen = run("ours", "openinference")
    for span in seen.of("openinference"):
        parent = seen.by_id[span["parent"]]
        assert parent["scope"] == sc.SCOPE_NAME
        assert parent["attributes"][sc.OPERATION_NAME] in (sc.OP_CHAT, sc.OP_EMBEDDINGS)


@pytest.mark.parametrize("steps", [("ours",), ("ours", "official"), ("openllmetry", "ours"), (*THREE, "http", "ours")])
def test_the_reader_counts_a_call_once(run: Run, steps: tuple[str, ...]) -> None:
    """Two calls of our agent and one that its tool makes through the application's own client."""
    seen = run(*steps)
    assert seen.agent == "one two three"
    (found,) = [made for made in RunReader.open(seen.folder).runs() if made.agent == "asker"]
    assert [call.model for call in found.calls] == ["agent", "inner", "agent"]
    assert {call.replayable for call in found.calls} == {"exact"}
    inner = [span for span in seen.spans if span["attributes"].get(sc.REQUEST_MODEL) == "inner"]
    assert len(inner) == 1 + len({"official", "openllmetry"} & set(steps))


def test_opentelemetry_instrument_switches_all_of_them_on_at_once(run: Run, tmp_path: Path) -> None:
    """The real zero-code start: three instrumentors called ``openai``, Ollama's, both HTTP clients' and ours."""
    with model_server() as url:
        starter = [str(Path(sys.executable).with_name("opentelemetry-instrument"))]
        seen = Seen(_printed(starter, url, tmp_path, ()), tmp_path)
    assert seen.results == run().results
    for name in OTHERS:
        alone = {case: len(spans) for case, spans in run(name).cases(name, agent=False).items()}
        assert {case: len(spans) for case, spans in seen.cases(name, agent=False).items()} == alone, name
    ours = {case: len(spans) for case, spans in seen.cases("ours", agent=False).items()}
    assert ours == {case: len(spans) for case, spans in run("zero").cases("ours", agent=False).items()}
