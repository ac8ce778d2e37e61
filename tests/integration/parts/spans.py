"""Hand-made OTLP JSON: spans as a GenAI agent emits them, to test the services without the product."""

import secrets
import time
from collections.abc import Mapping
from typing import Any

import httpx

Scalar = str | int | bool


def span(name: str, attributes: Mapping[str, Scalar], *, error: bool = False, seconds: float = 0.2) -> dict[str, Any]:
    """A span that ended now after `seconds`, in a trace of its own."""
    end = time.time_ns()
    return {
        "traceId": secrets.token_hex(16),
        "spanId": secrets.token_hex(8),
        "name": name,
        "kind": 3 if name.startswith("chat") else 1,
        "startTimeUnixNano": str(end - int(seconds * 1e9)),
        "endTimeUnixNano": str(end),
        "attributes": [{"key": key, "value": _value(value)} for key, value in attributes.items()],
        "status": {"code": 2} if error else {},
    }


def _value(value: Scalar) -> dict[str, str | bool]:
    if isinstance(value, bool):
        return {"boolValue": value}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}


def document(*spans: Mapping[str, Any], service: str) -> dict[str, Any]:
    """One OTLP request."""
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "test"}, "spans": [*spans]}]}]}


def send(otlp_http: str, *spans: Mapping[str, Any], service: str = "shop") -> None:
    """Post the spans to a receiver's base URL; anything but 200 is an error."""
    body = document(*spans, service=service)
    answer = httpx.post(f"{otlp_http}/v1/traces", json=body, trust_env=False, timeout=60)
    answer.raise_for_status()


def a_run(model: str = "smollm2", agent: str = "calculator") -> list[dict[str, Any]]:
    """Spans of every kind that a board counts: a run, calls, a tool, a check, a decision; each good and bad."""
    who = {"gen_ai.agent.name": agent}
    chat = {**who, "gen_ai.operation.name": "chat", "gen_ai.request.model": model, "gen_ai.provider.name": "openai"}
    usage = {"gen_ai.usage.input_tokens": 30, "gen_ai.usage.output_tokens": 7}
    tool = {**who, "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add"}
    run = {**who, "gen_ai.operation.name": "invoke_agent"}
    return [
        span(f"chat {model}", {**chat, **usage}),
        span(f"chat {model}", {**chat, "error.type": "timeout"}, error=True),
        span("execute_tool add", tool),
        span("execute_tool add", {**tool, "error.type": "ValueError"}, error=True),
        span("verification default", who, error=True),
        span("control before_model", who),
        span(f"invoke_agent {agent}", run, seconds=0.5),
        span(f"invoke_agent {agent}", {**run, "error.type": "halted"}, error=True),
    ]
