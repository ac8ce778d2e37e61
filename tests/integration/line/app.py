"""The application under test: `python -m tests.integration.line.app --export URL --model KIND [--at URL] …`.

Prints one JSON document: every run's result as the agent gave it, and every span as the SDK ended it, told by a
processor of the application's own. With `--model scripted` each line on stdin starts a run and each run prints a
document of its own; the script is in script.py.
"""

import argparse
import asyncio
import json
import sys
from typing import Any

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from tests.integration.line.script import scripted
from tests.integration.line.seen import of_sdk_span
from tests.integration.line.shop import CASES, NATIVE, Case

import spanseal
from spanseal.adapters.base import LLMAdapter


class Witness(SpanProcessor):
    """Keeps every ended span as plain JSON."""

    def __init__(self) -> None:
        self.spans: list[dict[str, Any]] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.spans.append(of_sdk_span(span))


def told(case: str, result: spanseal.RunResult) -> dict[str, Any]:
    """A run's result as JSON."""
    return {
        "case": case, "run_id": result.run_id, "trace_id": result.trace_id, "outcome": result.outcome,
        "answer": result.answer, "stop_reason": result.stop_reason, "error_type": result.error_type,
        "steps": result.steps, "tokens": [result.usage.input_tokens, result.usage.output_tokens],
        "messages": [[message.role, message.text] for message in result.messages],
        "tools": [[one.name, one.call.arguments, one.result, one.fault, one.error_type] for one in result.tool_calls],
        "held": None if result.escalation is None else [result.escalation.action, result.escalation.digest],
    }  # fmt: skip


async def together(cases: list[Case], adapter: LLMAdapter) -> list[dict[str, Any]]:
    """Runs that go on at the same time, in tasks."""
    results = await asyncio.gather(*(case.agent(adapter).arun(case.question) for case in cases))
    return [told(case.name, result) for case, result in zip(cases, results, strict=True)]


def real_runs(kind: str, at: str, model: str, tools_model: str) -> list[dict[str, Any]]:
    """All cases on a real model: those apart first, then those together."""

    def adapter(name: str) -> LLMAdapter:
        if kind == "ollama":
            return spanseal.OllamaAdapter(name, host=at, timeout=280)
        return spanseal.OpenAIAdapter(name, base_url=f"{at}/v1", api_key="none", timeout=280, max_retries=0)

    apart = [case for case in CASES if not case.together]
    runs = [told(case.name, case.agent(adapter(model)).run(case.question)) for case in apart]
    if tools_model:
        runs.append(told(NATIVE.name, NATIVE.agent(adapter(tools_model)).run(NATIVE.question)))
    return runs + asyncio.run(together([case for case in CASES if case.together], adapter(model)))


def main() -> None:
    """Run, deliver, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--export", required=True)
    parser.add_argument("--service", default="line")
    parser.add_argument("--model", choices=["openai", "ollama", "scripted"], required=True)
    parser.add_argument("--at", default="")
    parser.add_argument("--name", default="")
    parser.add_argument("--tools-name", default="")
    options = parser.parse_args()
    spanseal.configure(options.service, export=options.export, capture="full")
    witness = Witness()
    provider = trace.get_tracer_provider()
    assert isinstance(provider, TracerProvider)
    provider.add_span_processor(witness)
    if options.model == "scripted":
        for line in sys.stdin:
            scripted(line.strip(), lambda result: print(json.dumps(told("scripted", result)), flush=True))
        return
    runs = real_runs(options.model, options.at, options.name, options.tools_name)
    print(json.dumps({"runs": runs, "delivered": spanseal.flush(60), "spans": witness.spans}))


if __name__ == "__main__":
    main()
