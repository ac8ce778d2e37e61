"""The board "Agents": runs, model calls, latency, errors, tokens, tools, checks."""

from typing import Any

from dashboards import promql
from dashboards.panels import PROMETHEUS, Panel, calls, durations, lines, number
from dashboards.promql import CALLS, CHAT, ERROR, POINT, RANGE, RUN, TOKENS_IN, TOKENS_OUT, TOOL

AGENT = "gen_ai_agent_name"
MODEL = "gen_ai_request_model"
OPERATION = "gen_ai_operation_name"
TOOL_NAME = "gen_ai_tool_name"
COLUMNS = 24
"""Width of Grafana's grid."""


def _numbers() -> list[Panel]:
    def count(*matchers: str) -> str:
        return promql.total(CALLS, *matchers, window=RANGE)

    tokens = " + ".join(promql.total(metric, window=RANGE) for metric in (TOKENS_IN, TOKENS_OUT))
    failed_run = "Runs whose span ended with an error: halted, failed, retries exhausted."
    failed_call = "Calls that gave no usable answer: refused, timed out, malformed."
    return [
        number("Runs", "Agent runs that ended in the time shown.", count(RUN)),
        number("Runs not completed", failed_run, count(RUN, ERROR)),
        number("Model calls", "Calls to models, repetitions after a refused answer included.", count(CHAT)),
        number("Failed model calls", failed_call, count(CHAT, ERROR)),
        number("Tokens", "Tokens sent to and written by models, as their servers counted them.", tokens),
        number("Tool calls", "Tools that agents executed.", count(TOOL)),
    ]


def _runs() -> list[Panel]:
    return [
        calls("Runs by agent", "Runs that ended within each point's window.", RUN, by=(AGENT,)),
        durations("Duration of runs", "Half of the runs, and 95 %, took less than this.", RUN, by=AGENT),
    ]


def _models() -> list[Panel]:
    return [
        calls("Calls by model", "Model calls within each point's window.", CHAT, by=(MODEL,)),
        durations("Latency by model", "Half of the calls, and 95 %, were answered in less.", CHAT, by=MODEL),
    ]


def _tokens_and_errors() -> list[Panel]:
    ways = {"in": TOKENS_IN, "out": TOKENS_OUT}
    tokens = {f"{{{{{MODEL}}}}} {way}": promql.total(m, window=POINT, by=MODEL) for way, m in ways.items()}
    errors = "Runs, model calls and tools that ended with an error, by error.type."
    return [
        lines("Tokens by model", "Tokens sent (in) and written (out) within each point's window.", tokens),
        calls("Errors by type", errors, ERROR, by=(OPERATION, "error_type")),
    ]


def _tools_and_checks() -> list[Panel]:
    failed = "Tools that ended with an error, whoever's fault it was."
    judged = "Verification pipelines that ran, and seams at which control decided."
    seams = 'span_name=~"(verification|control) .*"'
    return [
        calls("Tool calls", "Executed tools within each point's window.", TOOL, by=(TOOL_NAME,)),
        calls("Failed tool calls", failed, TOOL, ERROR, by=(TOOL_NAME, "error_type")),
        calls("Checks and decisions", judged, seams, by=("span_name", "status_code")),
    ]


def build() -> dict[str, Any]:
    """The board as JSON values, in Grafana's classic schema: provisioning the newer one from files is unreliable."""
    return {
        "uid": "spanseal-agents",
        "title": "Agents",
        "description": "What agents do. Numbers, not evidence: that is the sealed store.",
        "tags": ["spanseal"],
        "schemaVersion": 42,
        "editable": False,
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "refresh": "30s",
        "graphTooltip": 1,
        "links": [{"type": "link", "title": "Traces in Jaeger", "url": "http://127.0.0.1:16686/", "targetBlank": True}],
        "templating": {"list": [_service()]},
        "annotations": {"list": []},
        "panels": _placed(),
    }


def _placed() -> list[Panel]:
    """Every panel with its id and its place on the grid, row by row."""
    rows = [(4, _numbers()), (8, _runs()), (8, _models()), (8, _tokens_and_errors()), (8, _tools_and_checks())]
    placed: list[Panel] = []
    top = 0
    for height, panels in rows:
        width = COLUMNS // len(panels)
        for column, panel in enumerate(panels):
            place = {"x": column * width, "y": top, "w": width, "h": height}
            placed.append({**panel, "id": len(placed) + 1, "gridPos": place})
        top += height
    return placed


def _service() -> dict[str, Any]:
    return {
        "type": "query", "name": "job", "label": "Service", "datasource": PROMETHEUS,
        "query": f"label_values({CALLS}, job)", "refresh": 2, "sort": 1,
        "multi": True, "includeAll": True, "allValue": ".+", "current": {"text": "All", "value": "$__all"},
    }  # fmt: skip
