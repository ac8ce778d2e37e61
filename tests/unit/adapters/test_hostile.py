"""What providers, users' own adapters and callers do wrong: each has its own clear error, and one span."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any, cast

import httpx2
import ollama
import openai
import pytest
from opentelemetry.trace import StatusCode
from tests.unit.telemetry.wire_world import (
    Answer,
    attributes_of,
    bare_client,
    event,
    line,
    piece,
    recording,
    stream,
    whole,
)

from spanseal.adapters.base import LLMAdapter
from spanseal.adapters.factory import create_adapter
from spanseal.adapters.ollama import OllamaAdapter
from spanseal.adapters.openai import OpenAIAdapter
from spanseal.errors import MalformedResponseError, ProviderUnavailableError, SpansealError, UsageError
from spanseal.genai import semconv as sc
from spanseal.genai.messages import ChatRequest, Chunk, LLMResponse, Message, ToolCall, ToolSpec
from spanseal.telemetry.capture.streams.open_calls import drain

KEY = "key-that-nobody-may-see-0123456789"
ODD: list[dict[str, Any]] = [{"field": {1, 2}}, {"temperature": float("nan")}, {"field": b"x"}]


class Own(LLMAdapter):
    """A user's adapter that answers with whatever it is told."""

    provider, model = "own", "m"

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def _chat(self, request: ChatRequest) -> LLMResponse:
        return self.answer

    def _stream(self, request: ChatRequest) -> Iterator[Chunk]:
        yield self.answer


@pytest.mark.parametrize("answer", [None, "text", {"text": "x"}])
def test_an_adapter_that_gives_no_response_is_told_so_in_one_span(answer: Any) -> None:
    for call in (lambda: Own(answer).complete("hi"), lambda: list(Own(answer).stream("hi"))):
        with recording() as exporter:
            with pytest.raises(UsageError, match=f"Own .* {type(answer).__name__}"):
                call()
            (span,) = exporter.get_finished_spans()
        assert span.status.status_code is StatusCode.ERROR


@pytest.mark.parametrize("options", ODD)
def test_a_request_that_is_not_json_still_has_its_one_span(options: dict[str, Any]) -> None:
    with recording() as exporter:
        assert Own(LLMResponse("hello", "m")).complete("hi", **options).text == "hello"
        list(Own(Chunk("a", response=LLMResponse("a", "m"))).stream("hi", **options))
        assert len(exporter.get_finished_spans()) == 2


def test_lone_surrogates_in_question_and_answer_cost_neither_call_nor_span() -> None:
    with recording() as exporter:
        assert Own(LLMResponse("a\ud800", "m")).complete("hi\ud800").text == "a\ud800"
        (span,) = exporter.get_finished_spans()
    assert "a\\ud800" not in attributes_of(span)[sc.OUTPUT_MESSAGES]
    assert span.status.status_code is StatusCode.UNSET


@pytest.mark.parametrize("kind", ["openai", "ollama"])
def test_lone_surrogates_are_sent_as_the_replacement_character(kind: str) -> None:
    seen: list[Any] = []
    make = OpenAIAdapter if kind == "openai" else OllamaAdapter
    asked = make("m", client=bare_client(kind, [whole(kind)], seen))
    history = (Message("user", "a\ud800"), Message("assistant", (ToolCall("c", "f", '{"x":"\\ud800"}'),)))
    assert asked.complete(history).text == "hello"
    assert json.loads(seen[0].content)["messages"][0]["content"] == "a\ufffd"


@pytest.mark.parametrize("options", ODD)
@pytest.mark.parametrize("kind", ["openai", "ollama"])
def test_what_cannot_be_sent_is_the_callers_fault(kind: str, options: dict[str, Any]) -> None:
    make = OpenAIAdapter if kind == "openai" else OllamaAdapter
    asked = make("m", client=bare_client(kind, [whole(kind)], []))
    with pytest.raises(UsageError, match="cannot be sent"):
        asked.complete("hi", **options)
    with pytest.raises(UsageError, match="cannot be sent"):
        list(asked.stream("hi", **options))


@pytest.mark.parametrize(
    "messages", [[{"role": "user", "content": "hi"}], None, [Message("user", cast("Any", None))],
                 [Message("user", cast("Any", ["hi"]))], [Message("user", cast("Any", ("hi",)))], 5]
)
def test_what_is_no_conversation_is_refused_before_the_call(messages: Any) -> None:
    own = Own(LLMResponse("x", "m"))
    with pytest.raises(UsageError, match="messages: "):
        own.complete(messages)
    assert own.calls == 0


