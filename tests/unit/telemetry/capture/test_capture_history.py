"""Calls with ``history="delta"``: what a span records, where there is no delta, and what is given free when."""

from __future__ import annotations

import asyncio
import gc
import json
import weakref
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.unit.telemetry.processes import agent, spans_in
from tests.unit.telemetry.wire_world import KEY, Answer, attributes_of, bare_client, stream, whole

from spanseal.errors import SettingsError, UsageError
from spanseal.genai import semconv as sc
from spanseal.records.history import Bases
from spanseal.replay.reader import RunReader
from spanseal.replay.run import Run
from spanseal.settings import load_settings
from spanseal.telemetry.active import History, active
from spanseal.telemetry.capture.call import ModelCall, Target, begin
from spanseal.telemetry.configure import configure, shutdown
from spanseal.telemetry.instrument import instrument
from spanseal.telemetry.ledger.processor import LedgerProcessor
from spanseal.telemetry.run_span import run_span
from spanseal.testing import Captured, capture_spans

BOTH = pytest.mark.parametrize("kind", ["openai", "ollama"])
QUESTION = {"role": "user", "content": "a question of some length, as they are asked"}


def turn(number: int) -> list[dict[str, Any]]:
    return [{"role": "assistant", "content": f"answer {number}"}, {"role": "user", "content": f"and {number}?"}]


def ask(client: Any, messages: Sequence[Any], **more: Any) -> Any:
    call = client.chat if callable(getattr(client, "chat", None)) else client.chat.completions.create
    return call(model="m", messages=list(messages), **more)


def chats(captured: Captured) -> list[dict[str, Any]]:
    found = sorted(captured.named("chat"), key=lambda span: span.start_time or 0)
    return [attributes_of(span) for span in found]


def begun() -> ModelCall:
    """A call by hand, which can send what no client sends."""
    call = begin(Target("openai.chat", "openai"), "m")
    assert call is not None
    return call


def recorded(attributes: dict[str, Any]) -> int:
    return len(json.loads(attributes[sc.INPUT_MESSAGES]))


def read(captured: Captured, folder: Path) -> Run:
    (folder / "spans.jsonl").write_bytes(b"".join(captured.lines()))
    (run,) = RunReader.open(folder).runs()
    return run


@contextmanager
def delta(kind: str, *answers: Answer, **more: Any) -> Generator[tuple[Captured, Any]]:
    with capture_spans(history="delta", **more) as captured:
        yield captured, instrument(bare_client(kind, answers or [whole(kind)], []))


@BOTH
def test_a_call_records_what_is_new_and_is_read_back_exactly(kind: str, tmp_path: Path) -> None:
    with delta(kind) as (captured, client), run_span("a"):
        history = [QUESTION]
        for number in range(4):
            ask(client, history)
            history += turn(number)
    calls = chats(captured)
    assert [recorded(call) for call in calls] == [1, 3, 2, 7]
    assert [sc.HISTORY_BASE in call for call in calls] == [False, False, True, False]
    assert calls[2][sc.HISTORY_KEPT] == 3
    assert calls[2][sc.LLM_REQUEST_MESSAGES] == 5
    assert json.loads(calls[2][sc.LLM_REQUEST_PARAMS])["messages"] == [0, 0]
    run = read(captured, tmp_path)
    assert [call.replayable for call in run.calls] == ["exact"] * 4
    assert [len(call.messages) for call in run.calls] == [1, 3, 5, 7]


@BOTH
def test_streams_are_built_on_once_they_have_ended(kind: str, tmp_path: Path) -> None:
    history = [QUESTION, *turn(0)]
    with delta(kind, stream(kind)) as (captured, client), run_span("a"):
        list(ask(client, history, stream=True))
        held = ask(client, [*history, *turn(1)], stream=True)
        next(iter(held))
        list(ask(client, [*history, *turn(1)], stream=True))
        list(held)
    first, second, third = chats(captured)
    assert sc.HISTORY_BASE not in first
    assert second[sc.HISTORY_BASE] == third[sc.HISTORY_BASE]
    assert [call.replayable for call in read(captured, tmp_path).calls] == ["exact"] * 3


def test_two_parallel_calls_build_on_the_same_call(tmp_path: Path) -> None:
    history = [QUESTION, *turn(0), *turn(1), *turn(2)]
    with delta("openai", stream("openai")) as (captured, client), run_span("a"):
        list(ask(client, history, stream=True))
        two = [ask(client, [*history, *turn(number)], stream=True) for number in (3, 4)]
        for one in two:
            list(one)
    first, *rest = captured.named("chat")
    where = first.get_span_context()
    assert where is not None
    assert [attributes_of(span)[sc.HISTORY_BASE] for span in rest] == [f"{where.span_id:016x}"] * 2
    assert [call.replayable for call in read(captured, tmp_path).calls] == ["exact"] * 3


