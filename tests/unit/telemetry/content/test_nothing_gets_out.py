"""A secret in every name and text that an application gives an agent is in none of the files that telemetry writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from spanseal import NotEmptyCheck, RunReader, VerifiableAgent, VerificationPipeline, configure, tool
from spanseal.genai import semconv as sc
from spanseal.genai.messages import ToolCall
from spanseal.telemetry.configure import shutdown
from spanseal.testing import ScriptedModel

MAIL = "ann.secret@example.org"


@tool
def look(text: str) -> str:
    """Look."""
    raise RuntimeError({"text": text, "password": "hunter2"})


@tool
def echo(text: str) -> str:
    """Echo."""
    return text


def test_names_of_agents_resources_and_repr_of_errors_are_masked_in_spans_numbers_and_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", f"owner={MAIL},db.url=postgres://bob:hunter2@db/x")
    monkeypatch.setenv("SPANSEAL_REDACT", "all")
    monkeypatch.setenv("SPANSEAL_EVENTS", "on")
    configure("shop", export=tmp_path)
    try:
        model = ScriptedModel([ToolCall("c", "look", f'{{"text": "{MAIL}"}}'), f"ask {MAIL}"])
        agent = VerifiableAgent(model, tools=[look], name=f"clerk {MAIL}", instructions=f"for {MAIL}")
        agent.run(f"find {MAIL}")
    finally:
        shutdown()
    files = {path.name.split("-")[0]: path.read_text() for path in tmp_path.rglob("*") if path.is_file()}
    assert {"spans", "metrics"} <= set(files)
    assert "clerk [redacted:email:22]" in files["spans"]
    assert "clerk [redacted:email:22]" in files["metrics"]
    for text in files.values():
        assert "ann.secret" not in text
        assert "hunter2" not in text


def test_a_detector_without_use_for_any_text_leaves_a_run_readable(tmp_path: Path) -> None:
    def nothing(_: str) -> str:
        raise ValueError

    configure("shop", export=tmp_path, redact=[nothing])
    try:
        VerifiableAgent(ScriptedModel(["said"]), verification=VerificationPipeline([NotEmptyCheck()])).run("asked")
    finally:
        shutdown()
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and b"asked" in path.read_bytes()]
    (run,) = RunReader.open(tmp_path).runs()
    assert (run.grade, run.outcome) == ("complete", "completed")
    assert (len(run.calls), len(run.steps)) == (1, 1)


def test_no_plain_digest_lets_a_masked_value_be_guessed(tmp_path: Path) -> None:
    configure("shop", export=tmp_path, redact=["email"])
    try:
        for question in ("hello", f"write to {MAIL}"):
            model = ScriptedModel([ToolCall("c", "echo", '{"text": "a"}'), "done"])
            VerifiableAgent(model, tools=[echo], name="clerk").run(question)
    finally:
        shutdown()
    hello, mail = sorted(RunReader.open(tmp_path).runs(), key=lambda run: run.started)
    assert all(len(step.state_digest) == 64 for step in hello.steps)
    assert not any(step.state_digest for step in mail.steps)
    (spans,) = tmp_path.glob("spans-*.jsonl")
    for key in (sc.STATE_DIGEST, sc.TOOL_IDEMPOTENCY_KEY):
        plain, salted = (spans.read_text().count(f'"{name}"') for name in (key, sc.DIGEST_OF + key))
        assert plain == salted > 0
