"""OpenAIAdapter on in-process servers: what it sends, what it gives back, its own copy, its errors, its rule."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import openai
import pytest
from tests.unit.telemetry.wire_world import KEY, Answer, attributes_of, bare_client, recording, stream, whole

from spanseal.adapters.openai import OpenAIAdapter
from spanseal.errors import (
    AuthenticationError,
    MalformedResponseError,
    ProviderError,
    ProviderTimeoutError,
    ProviderUnavailableError,
    RateLimitedError,
    RequestRejectedError,
    UsageError,
)
from spanseal.genai import openai_chat
from spanseal.genai import semconv as sc
from spanseal.genai.messages import Chunk, LLMResponse, ToolSpec
from spanseal.genai.wire_json import dumps, loads
from spanseal.telemetry.capture.streams.open_calls import drain


def adapter(
    *answers: Answer, seen: list[Any] | None = None, asynchronous: bool = False, **client: Any
) -> OpenAIAdapter:
    made = bare_client("openai", answers, [] if seen is None else seen, asynchronous=asynchronous, **client)
    return OpenAIAdapter("m", async_client=made) if asynchronous else OpenAIAdapter("m", client=made)


def test_same_bytes_and_headers_as_create() -> None:
    seen: list[Any] = []
    client = bare_client("openai", [whole("openai")], seen)
    schema = {"type": "object", "properties": {"x": {"type": "number"}}}
    OpenAIAdapter("m", client=client).complete("hi ü", temperature=0.5, seed=3, tools=[ToolSpec("f", "d", schema)])
    body = loads(seen[0].content)
    client.chat.completions.create(**body)
    assert loads(seen[1].content) == body
    assert seen[0].content == dumps(body)
    own = {"x-stainless-retry-count", "content-length"}
    sent = [{key: value for key, value in request.headers.items() if key not in own} for request in seen]
    assert sent[0] == sent[1]
    assert seen[0].url == seen[1].url


def test_the_callers_client_is_left_alone() -> None:
    client = bare_client("openai", [whole("openai")], [])
    before = client.__class__
    with recording() as exporter:
        OpenAIAdapter("m", client=client).complete("hi")
        client.chat.completions.create(model="m", messages=[])
        assert len(exporter.get_finished_spans()) == 1
    assert client.__class__ is before


def test_an_answer_is_timed_and_counted() -> None:
    asked = adapter(whole("openai", usage={"prompt_tokens": 3, "completion_tokens": 2}))
    got = asked.complete("hi")
    assert (got.text, got.prompt_tokens, got.completion_tokens, asked.calls) == ("hello", 3, 2, 1)
    assert 0 < got.latency_ms < 60_000
    assert got.raw["id"] == "r1"


def test_stream() -> None:
    seen: list[Any] = []
    with recording() as exporter:
        chunks = list(adapter(stream("openai"), seen=seen).stream("hi"))
        (span,) = exporter.get_finished_spans()
    assert [chunk.text for chunk in chunks] == ["he", "llo", ""]
    assert chunks[-1].response is not None
    assert (chunks[-1].response.text, chunks[-1].response.finish_reason) == ("hello", "stop")
    assert chunks[-1].response.latency_ms > 0
    assert loads(seen[0].content)["stream_options"] == {"include_usage": True}
    assert attributes_of(span)[sc.LLM_STREAM_END] == "complete"


def test_async() -> None:
    async def main() -> tuple[LLMResponse, list[Chunk]]:
        asked = adapter(whole("openai"), stream("openai"), asynchronous=True)
        got = await asked.acomplete("hi")
        return got, [chunk async for chunk in asked.astream("hi")]

    with recording() as exporter:
        got, chunks = asyncio.run(main())
        assert len(exporter.get_finished_spans()) == 2
    assert got.text == "hello"
    assert chunks[-1].response is not None
    assert chunks[-1].response.text == "hello"


def test_a_sync_client_serves_acomplete_too() -> None:
    assert asyncio.run(adapter(whole("openai")).acomplete("hi")).text == "hello"


def test_stream_stopped_early() -> None:
    with recording() as exporter:
        chunks = adapter(stream("openai")).stream("hi")
        assert next(iter(chunks)).text == "he"
        chunks.close()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - it is a generator
        assert drain(5.0)
        (span,) = exporter.get_finished_spans()
    assert attributes_of(span)[sc.LLM_STREAM_END] == "partial"


@pytest.mark.parametrize(
    ("answer", "kind", "says"),
    [
        (Answer(401, {"error": {"message": f"Incorrect key {KEY}"}}), AuthenticationError, "the client's key"),
        (Answer(403, {}), AuthenticationError, "refused the key"),
        (Answer(429, {"error": {"message": "slow"}}, headers={"retry-after": "7"}), RateLimitedError, "wait 7 s"),
        (Answer(400, {"error": {"message": "bad schema"}}), RequestRejectedError, "bad schema"),
        (Answer(404, {"error": {"message": "no model"}}), RequestRejectedError, "check both"),
        (Answer(500, b"<html>"), ProviderError, "server's log"),
        (Answer(503, {}), ProviderUnavailableError, "try again"),
        (Answer(504, {}), ProviderTimeoutError, "fewer tokens"),
        (Answer(refuse=httpx2.ConnectError("refused")), ProviderUnavailableError, "start the server"),
        (Answer(refuse=httpx2.ReadTimeout("slow")), ProviderTimeoutError, "timeout="),
        (
            Answer(200, b"<html>login</html>", headers={"content-type": "text/html"}),
            MalformedResponseError,
            "text/html",
        ),
        (
            Answer(200, b'{"choices": [', headers={"content-type": "application/json"}),
            MalformedResponseError,
            "not JSON",
        ),
        (Answer(200, {"choices": []}), MalformedResponseError, "no choices"),
        (Answer(200, b"[1]"), MalformedResponseError, "not a JSON object"),
        (Answer(200, {"error": {"message": "overloaded"}}), MalformedResponseError, "overloaded"),
    ],
)
@pytest.mark.parametrize("asynchronous", [False, True])
def test_each_error_says_what_to_do(answer: Answer, kind: type[ProviderError], says: str, asynchronous: bool) -> None:
    asked = adapter(answer, asynchronous=asynchronous)
    with pytest.raises(kind) as caught:
        asyncio.run(asked.acomplete("hi")) if asynchronous else asked.complete("hi")
    assert type(caught.value) is kind
    assert says in str(caught.value)
    assert KEY not in str(caught.value)
    if isinstance(caught.value, RateLimitedError):
        assert caught.value.retry_after == 7.0
    if kind is not MalformedResponseError:
        assert "http://openai.test:8080/v1" in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (stream("openai", done=False, fault=httpx2.RemoteProtocolError("cut")), ProviderUnavailableError),
        (Answer(pieces=[b"data: {broken\n\n"], headers={"content-type": "text/event-stream"}), MalformedResponseError),
        (Answer(200, {"not": "a stream"}), MalformedResponseError),
        (Answer(400, {"error": {"message": "no"}}), RequestRejectedError),
    ],
)
def test_errors_of_a_stream(answer: Answer, kind: type[ProviderError]) -> None:
    with pytest.raises(kind):
        list(adapter(answer).stream("hi"))


REFUSES_LIMIT = Answer(
    400,
    {
        "error": {
            "message": "Unsupported parameter: 'max_tokens' is not supported with this model. Use another.",
            "param": "max_tokens",
            "code": "unsupported_parameter",
        }
    },
)
REFUSES_HEAT = Answer(
    400,
    {
        "error": {
            "message": "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) is.",
            "param": "temperature",
            "code": "unsupported_value",
        }
    },
)


def test_the_rule_for_models_that_refuse_parameters() -> None:
    seen: list[Any] = []
    with recording() as exporter:
        asked = adapter(REFUSES_LIMIT, REFUSES_HEAT, whole("openai"), seen=seen)
        assert asked.complete("hi", max_tokens=5, temperature=0).text == "hello"
        asked.complete("hi", max_tokens=6, temperature=0)
        spans = exporter.get_finished_spans()
    bodies = [loads(request.content) for request in seen]
    assert [("max_tokens" in b, b.get("max_completion_tokens"), "temperature" in b) for b in bodies] == [
        (True, None, True),
        (False, 5, True),
        (False, 5, False),
        (False, 6, False),
    ]
    assert asked.calls == 2
    assert [attributes_of(span).get(sc.ERROR_TYPE) for span in spans] == ["400", "400", None, None]
    events = [dict(event.attributes or {}) for event in spans[-1].events if event.name == sc.EVENT_PARAMETER_RULE]
    assert events == [
        {sc.PARAMETER_NAME: "max_tokens", sc.PARAMETER_SENT_AS: "max_completion_tokens"},
        {sc.PARAMETER_NAME: "temperature", sc.PARAMETER_SENT_AS: ""},
    ]
    assert attributes_of(spans[-1])[sc.REQUEST_MAX_TOKENS] == 6


def test_the_rule_ends() -> None:
    seen: list[Any] = []
    with pytest.raises(RequestRejectedError):
        adapter(REFUSES_LIMIT, seen=seen).complete("hi", max_tokens=5)
    assert len(seen) == 2


def test_a_limit_that_is_merely_too_large_is_not_renamed() -> None:
    seen: list[Any] = []
    with pytest.raises(RequestRejectedError, match="too large"):
        adapter(Answer(400, {"error": {"message": "max_tokens is too large: 9"}}), seen=seen).complete(
            "hi", max_tokens=9
        )
    assert len(seen) == 1


def test_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AuthenticationError, match="OPENAI_API_KEY"):
        OpenAIAdapter("m")
    assert OpenAIAdapter("m", base_url="http://127.0.0.1:1/v1").provider == "openai"
    monkeypatch.setenv("OPENAI_API_KEY", "from-the-environment")
    assert OpenAIAdapter("m").provider == "openai"
    with pytest.raises(UsageError, match="not both"):
        OpenAIAdapter("m", client=bare_client("openai", [], []), api_key="k")


def test_azure() -> None:
    seen: list[Any] = []

    def handler(request: httpx2.Request) -> httpx2.Response:
        seen.append(request)
        return httpx2.Response(200, json=whole("openai").body)

    client = openai.AzureOpenAI(
        api_key=KEY,
        azure_endpoint="https://x.azure.test",
        api_version="1",
        http_client=httpx2.Client(transport=httpx2.MockTransport(handler)),
    )
    asked = OpenAIAdapter("dep", client=client)
    assert asked.provider == "azure.ai.openai"
    assert asked.complete("hi").text == "hello"
    assert seen[0].url.path == "/openai/deployments/dep/chat/completions"
    assert seen[0].headers["api-key"] == KEY


def test_the_admin_key_is_not_sent() -> None:
    seen: list[Any] = []
    adapter(whole("openai"), seen=seen, admin_api_key="the-admin-key").complete("hi")
    assert seen[0].headers["authorization"] == f"Bearer {KEY}"


def test_options_reach_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_sleep(seconds: float) -> None:
        assert seconds >= 0

    monkeypatch.setattr("time.sleep", no_sleep)
    seen: list[Any] = []
    client = bare_client("openai", [Answer(500, {}), Answer(500, {}), whole("openai")], seen)
    assert OpenAIAdapter("m", client=client, max_retries=2, timeout=7).complete("hi").text == "hello"
    assert seen[0].extensions["timeout"]["read"] == 7


def test_one_client_only() -> None:
    with pytest.raises(UsageError, match="async client only"):
        adapter(whole("openai"), asynchronous=True).complete("hi")


def test_extra_fields_are_sent() -> None:
    seen: list[Any] = []
    adapter(whole("openai"), seen=seen).complete("hi", logit_bias={"1": 2}, model="other")
    body = loads(seen[0].content)
    assert (body["logit_bias"], body["model"]) == ({"1": 2}, "other")
    assert openai_chat.parse_request(body).extra == {"logit_bias": {"1": 2}}