@BOTH
def test_conversations_that_run_side_by_side_do_not_disturb_each_other(kind: str, tmp_path: Path) -> None:
    async def conversation(client: Any, name: str) -> None:
        history = [{"role": "user", "content": name * 900}]
        for number in range(6):
            await ask(client, history)
            history = [*history, *turn(number)]

    async def all_of_them(client: Any) -> None:
        await asyncio.gather(*(conversation(client, name) for name in "abcd"))

    with capture_spans(history="delta") as captured, run_span("a"):
        asyncio.run(all_of_them(instrument(bare_client(kind, [whole(kind)], [], asynchronous=True))))
    assert sorted(recorded(call) for call in chats(captured)) == [1] * 4 + [2] * 20
    run = read(captured, tmp_path)
    assert [call.replayable for call in run.calls] == ["exact"] * 24
    texts = [[message.text for message in call.messages] for call in run.calls if len(call.messages) == 11]
    assert sorted(told[0][0] for told in texts) == ["a", "b", "c", "d"]


def test_an_edited_history_keeps_what_comes_before_the_edit(tmp_path: Path) -> None:
    history = [QUESTION, *turn(0), *turn(1)]
    with delta("openai") as (captured, client), run_span("a"):
        ask(client, history)
        ask(client, [*history[:4], {"role": "user", "content": "no: rather this"}])
        ask(client, [{"role": "user", "content": "a summary of it all"}])
        ask(client, history[:3])
    calls = chats(captured)
    assert [recorded(call) for call in calls] == [5, 1, 1, 0]
    assert [call.get(sc.HISTORY_KEPT) for call in calls] == [None, 4, None, 3]
    run = read(captured, tmp_path)
    assert [call.replayable for call in run.calls] == ["exact"] * 4
    assert run.calls[1].messages[4].text == "no: rather this"


def test_each_run_begins_anew_and_outside_of_a_run_nothing_is_shortened() -> None:
    with delta("openai") as (captured, client):
        for _ in range(2):
            with run_span("a"):
                ask(client, [QUESTION, *turn(0)])
        ask(client, [QUESTION, *turn(0)])
        ask(client, [QUESTION, *turn(0)])
    assert [sc.HISTORY_BASE in call for call in chats(captured)] == [False] * 4


def test_an_inner_run_does_not_build_on_the_outer_one() -> None:
    with delta("openai") as (captured, client), run_span("outer"):
        ask(client, [QUESTION, *turn(0)])
        with run_span("inner"):
            ask(client, [QUESTION, *turn(0)])
        ask(client, [QUESTION, *turn(0)])
    assert [sc.HISTORY_BASE in call for call in chats(captured)] == [False, False, True]


def test_what_is_known_of_a_run_is_freed_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class Watched(Bases):
        __slots__ = ("__weakref__",)

    alive = weakref.WeakSet[Watched]()

    def made() -> Watched:
        one = Watched()
        alive.add(one)
        return one

    monkeypatch.setattr("spanseal.telemetry.ledger.state.Bases", made)
    with delta("openai") as (captured, client):
        with run_span("a") as run:
            ask(client, [QUESTION, *turn(0)])
            gc.collect()
            assert len(alive) == 1
            run.finish("completed", "answered")
        gc.collect()
        assert len(alive) == 0
    assert len(captured.spans) == 2  # the spans, and with them the run, are still there


def test_a_request_that_is_sent_anew_with_other_messages_takes_its_base_back(tmp_path: Path) -> None:
    history = [QUESTION, *turn(0)]
    with delta("openai") as (captured, client), run_span("a"):
        ask(client, history)
        call = begun()
        for messages in ([*history, *turn(1)], [{"role": "user", "content": "something else altogether"}]):
            raw = json.dumps({"model": "m", "messages": messages}, separators=(",", ":")).encode()
            call.attempt(raw)
        call.settle(ValueError("refused"))
    second = chats(captured)[1]
    assert (second[sc.HISTORY_BASE], recorded(second)) == ("", 1)
    read_call = read(captured, tmp_path).calls[1]
    assert (read_call.replayable, read_call.messages[0].text) == ("exact", "something else altogether")


def test_a_body_that_must_be_stored_as_it_is_stays_whole(tmp_path: Path) -> None:
    with delta("openai") as (captured, _), run_span("a"):
        for number in range(2):
            call = begun()
            call.attempt(json.dumps({"messages": [QUESTION, *turn(number)]}, indent=2).encode())
            call.settle(ValueError("refused"))
    assert [recorded(call) for call in chats(captured)] == [3, 3]
    assert [call.replayable for call in read(captured, tmp_path).calls] == ["exact"] * 2