@pytest.mark.parametrize("option", ["stream", "timeout", "extra_headers", "extra_body", "extra_query", "max_retries"])
def test_options_of_the_sdk_are_not_sent_as_fields(option: str) -> None:
    with pytest.raises(UsageError, match=option):
        Own(LLMResponse("x", "m")).complete("hi", **cast("Any", {option: 1}))


def test_none_for_lists_means_none_of_them_and_a_tool_is_no_spec() -> None:
    own = Own(LLMResponse("x", "m"))
    assert own.complete("hi", stop=None, tools=cast("Any", None)).text == "x"
    with pytest.raises(UsageError, match="str is no ToolSpec"):
        own.complete("hi", tools=cast("list[ToolSpec]", ["add"]))


@pytest.mark.parametrize("end", [b"", b"data: [DONE]\n\n"])
def test_a_stream_that_ends_without_an_end_is_no_answer(end: bytes) -> None:
    pieces = [piece("openai", "he"), *([end] if end else [])]
    asked = OpenAIAdapter("m", client=bare_client(
        "openai", [Answer(pieces=pieces, headers={"content-type": "text/event-stream"})], []
    ))
    with recording() as exporter:
        with pytest.raises(MalformedResponseError, match="ended before"):
            list(asked.stream("hi"))
        drain(5.0)
        (span,) = exporter.get_finished_spans()
    assert (span.status.status_code is StatusCode.ERROR) == (not end)


def test_an_instrumented_ollama_stream_that_is_cut_is_marked() -> None:
    answer = Answer(pieces=[piece("ollama", "he")], headers={"content-type": "application/x-ndjson"})
    with recording() as exporter:
        with pytest.raises(MalformedResponseError, match="ended before"):
            list(OllamaAdapter("m", client=bare_client("ollama", [answer], [])).stream("hi"))
        drain(5.0)
        (span,) = exporter.get_finished_spans()
    assert attributes_of(span)[sc.ERROR_TYPE] == "malformed_response"


@pytest.mark.parametrize("kind", ["openai", "ollama"])
def test_a_chunk_that_is_no_object_is_malformed(kind: str) -> None:
    pieces = [event([1]), b"data: [DONE]\n\n"] if kind == "openai" else [line([1])]
    form = "text/event-stream" if kind == "openai" else "application/x-ndjson"
    make = OpenAIAdapter if kind == "openai" else OllamaAdapter
    answer = Answer(pieces=pieces, headers={"content-type": form})
    with pytest.raises(MalformedResponseError):
        list(make("m", client=bare_client(kind, [answer], [])).stream("hi"))


def mocked(handler: Callable[[httpx2.Request], httpx2.Response], key: str = KEY) -> openai.OpenAI:
    client = httpx2.Client(transport=httpx2.MockTransport(handler))
    return openai.OpenAI(api_key=key, base_url="http://h/v1", max_retries=0, http_client=client)


@pytest.mark.parametrize("content", [b'{"choices":[{"message":{"content":"x\\ud83d"}}]}',
                                     b'\xef\xbb\xbf{"choices":[{"message":{"content":"x\\ud83d"}}]}'])
def test_what_the_client_can_read_the_adapter_can(content: bytes) -> None:
    asked = OpenAIAdapter("m", client=mocked(lambda _: httpx2.Response(200, content=content)))
    assert asked.complete("hi").text == "x\ud83d"


