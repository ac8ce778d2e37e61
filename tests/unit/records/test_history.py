"""Histories as deltas: whatever is sent comes back exactly, growing ones cost linear bytes, a lost base costs half."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import orjson
import pytest
from hypothesis import given
from tests.unit.genai.json_values import st
from tests.unit.records.test_replay_record import messages as wire_messages

from spanseal.genai import ollama_chat, openai_chat
from spanseal.genai import semconv as sc
from spanseal.genai.wire_json import dumps, loads, render
from spanseal.records.history import Bases, Placed, marks_of, shapes_of, tail_params
from spanseal.records.history_read import Lost, restored
from spanseal.records.replay_read import rebuild
from spanseal.records.replay_record import split

CHANGES = ("extend", "extend", "extend", "edit", "cut", "same", "branch", "switch", "new")
steps: Any = st.lists(
    st.tuples(st.sampled_from(CHANGES), st.integers(0, 7), st.lists(wire_messages, min_size=1, max_size=3)),
    max_size=12,
)
sizes: Any = st.lists(st.integers(1, 300), min_size=1, max_size=60)


def histories(changes: Sequence[tuple[str, int, list[Any]]]) -> list[list[Any]]:
    """What is sent, call by call, of some conversations that go on side by side."""
    open_ones: list[list[Any]] = [[]]
    at, sent = 0, list[list[Any]]()
    for change, number, new in changes:
        history = open_ones[at]
        if change == "extend":
            history.extend(new)
        elif change == "edit" and history:
            history[number % len(history)] = new[0]
        elif change == "cut":
            del history[number:]
        elif change == "branch":
            open_ones.append([*history[:number], *new])
            at = len(open_ones) - 1
        elif change == "switch":
            at = number % len(open_ones)
        elif change == "new":
            open_ones.append(list(new))
            at = len(open_ones) - 1
        sent.append(list(open_ones[at]))
    return sent


def record(wire: Any, bases: Bases, history: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any], Placed] | None:
    """A call's attributes in full, and as a delta; None for a body that must be stored as it is."""
    raw = dumps({"model": "m", "messages": history, "tools": [{"a": 1}]})
    body = loads(raw)
    values, tools = list(wire.input_messages(body)), list(wire.tool_definitions(body))
    made = split(raw, body, values, tools)
    if not made.params:
        return None
    texts = [render(value) for value in values]
    placed = bases.place(texts, shapes_of(loads(made.params), "messages"))
    full = {
        sc.INPUT_MESSAGES: "[" + ",".join(texts) + "]", sc.LLM_REQUEST_PARAMS: made.params,
        sc.TOOL_DEFINITIONS: render(tools), sc.LLM_REQUEST_SHA256: made.sha256,
    }
    delta: dict[str, Any] = dict(full)
    if placed.base:
        delta[sc.HISTORY_BASE], delta[sc.HISTORY_KEPT] = placed.base, placed.kept
        delta[sc.INPUT_MESSAGES] = "[" + ",".join(texts[placed.kept :]) + "]"
        delta[sc.LLM_REQUEST_PARAMS] = orjson.dumps(tail_params(orjson.loads(made.params), placed.kept)).decode()
    return full, delta, placed


@given(st.sampled_from([openai_chat, ollama_chat]), steps, st.integers(0, 3))
def test_whatever_was_sent_comes_back_exactly(wire: Any, changes: Any, late: int) -> None:
    """``late`` calls are still under way when the next one is made, as in parallel calls."""
    bases, full, deltas, waiting = Bases(), dict[str, Any](), dict[str, Any](), list[tuple[str, Placed]]()
    for number, history in enumerate(histories(changes)):
        made = record(wire, bases, history)
        if made is None:
            continue
        name = f"{number:016x}"
        full[name], deltas[name], placed = made
        waiting.append((name, placed))
        if len(waiting) > late:
            bases.add(*waiting.pop(0))
    found = restored(deltas)
    assert set(found) == {name for name, told in deltas.items() if sc.HISTORY_BASE in told}
    for name, told in found.items():
        assert told == full[name]
        assert not isinstance(told, Lost)
        assert rebuild(told).grade == "exact"


def growing(lengths: Sequence[int]) -> list[list[str]]:
    turns = [f"{number}:" + "x" * length for number, length in enumerate(lengths)]
    return [turns[: number + 1] for number in range(len(turns))]


def size_of(texts: Sequence[str]) -> int:
    return sum(map(len, texts))


def place(bases: Bases, *texts: str, **more: Any) -> Placed:
    """Where a history of messages of one shape belongs."""
    return bases.place(texts, [b"{}"] * len(texts), **more)


def placed_all(sent: Sequence[Sequence[str]], bases: Bases | None = None) -> list[Placed]:
    bases = bases or Bases()
    made: list[Placed] = []
    for number, history in enumerate(sent):
        made.append(place(bases, *history))
        bases.add(str(number), made[-1])
    return made


@given(sizes)
def test_a_growing_history_costs_at_most_three_times_its_size(lengths: list[int]) -> None:
    sent = growing(lengths)
    cost = sum(size_of(history[one.kept :]) for history, one in zip(sent, placed_all(sent), strict=True))
    assert cost <= 3 * size_of(sent[-1])


