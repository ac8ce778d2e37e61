"""Real agents on real models: every place at the end of the line holds the same spans, and they say what happened."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.integration.line import places
from tests.integration.line.running import Ran
from tests.integration.line.seen import Seen
from tests.integration.line.shop import VOUCHER
from tests.integration.line.whole import Line

INTERNAL, CLIENT = 1, 3
UNSET, ERROR = 0, 2
MASK = "****"


def traces(ran: Ran) -> set[str]:
    return {run["trace_id"] for run in ran.runs.values()}


def arrived(line: Line, ran: Ran) -> dict[str, list[Seen]]:
    """What archive, store and Jaeger hold of these runs, once all of it has come."""
    assert ran.delivered, ran.stderr
    wanted, count = traces(ran), len(ran.spans)
    places.soon(lambda: len(places.in_store(line.sealer, wanted)) >= count, "the spans in the store")
    places.soon(lambda: len(places.in_jaeger(line.jaeger, wanted)) >= count, "the spans in Jaeger")
    return {
        "archive": places.in_archive(line.collector, wanted),
        "store": places.in_store(line.sealer, wanted),
        "Jaeger": places.in_jaeger(line.jaeger, wanted),
    }


def of_run(ran: Ran, case: str) -> list[Seen]:
    run_id = ran.runs[case]["run_id"]
    found = [span for span in ran.spans.values() if span.attributes["spanseal.run.id"] == run_id]
    return sorted(found, key=lambda span: span.attributes["spanseal.seq"])


def test_every_place_holds_every_span_once(line: Line, ran: Ran) -> None:
    for place, spans in arrived(line, ran).items():
        assert sorted(span.span_id for span in spans) == sorted(ran.spans), place


def test_archive_and_store_hold_what_the_sdk_ended(line: Line, ran: Ran) -> None:
    found = arrived(line, ran)
    for place in ("archive", "store"):
        for span in found[place]:
            assert span == ran.spans[span.span_id], place


def masked(values: Any) -> Any:
    """Values as the view shows them: what looks like a key is masked there, and only there."""
    if isinstance(values, str):
        return values.replace(VOUCHER, MASK)
    if isinstance(values, Mapping):
        return {key: masked(value) for key, value in values.items()}  # pyright: ignore[reportUnknownVariableType]
    return [masked(value) for value in values] if isinstance(values, list) else values  # pyright: ignore[reportUnknownVariableType]


def test_jaeger_shows_the_same_but_for_what_the_view_masks(line: Line, ran: Ran) -> None:
    differences: set[str] = set()
    for span in arrived(line, ran)["Jaeger"]:
        ended = ran.spans[span.span_id]
        assert span.attributes == masked(ended.attributes)
        assert span.events == masked(ended.events)
        named = ("parent_id", "name", "kind", "start", "end", "status", "message", "resource", "scope")
        assert [getattr(span, name) for name in named] == [getattr(ended, name) for name in named]
        differences |= {key for key, value in ended.attributes.items() if span.attributes[key] != value}
    assert {"gen_ai.tool.call.result", "gen_ai.input.messages"} <= differences


def test_the_store_holds_the_very_bytes_of_the_archive(line: Line, ran: Ran) -> None:
    arrived(line, ran)
    lines = b"\n".join(line.collector.archived())
    ours = [one for one in places.stored(line.sealer) if one.trace_id in traces(ran)]
    assert [one.span_id for one in ours if one.raw not in lines] == []
    assert {one.content for one in ours} == {"open"}


CHILDREN = {
    "invoke_agent": {"step"},
    "step": {"chat", "control", "verification", "execute_tool"},
    "chat": set[str](),
    "control": set[str](),
    "verification": set[str](),
    "execute_tool": set[str](),
}


def word(span: Seen) -> str:
    return span.name.split(" ")[0]


def test_the_tree_has_its_shape(ran: Ran) -> None:
    for case, run in ran.runs.items():
        spans = {span.span_id: span for span in of_run(ran, case)}
        (root,) = [span for span in spans.values() if not span.parent_id]
        assert root.name == f"invoke_agent {case}"
        assert {span.trace_id for span in spans.values()} == {run["trace_id"]}
        for span in spans.values():
            assert span.kind == (CLIENT if word(span) == "chat" else INTERNAL)
            if span is not root:
                parent = spans[span.parent_id]
                assert word(span) in CHILDREN[word(parent)]
                assert parent.start <= span.start <= span.end <= parent.end
        steps = [span.attributes["spanseal.step.number"] for span in spans.values() if word(span) == "step"]
        assert steps == [*range(1, len(steps) + 1)]
        numbers = [span.attributes["spanseal.seq"] for span in spans.values()]
        assert numbers == [*range(numbers[0], numbers[0] + len(numbers))]


def errors(ran: Ran, case: str) -> dict[str, str]:
    """The failed spans of a run: name → error.type."""
    spans = of_run(ran, case)
    assert all((span.status == ERROR) == ("error.type" in span.attributes) for span in spans)
    return {span.name: span.attributes["error.type"] for span in spans if span.status == ERROR}


def root(ran: Ran, case: str) -> Seen:
    return of_run(ran, case)[0]


def test_a_failed_tool_is_an_error_and_the_run_is_none(ran: Ran) -> None:
    ((_, _, result, fault, error_type),) = ran.runs["fails"]["tools"]
    assert (fault, error_type) == ("world", "ConnectionError")
    (tool,) = [span for span in of_run(ran, "fails") if word(span) == "execute_tool"]
    assert (tool.status, tool.attributes["error.type"]) == (ERROR, "ConnectionError")
    assert tool.attributes["gen_ai.tool.call.result"] == result
    if ran.runs["fails"]["outcome"] == "completed":
        assert root(ran, "fails").status == UNSET


def test_a_halted_run_is_an_error(ran: Ran) -> None:
    run = ran.runs["halts"]
    assert (run["outcome"], run["error_type"]) == ("halted", "halted")
    assert "all 1 steps are used" in run["stop_reason"]
    assert errors(ran, "halts") == {"invoke_agent halts": "halted", "step": "halted", "control before_model": "halted"}
    assert root(ran, "halts").attributes["spanseal.run.outcome"] == "halted"
    assert root(ran, "halts").message == run["stop_reason"]


def test_a_call_that_the_server_refuses_fails_its_run(ran: Ran) -> None:
    run = ran.runs["refused"]
    assert run["outcome"] == "failed"
    (chat,) = [span for span in of_run(ran, "refused") if word(span) == "chat"]
    assert ran.exchange(chat.attributes["spanseal.llm.request.sha256"]).status >= 400
    assert chat.status == ERROR
    found = errors(ran, "refused")
    assert found.keys() == {chat.name, "step", "invoke_agent refused"}
    assert found["invoke_agent refused"] == found["step"] == run["error_type"]


def test_an_escalated_run_is_none_and_its_action_waits(ran: Ran) -> None:
    run = ran.runs["escalates"]
    assert run["outcome"] == "escalated"
    assert run["tools"] == []
    assert errors(ran, "escalates") == {}
    held, digest = run["held"]
    assert held["tool"] == "order"
    (gate,) = [one for one in of_run(ran, "escalates") if one.attributes.get("spanseal.control.decision") == "escalate"]
    assert gate.attributes["spanseal.control.action.sha256"] == digest
    assert "execute_tool" not in {word(span) for span in of_run(ran, "escalates")}


def test_a_refused_answer_is_an_error_of_its_check_and_is_asked_again(ran: Ran) -> None:
    spans = of_run(ran, "asks")
    first, second, *_ = [span.attributes["spanseal.llm.attempt"] for span in spans if word(span) == "chat"]
    assert (first, second) == (1, 2)
    form = [span.attributes["spanseal.verification.passed"] for span in spans if span.name == "verification form"]
    assert form[0] is False
    (refusal,) = next(span for span in spans if span.name == "verification form").events
    assert refusal[0] == "gen_ai.evaluation.result"
    assert refusal[2]["gen_ai.evaluation.score.label"] == "fail"


def test_each_chat_span_tells_what_the_server_counted(ran: Ran) -> None:
    for case, run in ran.runs.items():
        chats = [span.attributes for span in of_run(ran, case) if word(span) == "chat"]
        ways = ("gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens")
        assert [sum(chat.get(way, 0) for chat in chats) for way in ways] == run["tokens"]
        root_span = root(ran, case).attributes
        assert [root_span.get(way, 0) for way in ways] == run["tokens"]
        assert not [name for name in root_span if name.startswith("spanseal.usage.estimated.")]


def counted(line: Line, ran: Ran, metric: str, **labels: str) -> int:
    chosen = ",".join(f'{name}="{value}"' for name, value in {"job": ran.service, **labels}.items())
    found = places.ask(line.prometheus, f"sum({metric}{{{chosen}}})")
    return int(found[0]["value"][1]) if found else 0


def test_prometheus_counts_these_spans(line: Line, ran: Ran) -> None:
    named = Counter(span.name for span in ran.spans.values())
    chats = sum(word(span) == "chat" for span in ran.spans.values())
    calls, failed = "traces_span_metrics_calls_total", {"status_code": "STATUS_CODE_ERROR"}
    expected = {
        (calls, "gen_ai_operation_name", "chat"): chats,
        (calls, "gen_ai_operation_name", "invoke_agent"): len(ran.runs),
        (calls, "gen_ai_tool_name", "price_of"): named["execute_tool price_of"],
        (calls, "error_type", "ConnectionError"): 1,
        (calls, "gen_ai_agent_name", "halts"): len(of_run(ran, "halts")),
        ("spanseal_tokens_input_total", "job", ran.service): sum(run["tokens"][0] for run in ran.runs.values()),
        ("spanseal_tokens_output_total", "job", ran.service): sum(run["tokens"][1] for run in ran.runs.values()),
    }

    def wrong() -> dict[tuple[str, str, str], int]:
        now = {(metric, key, value): counted(line, ran, metric, **{key: value}) for metric, key, value in expected}
        return {key: count for key, count in now.items() if count != expected[key]}

    places.soon(lambda: not wrong(), f"the counts {expected}; other: {wrong()}")
    assert counted(line, ran, calls, gen_ai_operation_name="invoke_agent", **failed) == len(
        [run for run in ran.runs.values() if run["outcome"] in ("halted", "failed")]
    )


def test_the_store_verifies_and_lists_the_runs(line: Line, ran: Ran, tmp_path: Path) -> None:
    arrived(line, ran)
    verdict = places.verify(line.sealer, tmp_path)
    assert verdict["verdict"] == "ok"
    assert verdict["covered"]["spans"] >= len(ran.spans)
    listed = places.runs(line.sealer)
    for case, run in ran.runs.items():
        row = listed[run["run_id"]]
        spans = of_run(ran, case)
        calls = sum(word(span) == "chat" for span in spans)
        assert (row["grade"], row["outcome"], row["agent"]) == ("complete", run["outcome"], case)
        assert (row["spans"], row["calls"]) == (len(spans), calls)
        assert row["replayable"] == {"exact": calls, "semantic": 0, "no": 0}
