"""`opentelemetry-instrument python app.py`: an application that knows nothing of us, seen in Jaeger and sealed."""

import json
import subprocess
import sys
from pathlib import Path

import httpx
from tests.integration.line import places
from tests.integration.line.running import environment
from tests.integration.line.seen import Seen, of_otlp
from tests.integration.line.whole import Line
from tests.integration.parts import services

PLAIN = Path(__file__).parent / "line" / "plain.py"
INSTRUMENT = Path(sys.executable).with_name("opentelemetry-instrument")


def run_plain(
    line: Line, openai_server: services.OpenAIServer, ollama: services.Ollama, service: str, **more: str
) -> list[str]:
    """Run it; returns what it printed."""
    settings = {
        "OTEL_SERVICE_NAME": service,
        "OTEL_EXPORTER_OTLP_ENDPOINT": line.collector.otlp_http,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_METRICS_EXPORTER": "none",
        "OTEL_LOGS_EXPORTER": "none",
        "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "openai,ollama,httpx,httpx2",  # they are here for other tests
        **more,
    }
    command = [INSTRUMENT, sys.executable, PLAIN, openai_server.base_url, openai_server.model, ollama.url, ollama.model]
    env = environment(line.folder / "plain", **settings)
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def traces_in_jaeger(line: Line, service: str) -> set[str]:
    """The traces that Jaeger finds when it is asked for a service."""
    params = {
        "query.service_name": service, "query.start_time_min": "2020-01-01T00:00:00Z",
        "query.start_time_max": "2100-01-01T00:00:00Z", "query.num_traces": "100",
    }  # fmt: skip
    answer = httpx.get(f"{line.jaeger.query}/api/v3/traces", params=params, trust_env=False, timeout=60).json()
    return {span.trace_id for span in of_otlp(answer["result"])} if "result" in answer else set()


def chats(line: Line, service: str, count: int) -> list[Seen]:
    """The service's chat spans in Jaeger, in order of start, once there are so many."""

    def found() -> list[Seen]:
        spans = places.in_jaeger(line.jaeger, traces_in_jaeger(line, service))
        return [span for span in spans if span.name.startswith("chat ")]

    places.soon(lambda: len(found()) >= count, f"{count} chat spans in Jaeger")
    return sorted(found(), key=lambda span: span.start)


def test_every_call_of_a_plain_application_is_a_span(
    line: Line, openai_server: services.OpenAIServer, ollama: services.Ollama
) -> None:
    capture = {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY"}
    whole, awaited, streamed, local, failed = run_plain(line, openai_server, ollama, "plain", **capture)
    spans = chats(line, "plain", 5)
    assert len(spans) == 5
    assert {span.scope for span in spans} == {"spanseal"}
    first, second, refused, fourth, fifth = spans
    for span, answer in ((first, whole), (second, streamed), (fourth, local), (fifth, awaited)):
        (message,) = json.loads(span.attributes["gen_ai.output.messages"])
        assert "".join(part["content"] for part in message["parts"]) == answer
        assert span.status == 0
        assert span.attributes["gen_ai.usage.output_tokens"] <= 6
    assert [span.attributes["gen_ai.provider.name"] for span in spans] == ["openai"] * 3 + ["ollama", "openai"]
    assert second.attributes["gen_ai.request.stream"] is True
    assert (refused.status, refused.attributes["error.type"]) == (2, failed)
    assert {span.resource["service.name"] for span in spans} == {"plain"}
    assert "sk-not-a-key" not in repr(spans)

    sealed = {span.trace_id for span in spans}
    places.soon(lambda: len(places.in_store(line.sealer, sealed)) == len(spans), "the same spans in the store")
    assert {span.span_id for span in places.in_store(line.sealer, sealed)} == {span.span_id for span in spans}


def test_what_leaves_the_machine_unasked_has_no_content(
    line: Line, openai_server: services.OpenAIServer, ollama: services.Ollama
) -> None:
    run_plain(line, openai_server, ollama, "shy")
    spans = chats(line, "shy", 5)
    assert "colour" not in repr(spans)
    assert all("gen_ai.usage.output_tokens" in span.attributes for span in spans if span.status == 0)