@given(sizes, st.integers(0, 59))
def test_a_lost_call_costs_no_more_than_until_the_history_has_doubled(lengths: list[int], lost: int) -> None:
    sent = growing(lengths)
    lost %= len(sent)
    made = placed_all(sent)
    for number, history in enumerate(sent):
        at = number
        while made[at].base and at != lost:
            at = int(made[at].base)
        if at == lost and number != lost:
            assert size_of(history) < 2 * size_of(sent[lost])


def test_the_first_call_is_a_keyframe_and_so_is_what_nobody_has_seen() -> None:
    bases = Bases()
    assert placed_all([["system", "a"], ["other", "b"]], bases)[1].base == ""
    assert place(bases).base == ""


def test_the_longest_common_beginning_wins_and_of_several_the_last() -> None:
    bases = Bases()
    placed_all([["s" * 900, "a"], ["s" * 900, "a", "b"], ["s" * 900, "c"]], bases)
    assert (place(bases, "s" * 900, "a", "b", "d").base, place(bases, "s" * 900, "a", "d").base) == ("1", "1")
    assert place(bases, "s" * 900, "e").base == "2"
    assert place(bases, "s" * 900).kept == 1


def test_a_history_of_which_little_is_kept_is_written_in_full() -> None:
    bases = Bases()
    placed_all([["short", "x" * 100]], bases)
    assert place(bases, "short", "y" * 100).base == ""
    assert place(bases, "short", "y" * 100, whole_fits=False).base == "0"


def test_a_window_that_slides_over_a_history_has_keyframes_too() -> None:
    """Nothing grows, so nothing doubles; yet not everything may hang on one span."""
    turns = [f"{number:03}" + "x" * 97 for number in range(100)]
    made = placed_all([["s" * 1000, *turns[number : number + 5]] for number in range(95)])
    keyframes = [number for number, one in enumerate(made) if not one.base]
    assert 10 < len(keyframes) < 60
    assert max(later - one for one, later in itertools.pairwise(keyframes)) <= 10


def test_memory_is_bounded_by_number_and_by_bytes() -> None:
    bases = Bases()
    placed_all([[str(number)] for number in range(200)], bases)
    assert bases.size == 64 * 16
    for number in range(3):
        bases.add("long", place(bases, *[str(number)] * 40_000))
    assert bases.size <= 1 << 20
    bases.add("endless", place(bases, *["x"] * 70_000))
    assert place(bases, *["2"] * 40_000).base == "long"


def test_messages_that_were_sent_in_another_form_are_others() -> None:
    assert marks_of(["a"], [b"{}"]) != marks_of(["a"], [b"[]"])
    assert marks_of(["ab", "c"], [b"{}"] * 2)[16:] != marks_of(["a", "bc"], [b"{}"] * 2)[16:]


TEXT = '[{"role":"user","parts":[{"type":"text","content":"a"}]}]'
PARAMS = '{"v":1,"body":{"messages":{"$":"messages"}},"shapes":["x"],"messages":[0],"tools":[]}'


def told(base: str = "", kept: Any = 1, text: Any = TEXT, params: Any = PARAMS) -> dict[str, Any]:
    more = {sc.HISTORY_BASE: base, sc.HISTORY_KEPT: kept} if base else {}
    return {sc.INPUT_MESSAGES: text, sc.LLM_REQUEST_PARAMS: params, **more}


BROKEN: list[tuple[Mapping[str, Any], str]] = [
    ({"b": told("a")}, "span a is missing"),
    ({"b": told("b")}, "span b builds on itself"),
    ({"b": told("a"), "a": told("b")}, "builds on itself"),
    ({"b": told("a"), "a": told("c")}, "span c is missing"),
    ({"b": told("a"), "a": told(text=None)}, "the messages of span a cannot be read"),
    ({"b": told("a"), "a": told(text='{"spanseal.omitted": {}}')}, "the messages of span a cannot be read"),
    ({"b": told("a"), "a": told(params=None)}, "the messages of span a cannot be read"),
    ({"b": told("a"), "a": told(params=PARAMS.replace("[0]", "[7]"))}, "the messages of span a cannot be read"),
    ({"b": told("a"), "a": {}}, "the messages of span a cannot be read"),
    ({"b": told("a", kept=2), "a": told()}, "span b does not fit"),
    ({"b": told("a", kept=-1), "a": told()}, "span b does not fit"),
    ({"b": told("a", kept="1"), "a": told()}, "span b does not fit"),
    ({"b": told("a", params=PARAMS.replace("[0]", "[0,0]")), "a": told()}, "span b does not fit"),
    ({"b": told("a", params=PARAMS.replace('"body":{', f'"body":{{"big":{10**30},')), "a": told()}, "request params"),
]


@pytest.mark.parametrize(("spans", "reason"), BROKEN, ids=[reason for _, reason in BROKEN])
def test_what_cannot_be_restored_says_why(spans: Mapping[str, Any], reason: str) -> None:
    found = restored(spans)["b"]
    assert isinstance(found, Lost)
    assert reason in found.reason


def test_a_very_long_way_down_is_walked_in_a_loop() -> None:
    spans = {"0": told(), **{str(number): told(str(number - 1), number) for number in range(1, 1200)}}
    found = restored({**spans, "last": told("1199", 1200)})["last"]
    assert not isinstance(found, Lost)
    assert len(loads(found[sc.INPUT_MESSAGES])) == 1201


def test_spans_in_full_are_left_alone() -> None:
    assert restored({"a": told(), "b": {}}) == {}
