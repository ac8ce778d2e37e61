"""A model call of which something was masked: semantic and why, no digest that a secret could be guessed from."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.unit.telemetry.wire_world import KEY, Answer, bare_client, stream, whole

from spanseal.genai import semconv as sc
from spanseal.replay.reader import RunReader, replay_llm_calls
from spanseal.telemetry.active import activate, active
from spanseal.telemetry.content.redaction.redactor import Redactor
from spanseal.telemetry.instrument import instrument
from spanseal.telemetry.run_span import run_span
from spanseal.testing import capture_spans

MAIL = "ann@example.org"
ALL = ("secrets", "email", "card", "iban")
CALLS: list[dict[str, Any]] = [
    {"messages": [{"role": "user", "content": f"write to {MAIL}"}]},
    {"messages": [{"role": "system", "content": MAIL}, {"role": "user", "content": "hi"}]},
    {"messages": [{"role": "user", "content": "hi"}], "user": MAIL},
    {"messages": [{"role": "user", "content": "hi"}], "extra_body": {"mine": {"password": MAIL}}},
    {"messages": [{"role": "user", "content": "hi"}], "tools": [
        {"type": "function", "function": {"name": "f", "description": f"asks {MAIL}", "parameters": {}}}
    ]},
    {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "f", "arguments": json.dumps({"to": MAIL, "pin": 7})}}
    ]}, {"role": "tool", "tool_call_id": "c", "content": "done"}]},
    {"messages": [{"role": "user", "content": [{"type": "text", "text": MAIL}]}], "stop": [MAIL]},
    {"messages": [{"role": "user", "content": f"my key is {KEY} and {MAIL}"}]},
]


def recorded(call: dict[str, Any], answer: Answer, tmp_path: Path, **more: Any) -> tuple[bytes, bytes, Any]:
    """What left the client, what was exported, and the run as read back."""
    seen: list[Any] = []
    with capture_spans() as captured:
        activate(replace(active(), redactor=Redactor(ALL), **more))
        with run_span("a"):
            client = instrument(bare_client("openai", [answer] * 2, seen))
            for _ in range(2):
                given = client.chat.completions.create(model="m", **call)
                if call.get("stream"):
                    list(given)
        lines = b"".join(captured.lines())
    (tmp_path / "spans.jsonl").write_bytes(lines)
    return seen[0].content, lines, RunReader.open(tmp_path).runs()[0]


@pytest.mark.parametrize("history", ["full", "delta"])
@pytest.mark.parametrize("call", CALLS)
def test_wherever_it_was_the_call_is_semantic_and_nothing_gives_it_away(
    call: dict[str, Any], history: str, tmp_path: Path
) -> None:
    sent, exported, run = recorded(call, whole("openai"), tmp_path, history=history)
    assert MAIL.encode() in sent
    assert b"example.org" not in exported
    assert KEY.encode() not in exported
    for form in (sent, sent.replace(KEY.encode(), b"[redacted]"), MAIL.encode()):
        assert hashlib.sha256(form).hexdigest().encode() not in exported
    assert [each.replayable for each in run.calls] == ["semantic"] * 2
    assert {each.replay_reason for each in run.calls} == {"content was redacted before it was recorded"}
    assert len(replay_llm_calls(run)) == 2
    again = json.dumps([message.text for message in run.calls[0].messages])
    if not call.get("user") and "tools" not in call and "extra_body" not in call and "tool_calls" not in str(call):
        assert "[redacted:email:15]" in again


def test_what_has_nothing_to_hide_is_exact(tmp_path: Path) -> None:
    sent, exported, run = recorded({"messages": [{"role": "user", "content": "hi"}]}, whole("openai"), tmp_path)
    assert hashlib.sha256(sent).hexdigest().encode() in exported
    assert [each.replayable for each in run.calls] == ["exact"] * 2
    assert sc.LLM_REQUEST_REDACTED.encode() not in exported


@pytest.mark.parametrize(
    "answer",
    [
        whole("openai", f"it is {MAIL}!"),
        stream("openai", ["it is ", "ann", "@exa", "mple.o", "rg", "!"]),
        stream("openai", list(f"it is {MAIL}!")),
    ],
)
def test_an_answer_is_masked_whole_or_in_pieces(answer: Answer, tmp_path: Path) -> None:
    call = {"messages": [{"role": "user", "content": "hi"}], "stream": not answer.body}
    _, exported, run = recorded(call, answer, tmp_path)
    assert b"example.org" not in exported
    assert b"@exa" not in exported
    assert run.calls[0].response is not None
    assert run.calls[0].response.text == "it is [redacted:email:15]!"
    assert run.calls[0].replayable == "exact"


def test_a_pattern_on_our_own_keys_takes_their_content(tmp_path: Path) -> None:
    with capture_spans() as captured:
        activate(replace(active(), redactor=Redactor((), ["input.messages$"])))
        with run_span("a"):
            client = instrument(bare_client("openai", [whole("openai")], []))
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "private"}])
        (tmp_path / "spans.jsonl").write_bytes(b"".join(captured.lines()))
    assert b"private" not in b"".join(captured.lines())
    assert RunReader.open(tmp_path).runs()[0].calls[0].replayable != "exact"
