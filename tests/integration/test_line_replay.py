"""What a reader finds is what the agent did, message by message: in the sealed store, and in the archive as well."""

import json
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ollama
import openai
import pytest
from tests.integration.line import places
from tests.integration.line.running import Ran
from tests.integration.line.whole import Line
from tests.integration.line.wiretap import Exchange, player

from spanseal import Message, OllamaAdapter, OpenAIAdapter, RunReader, ToolResult, replay_llm_calls
from spanseal.adapters.base import LLMAdapter
from spanseal.errors import ProviderError
from spanseal.replay.run import Run


@pytest.fixture(params=["store", "archive"])
def reader(request: pytest.FixtureRequest, line: Line, ran: Ran, tmp_path: Path) -> RunReader:
    """A reader with nothing but the files, and for the store its trust file and content keys."""
    traces = {run["trace_id"] for run in ran.runs.values()}
    places.soon(lambda: len(places.in_store(line.sealer, traces)) >= len(ran.spans), "the spans in the store")
    if request.param == "archive":
        return RunReader.open(line.collector.archive_dir)
    sealer = line.sealer
    return RunReader.open(sealer.store, trust=sealer.trust, heads=tmp_path / "heads", content_keys=sealer.keys)


def recorded(reader: RunReader, ran: Ran) -> Iterator[tuple[dict[str, Any], Run]]:
    """Every run as the agent reported it, with its record."""
    for told in ran.runs.values():
        yield told, reader.run(told["run_id"])


def exchange(ran: Ran, span_id: str) -> Exchange:
    return ran.exchange(ran.spans[span_id].attributes["spanseal.llm.request.sha256"])


def test_the_record_ends_as_the_run_did(reader: RunReader, ran: Ran) -> None:
    for told, run in recorded(reader, ran):
        assert run.grade == "complete"
        assert (run.agent, run.outcome, run.stop_reason) == (told["case"], told["outcome"], told["stop_reason"])
        assert "".join(message.text for message in run.answer) == told["answer"]
        assert [[one.role, one.text] for one in run.question] == told["messages"][1:2]
        assert run.instructions == told["messages"][0][1]
        asked = [step for step in run.steps if step.calls]
        assert len(asked) == told["steps"]


def test_every_call_has_the_messages_that_were_sent(reader: RunReader, ran: Ran) -> None:
    for told, run in recorded(reader, ran):
        assert run.calls
        for call in run.calls:
            sent = json.loads(exchange(ran, call.span_id).request)
            assert [wire(message) for message in call.messages] == [on_wire(message) for message in sent["messages"]]
            history = [[message.role, message.text] for message in call.messages]
            assert history == told["messages"][: len(history)]


def test_every_call_has_the_answer_that_came(reader: RunReader, ran: Ran) -> None:
    for _, run in recorded(reader, ran):
        for call in run.calls:
            passed = exchange(ran, call.span_id)
            if passed.status >= 400:
                assert call.response is None
                assert call.error
                continue
            came = json.loads(passed.response)
            message = came["message"] if "message" in came else came["choices"][0]["message"]
            assert call.response is not None
            assert call.response.raw == came
            assert wire(call.response.message) == on_wire(message)
            counted = came.get("usage", came)
            names = ("prompt_tokens", "completion_tokens") if "usage" in came else ("prompt_eval_count", "eval_count")
            assert [call.usage.input_tokens, call.usage.output_tokens] == [counted[name] for name in names]


def test_every_tool_has_what_it_was_given_and_gave(reader: RunReader, ran: Ran) -> None:
    for told, run in recorded(reader, ran):
        tools = [
            [one.tool, one.arguments, text(one.result), one.fault, one.error.partition(":")[0]] for one in run.tools
        ]
        assert tools == [[name, json.loads(given), gave, *rest] for name, given, gave, *rest in told["tools"]]


def test_the_calls_can_be_sent_again_to_the_byte(reader: RunReader, ran: Ran) -> None:
    with player(ran.exchanges) as url, adapter(ran, url) as another:
        for _, run in recorded(reader, ran):
            calls = replay_llm_calls(run)
            assert len(calls) == len(run.calls)
            for call in calls:
                if call.response is None:
                    with pytest.raises(ProviderError) as refusal:
                        another.chat(call.request)
                    assert "not recorded" not in str(refusal.value)
                    continue
                again = another.chat(call.request)
                assert (again.text, again.raw) == (call.response.text, call.response.raw)


def test_store_and_archive_tell_the_same(line: Line, ran: Ran, reader: RunReader) -> None:
    archive = RunReader.open(line.collector.archive_dir)
    for _, run in recorded(reader, ran):
        assert run == archive.run(run.run_id)


@contextmanager
def adapter(ran: Ran, url: str) -> Generator[LLMAdapter]:
    """An adapter of the kind that made the runs, asking at `url`."""
    if ran.service.endswith("ollama"):
        client = ollama.Client(url)
        yield OllamaAdapter("another", client=client)
        client.close()
    else:
        with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as mine:
            yield OpenAIAdapter("another", client=mine)


def wire(message: Message) -> list[Any]:
    """A recorded message: role, text, calls, result."""
    results = [part.content for part in message.parts if isinstance(part, ToolResult)]
    calls = [[call.name, json.loads(call.arguments)] for call in message.tool_calls]
    return [message.role, results[0] if results else message.text, calls]


def on_wire(message: dict[str, Any]) -> list[Any]:
    """The same of a message in a body."""
    made: list[dict[str, Any]] = message.get("tool_calls") or []
    calls = [[one["function"]["name"], one["function"]["arguments"]] for one in made]
    return [message["role"], message["content"], calls]


def text(result: Any) -> str:
    return result if isinstance(result, str) else json.dumps(result)
