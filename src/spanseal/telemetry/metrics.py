"""Metrics of our own spans under the pinned conventions' names, through whatever meter provider the process has.

Recorded where spans end, so that every layer gets them and none can forget. Spans of other instrumentations are left
out: those bring their own metrics. May import genai.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from opentelemetry import metrics
from opentelemetry.metrics import Counter, Histogram, Meter
from opentelemetry.sdk.trace import ReadableSpan

from spanseal import __version__
from spanseal.genai import semconv

_INFERENCE: Final = tuple(0.01 * 2**power for power in range(14))
_AGENT: Final = tuple(0.1 * 2**power for power in range(13))
_CHAT_KEYS: Final = (
    semconv.OPERATION_NAME,
    semconv.PROVIDER_NAME,
    semconv.REQUEST_MODEL,
    semconv.RESPONSE_MODEL,
    semconv.SERVER_ADDRESS,
    semconv.SERVER_PORT,
)
_TOOL_KEYS: Final = (semconv.TOOL_NAME, semconv.TOOL_TYPE, semconv.AGENT_NAME, semconv.ERROR_TYPE)
_AGENT_KEYS: Final = (semconv.AGENT_NAME, semconv.REQUEST_MODEL, semconv.ERROR_TYPE)


class Metrics:
    """The five instruments; made at the first span, since the meter provider may be set after us."""

    def __init__(self) -> None:
        self._instruments: _Instruments | None = None

    def record(self, span: ReadableSpan) -> None:
        """Record what an ended span says; a span that is not ours or of no known operation says nothing."""
        scope = span.instrumentation_scope
        if scope is None or scope.name != semconv.SCOPE_NAME:
            return
        found = span.attributes or {}
        operation = found.get(semconv.OPERATION_NAME)
        if operation is None:
            return
        if self._instruments is None:
            meter = metrics.get_meter(semconv.SCOPE_NAME, __version__, schema_url=semconv.SCHEMA_URL)
            self._instruments = _Instruments(meter)
        seconds = ((span.end_time or 0) - (span.start_time or 0)) / 1e9
        self._instruments.record(str(operation), found, seconds)


class _Instruments:
    def __init__(self, meter: Meter) -> None:
        def seconds(name: str, what: str, bounds: tuple[float, ...]) -> Histogram:
            return meter.create_histogram(name, "s", what, explicit_bucket_boundaries_advisory=bounds)

        self.inference = seconds(semconv.METRIC_INFERENCE_DURATION, "Duration of model calls", _INFERENCE)
        self.tool = seconds(semconv.METRIC_TOOL_DURATION, "Duration of tool executions", _INFERENCE)
        self.agent = seconds(semconv.METRIC_AGENT_DURATION, "Duration of agent runs", _AGENT)
        self.input = meter.create_counter(semconv.METRIC_INPUT_TOKENS, "{token}", "Tokens sent to models")
        self.output = meter.create_counter(semconv.METRIC_OUTPUT_TOKENS, "{token}", "Tokens received from models")

    def record(self, operation: str, found: Mapping[str, Any], seconds: float) -> None:
        if operation == semconv.OP_CHAT:
            kept = _kept(found, _CHAT_KEYS)
            self._count(self.input, found.get(semconv.USAGE_INPUT_TOKENS), kept)
            self._count(self.output, found.get(semconv.USAGE_OUTPUT_TOKENS), kept)
            self.inference.record(seconds, kept | _kept(found, (semconv.ERROR_TYPE,)))
        elif operation == semconv.OP_EXECUTE_TOOL:
            self.tool.record(seconds, _kept(found, _TOOL_KEYS))
        elif operation == semconv.OP_INVOKE_AGENT:
            self.agent.record(seconds, _kept(found, _AGENT_KEYS))

    def _count(self, counter: Counter, tokens: Any, kept: dict[str, Any]) -> None:
        if isinstance(tokens, int) and tokens > 0:
            counter.add(tokens, kept | {semconv.TOKEN_MODALITY: "text"})


def _kept(found: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: found[key] for key in keys if key in found}