def test_arguments_that_come_as_an_object_are_not_lost() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": {"a": 1}}}
    answer = {"choices": [{"message": {"content": None, "tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    asked = OpenAIAdapter("m", client=mocked(lambda _: httpx2.Response(200, json=answer)))
    assert asked.complete("hi").tool_calls == (ToolCall("1", "add", '{"a":1}'),)


def test_counts_that_count_nothing_are_not_told() -> None:
    answer = whole("openai", usage={"prompt_tokens": -5, "completion_tokens": 2.0})
    got = OpenAIAdapter("m", client=bare_client("openai", [answer], [])).complete("hi").usage
    assert (got.input_tokens, got.output_tokens) == (None, 2)


def test_an_error_with_status_200_shows_place_and_no_key() -> None:
    said = {"error": {"message": f"bad key {KEY}"}}
    asked = OpenAIAdapter("m", client=mocked(lambda _: httpx2.Response(200, json=said)))
    with pytest.raises(MalformedResponseError, match=r"http://h/v1: .*\[redacted\]") as caught:
        asked.complete("hi")
    assert KEY not in str(caught.value)


def test_a_key_with_a_line_break_is_in_no_error_and_no_span() -> None:
    def refuse(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.LocalProtocolError(f"Illegal header value {request.headers['authorization'].encode()!r}")

    with recording() as exporter:
        with pytest.raises(ProviderUnavailableError, match="Illegal header") as caught:
            OpenAIAdapter("m", client=mocked(refuse, KEY + "\n")).complete("hi")
        (span,) = exporter.get_finished_spans()
    assert KEY not in str(caught.value) + str(span.status.description)


def test_calls_at_the_same_time_all_profit_from_the_rule() -> None:
    together = threading.Barrier(3)
    refusal = {"error": {"message": "Unsupported parameter: 'max_tokens' is not supported with this model."}}

    def handler(request: httpx2.Request) -> httpx2.Response:
        if "max_tokens" in json.loads(request.content):
            together.wait(10)
            return httpx2.Response(400, json=refusal)
        return httpx2.Response(200, json=whole("openai").body)

    asked = OpenAIAdapter("m", client=mocked(handler))
    got: list[str] = []
    threads = [threading.Thread(target=lambda: got.append(asked.complete("hi", max_tokens=5).text)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == ["hello"] * 3


@pytest.mark.parametrize("config", [
    None, [], {"backend": ["openai"]}, {"model": ""}, {"timeout": "30"}, {"timeout": -1}, {"max_retries": "3"},
    {"max_retries": True}, {"base_url": 5}, {"base_url": "localhost:80/v1"}, {"api_key": 5}, {"api_key": "schlüssel"},
    {"backend": "ollama", "base_url": "http://[bad"}, {"backend": "ollama", "timeout": "x"}, {"temperature": 1},
])
def test_a_configuration_that_cannot_work_is_refused_at_once(config: Any) -> None:
    whole_config = config
    if isinstance(config, dict):
        whole_config = {"backend": "openai", "model": "m", "base_url": "http://h/v1", **cast("dict[str, Any]", config)}
        if whole_config["backend"] == "ollama" and "base_url" not in config:
            whole_config["base_url"] = "h"
    with pytest.raises(UsageError) as caught:
        create_adapter(whole_config)
    assert "schlüssel" not in str(caught.value)


def test_settings_without_a_value_are_not_given() -> None:
    assert create_adapter({"backend": "ollama", "model": "m", "api_key": None, "base_url": None}).model == "m"
    made = OpenAIAdapter("m", base_url="http://h/v1", api_key=KEY + "\n")
    assert isinstance(made, OpenAIAdapter)


@pytest.mark.parametrize("make", [
    lambda: OpenAIAdapter("m", client=cast("Any", openai.AsyncOpenAI(api_key=KEY))),
    lambda: OpenAIAdapter("m", async_client=cast("Any", openai.OpenAI(api_key=KEY))),
    lambda: OpenAIAdapter("m", client=cast("Any", ollama.Client())),
    lambda: OllamaAdapter("m", client=cast("Any", ollama.AsyncClient())),
    lambda: OllamaAdapter("m", async_client=cast("Any", openai.OpenAI(api_key=KEY))),
])
def test_a_client_of_another_kind_is_refused_at_once(make: Callable[[], LLMAdapter]) -> None:
    with pytest.raises(SpansealError, match="client= is an"):
        make()


@pytest.mark.parametrize("kind", ["openai", "ollama"])
def test_a_stream_that_is_called_json_is_read_as_what_it_is(kind: str) -> None:
    answer = stream(kind, ("he", "llo"))
    answer.headers["content-type"] = "application/json; charset=utf-8"
    make = OpenAIAdapter if kind == "openai" else OllamaAdapter
    with recording() as exporter:
        texts = [chunk.text for chunk in make("m", client=bare_client(kind, [answer], [])).stream("hi")]
        assert texts[:2] == ["he", "llo"]
        drain(5.0)
        (span,) = exporter.get_finished_spans()
    assert span.status.status_code is StatusCode.UNSET
    assert "hello" in attributes_of(span)[sc.OUTPUT_MESSAGES]


def test_stop_texts_are_content() -> None:
    for capture, seen in (("off", False), ("full", True)):
        with recording(capture=cast("Any", capture)) as exporter:
            Own(LLMResponse("x", "m")).complete("hi", stop=["END OF SECRET"])
            (span,) = exporter.get_finished_spans()
        assert (sc.REQUEST_STOP_SEQUENCES in attributes_of(span)) == seen