def test_masked_content_stays_masked_and_semantic(tmp_path: Path) -> None:
    told = {"role": "user", "content": "mine is sk-abcdefghijklmnopqrst, and " + KEY}
    with delta("openai") as (captured, client), run_span("a"):
        ask(client, [told, QUESTION])
        ask(client, [told, QUESTION, {"role": "user", "content": "well?"}])
    assert recorded(chats(captured)[1]) == 1
    run = read(captured, tmp_path)
    assert [call.replayable for call in run.calls] == ["semantic", "semantic"]
    assert run.calls[1].messages[0].text == "mine is [redacted:api-key:23], and [redacted]"


def test_a_history_too_large_for_one_value_is_still_recorded_by_deltas(tmp_path: Path) -> None:
    big = {"role": "user", "content": "x" * 900}
    with delta("openai", max_value_bytes=2048) as (captured, client), run_span("a"):
        history: list[Any] = []
        for number in range(6):
            history.append({**big, "name": f"n{number}"})
            ask(client, history)
    assert [call.replayable for call in read(captured, tmp_path).calls] == ["exact"] * 6


def test_what_lies_in_value_spans_is_built_on_like_the_rest(tmp_path: Path) -> None:
    with delta("openai", max_value_bytes=1024) as (captured, client), run_span("a"):
        history = [{"role": "user", "content": "x" * 2000}]
        for number in range(3):
            ask(client, history)
            history += turn(number)
    assert "omitted" in chats(captured)[0][sc.INPUT_MESSAGES]
    assert chats(captured)[2][sc.HISTORY_BASE]
    run = read(captured, tmp_path)
    assert [call.replayable for call in run.calls] == ["exact"] * 3
    assert (run.grade, run.span_count) == ("complete", 5)


def test_with_capture_off_nothing_changes() -> None:
    def keys(**more: Any) -> list[set[str]]:
        with capture_spans(capture="off", **more) as captured, run_span("a"):
            client = instrument(bare_client("openai", [whole("openai")], []))
            ask(client, [QUESTION])
            ask(client, [QUESTION])
        return [set(call) for call in chats(captured)]

    assert keys(history="delta") == keys()
    assert not any(sc.HISTORY_BASE in call or sc.INPUT_MESSAGES in call for call in keys(history="delta"))


def test_a_fault_in_shortening_costs_bytes_only(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def broken(*_: Any) -> Any:
        raise RuntimeError("injected")

    with delta("openai") as (captured, client), run_span("a"):
        ask(client, [QUESTION, *turn(0)])
        monkeypatch.setattr(LedgerProcessor, "bases_of", broken)
        ask(client, [QUESTION, *turn(0)])
    assert [recorded(call) for call in chats(captured)] == [3, 3]
    assert [call.replayable for call in read(captured, tmp_path).calls] == ["exact"] * 2


FORK = """
from spanseal.testing import ScriptedModel
configure("a", export=sys.argv[1], history="delta")
model = ScriptedModel(["one", "two", "three"])
with run_span("a"):
    model.complete("a question")
    pid = os.fork()
    if not pid:
        model.complete("a question")
        shutdown()
        os._exit(0)
    os.waitpid(pid, 0)
    model.complete("a question")
shutdown()
"""


def test_a_forked_child_does_not_build_on_its_parents_calls(tmp_path: Path) -> None:
    agent(FORK, str(tmp_path / "spans"))
    found = [span.attributes for span in spans_in(tmp_path / "spans") if span.name.startswith("chat")]
    writers = [str(told[sc.WRITER_ID]) for told in found]
    parent = max(writers, key=writers.count)
    based = sorted((told[sc.WRITER_ID] == parent, sc.HISTORY_BASE in told) for told in found)
    assert based == [(False, False), (True, False), (True, True)]


def test_it_is_switched_on_by_call_variable_or_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings({}).history == "full"
    assert load_settings({"SPANSEAL_HISTORY": "delta"}).history == "delta"
    (tmp_path / "s.toml").write_text('history = "delta"\n')
    assert load_settings({}, tmp_path / "s.toml").history == "delta"
    with pytest.raises(SettingsError, match="SPANSEAL_HISTORY: 'some' is not one of full, delta"):
        load_settings({"SPANSEAL_HISTORY": "some"})
    monkeypatch.setenv("SPANSEAL_HISTORY", "delta")
    try:
        cases: list[tuple[History | None, str]] = [(None, "delta"), ("full", "full")]
        for asked, wanted in cases:
            configure("a", export=tmp_path / "spans", history=asked)
            assert active().history == wanted
            with pytest.raises(UsageError):
                configure("a", export=tmp_path / "spans", history="delta")
            shutdown()
    finally:
        shutdown()
    wrong: Any = "some"
    with pytest.raises(SettingsError, match="'some' is not one of full, delta"):
        configure("a", export=tmp_path / "spans", history=wrong)
