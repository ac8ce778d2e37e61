"""The instrumentations that are measured beside each other, each switched on for a whole process.

Each is given what its users give it: content captured, and an export over OTLP/HTTP to a receiver in another process.
Ours has its own (group: spans in the spool before the call returns, fdatasync within 50 ms), or a folder; the others
have the SDK's BatchSpanProcessor and the official protobuf exporter, which keep spans in memory until then.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import openai
from opentelemetry import trace
from opentelemetry.exporter.otlp.json.file.trace_exporter import FileSpanExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

OTHERS = {
    "official": "opentelemetry.instrumentation.genai.openai",
    "OpenInference": "openinference.instrumentation.openai",
    "OpenLLMetry": "opentelemetry.instrumentation.openai",
}
JSON_FILE = "JSON file"
SIDES = ("spanseal, group", "spanseal, folder", *OTHERS)
Settle = Callable[[], Any]


def switch_on(side: str, url: str, folder: Path, client: openai.OpenAI) -> tuple[openai.OpenAI, Settle]:
    """Switch it on; the client to call from now on, and what waits until all that was exported has arrived."""
    if side in OTHERS:
        return client, _theirs(side, OTLPSpanExporter(endpoint=f"{url}/v1/traces"))
    if side == JSON_FILE:
        return client, _theirs("official", FileSpanExporter(path=folder / "spans.jsonl"))
    from spanseal import configure, instrument
    from spanseal.telemetry.configure import flush

    os.environ["SPANSEAL_STATE_DIR"] = str(folder / "state")
    export = url if side == "spanseal, group" else folder / "spans"
    configure(service_name="bench", export=export, capture="full", durability="group")
    return instrument(client), flush


def _theirs(side: str, exporter: SpanExporter) -> Settle:
    os.environ["OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"] = "SPAN_ONLY"
    os.environ["TRACELOOP_TELEMETRY"] = "false"
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    import_module(OTHERS[side]).OpenAIInstrumentor().instrument()
    return provider.force_flush
