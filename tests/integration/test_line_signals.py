"""Our own metrics and events on the real line: Prometheus has what processes measured, the collector their events."""

import json
from collections import Counter
from typing import Any

import httpx
from tests.integration.line import places
from tests.integration.line.running import Ran
from tests.integration.line.whole import Line


def value(line: Line, query: str) -> int:
    found = places.ask(line.prometheus, query)
    return round(sum(float(one["value"][1]) for one in found))


def test_prometheus_has_what_the_process_itself_measured(line: Line, ran: Ran) -> None:
    chats = [span for span in ran.spans.values() if span.name.startswith("chat ")]
    tools = [span for span in ran.spans.values() if span.name.startswith("execute_tool ")]
    job = f'{{job="{ran.service}"}}'
    expected = {
        f"gen_ai_client_inference_duration_seconds_count{job}": len(chats),
        f"gen_ai_execute_tool_duration_seconds_count{job}": len(tools),
        f"gen_ai_invoke_agent_duration_seconds_count{job}": len(ran.runs),
        f"gen_ai_invoke_agent_inference_calls_sum{job}": len(chats),
        f"gen_ai_client_inference_usage_output_tokens_total{job}": sum(
            span.attributes.get("gen_ai.usage.output_tokens", 0) for span in chats
        ),
    }

    def shown() -> dict[str, int]:
        return {query: value(line, query) for query in expected}

    places.soon(lambda: shown() == expected, f"{expected}; shown: {shown()}")


def test_exemplars_lead_to_spans_of_the_run(line: Line, ran: Ran) -> None:
    params = {
        "query": f'gen_ai_client_inference_duration_seconds_bucket{{job="{ran.service}"}}',
        "start": "2020-01-01T00:00:00Z", "end": "2100-01-01T00:00:00Z",
    }  # fmt: skip

    def traces() -> set[str]:
        url = f"{line.prometheus.url}/api/v1/query_exemplars"
        answer = httpx.get(url, params=params, trust_env=False, timeout=60).json()
        return {one["labels"]["trace_id"] for series in answer["data"] for one in series["exemplars"]}

    places.soon(lambda: bool(traces()), "exemplars")
    assert traces() <= {span.trace_id for span in ran.spans.values()}


def test_each_verdict_is_an_event_at_the_collector(line: Line, ran: Ran) -> None:
    expected = Counter(
        (span.span_id, attributes["gen_ai.evaluation.name"], attributes["gen_ai.evaluation.score.label"])
        for span in ran.spans.values() for name, _, attributes in span.events if name == "gen_ai.evaluation.result"
    )
    assert expected

    def arrived() -> Counter[Any]:
        return Counter(
            (one["spanId"], told["gen_ai.evaluation.name"], told["gen_ai.evaluation.score.label"])
            for one, told in events(line)
            if one["eventName"] == "gen_ai.evaluation.result" and one["spanId"] in ran.spans
        )

    places.soon(lambda: arrived() == expected, f"{expected}; arrived: {arrived()}")


def events(line: Line) -> list[tuple[dict[str, Any], dict[str, str]]]:
    """The collector's log records with their attributes of text."""
    path = line.collector.archive_dir / "logs.ndjson"
    found: list[tuple[dict[str, Any], dict[str, str]]] = []
    for text in path.read_text().splitlines() if path.exists() else []:
        for group in json.loads(text)["resourceLogs"]:
            for scope in group["scopeLogs"]:
                found += [(one, _texts(one)) for one in scope["logRecords"]]
    return found


def _texts(record: dict[str, Any]) -> dict[str, str]:
    return {one["key"]: one["value"].get("stringValue", "") for one in record.get("attributes", [])}
